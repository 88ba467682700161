// Building graphs: types, weak scalars, shapes, guards, and the errors of mistakes.
#include <gtest/gtest.h>

#include "functions_run.h"
#include "ops/compose.h"
#include "ops/leaf_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

Value tensor(DType type, Shape shape = {Size(2)}) { return make_input("x", {type, std::move(shape)}); }

TEST(BuilderTypes, Promotion) {
  const std::tuple<DType, DType, const char*> cases[] = {
      {DType::F32, DType::I64, "f32"},  {DType::F16, DType::I64, "f16"}, {DType::F16, DType::BF16, "f32"},
      {DType::I32, DType::I64, "i64"},  {DType::U8, DType::I8, "i16"},   {DType::U32, DType::I32, "i64"},
      {DType::Bool, DType::U8, "u8"},   {DType::F32, DType::F64, "f64"}, {DType::Bool, DType::Bool, "bool"},
      {DType::U16, DType::BF16, "bf16"}};
  for (const auto& [a, b, expected] : cases) {
    EXPECT_EQ(name(add(tensor(a), tensor(b)).dtype()), expected) << name(a) << " " << name(b);
    EXPECT_EQ(name(add(tensor(b), tensor(a)).dtype()), expected) << name(a) << " " << name(b);
  }
  EXPECT_EQ(div(tensor(DType::I64), tensor(DType::I32)).dtype(), DType::F32);
  EXPECT_EQ(elementwise("exp", {tensor(DType::Bool)}).dtype(), DType::F32);
  EXPECT_NE(error_of([] { add(tensor(DType::U64), tensor(DType::I8)); }).find("do not promote"),
            std::string::npos);
}

TEST(BuilderTypes, SizesAreCastToAnyType) {
  const Value size = to_value(var("n"));
  for (const DType type : all_dtypes()) {
    EXPECT_EQ(cast(size, type).dtype(), type);
    EXPECT_EQ(cast(cast(size, DType::F32), type).dtype(), type);
  }
  EXPECT_EQ(mean(tensor(DType::F64, {var("n")}), {0}, false).dtype(), DType::F64);
}

TEST(BuilderTypes, ScalarsAreWeak) {
  const Expr number = bitcast(DType::F64, var("s")), integer = var("n"), flag = var("n") < Size(3);
  const std::tuple<DType, Operand, DType> cases[] = {
      {DType::F16, 3.1, DType::F16},      {DType::I8, int64_t{3}, DType::I8},
      {DType::I8, 2.5, DType::F32},       {DType::Bool, int64_t{1}, DType::I64},
      {DType::Bool, true, DType::Bool},   {DType::BF16, int64_t{1}, DType::BF16},
      {DType::F16, number, DType::F16},   {DType::I32, number, DType::F32},
      {DType::F64, number, DType::F64},   {DType::I16, integer, DType::I16},
      {DType::Bool, integer, DType::I64}, {DType::U8, true, DType::U8},
      {DType::F32, flag, DType::F32}};
  for (const auto& [type, scalar, expected] : cases) {
    EXPECT_EQ(add(tensor(type), scalar).dtype(), expected) << name(type) << " " << name(expected);
    EXPECT_EQ(add(scalar, tensor(type)).dtype(), expected) << name(type) << " " << name(expected);
  }
  EXPECT_EQ(to_value(true).dtype(), DType::Bool);
  EXPECT_EQ(to_value(int64_t{1}).dtype(), DType::I64);
  EXPECT_EQ(to_value(1.0).dtype(), DType::F32);
  EXPECT_EQ(to_value(number).dtype(), DType::F32);
  EXPECT_EQ(to_value(integer).dtype(), DType::I64);
  EXPECT_EQ(to_value(flag).dtype(), DType::Bool);
  EXPECT_EQ(elementwise("where", {true, tensor(DType::I8), 1.5}).dtype(), DType::F32);
}

TEST(BuilderTypes, IntegersMustFit) {
  const Value bytes = tensor(DType::U8);
  for (const int64_t bad : {int64_t{256}, int64_t{-1}})
    EXPECT_NE(error_of([&] { add(bytes, bad); }).find("does not fit the type uint8"), std::string::npos);
  EXPECT_EQ(add(bytes, int64_t{255}).dtype(), DType::U8);
  FunctionRun run;
  const Value x = run.input(DType::U8, {2}, {250, 3});
  EXPECT_EQ(run.values(elementwise("less", {x, int64_t{300}})), (std::vector<double>{1, 1}));
  EXPECT_EQ(run.values(elementwise("less", {x, int64_t{-1}})), (std::vector<double>{0, 0}));
}

TEST(BuilderValues, RunTimeNumbers) {
  const Value x = make_input("x", {DType::F32, {var("N")}});
  const Graph graph{
      "f", {x.node}, {mul(add(x, Operand(var("N"))), Operand(bitcast(DType::F64, var("s"))))}, {}};
  const auto buffer = make_buffer(DType::F32, {2});
  Elements(buffer).set(0, Scalar::from_double(DType::F32, 1));
  Elements(buffer).set(1, Scalar::from_double(DType::F32, 2));
  const auto y = interpret(graph, {buffer}, {{Symbol("s"), std::bit_cast<int64_t>(0.5)}})[0];
  EXPECT_EQ(Elements(y).get(0).to_double(), 1.5);
  EXPECT_EQ(Elements(y).get(1).to_double(), 2.0);
}

TEST(BuilderShapes, Broadcasting) {
  const Size n = var("N");
  EXPECT_EQ(add(tensor(DType::F32, {n, Size(1)}), tensor(DType::F32, {Size(5)})).type().str(), "f32[N, 5]");
  EXPECT_EQ(add(tensor(DType::F32, {Size(0), Size(3)}), tensor(DType::F32, {Size(1)})).type().str(),
            "f32[0, 3]");
  EXPECT_EQ(add(tensor(DType::F32, {}), 1.0).type().str(), "f32[]");
  try {
    elementwise("add", {tensor(DType::F32, {Size(2), Size(3)}), tensor(DType::F32, {Size(2), Size(4)})},
                "plus");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.info().op, "plus");
    EXPECT_EQ(e.info().label, "-1");
    EXPECT_EQ(e.info().operands, (std::vector<std::string>{"x0: f32[2, 3]", "x1: f32[2, 4]"}));
    EXPECT_NE(e.info().message.find("sizes 3 and 4"), std::string::npos) << e.info().message;
  }
}

TEST(BuilderShapes, Guards) {
  const Size a = var("A"), b = var("B");
  SizeContext context{{{Symbol("A"), 4}, {Symbol("B"), 4}}, {}};
  const WithSizeContext scope(context);
  add(tensor(DType::F32, {a}), tensor(DType::F32, {b}));
  add(tensor(DType::F32, {a}), tensor(DType::F32, {b}));
  EXPECT_EQ(context.guards, (Exprs{equal(a, b)}));
  context = {{{Symbol("A"), 4}, {Symbol("B"), 1}}, {}};
  EXPECT_EQ(add(tensor(DType::F32, {a}), tensor(DType::F32, {b})).type().str(), "f32[A]");
  EXPECT_EQ(context.guards, (Exprs{equal(b, Size(1))}));
  context = {{{Symbol("A"), 4}, {Symbol("B"), 3}}, {}};
  EXPECT_NE(error_of([&] { add(tensor(DType::F32, {a}), tensor(DType::F32, {b})); }).find("do not broadcast"),
            std::string::npos);
  context.guards.clear();
  EXPECT_EQ(decide(var("C") < b), std::nullopt);
  EXPECT_EQ(decide(Size(1) < Size(2)), true);
  EXPECT_TRUE(context.guards.empty());
  EXPECT_EQ(decide(a < b), false);
  EXPECT_EQ(context.guards.size(), 1u);   // the contrary
}

TEST(BuilderShapes, Reshape) {
  const Size n = var("N");
  const Value x = tensor(DType::F32, {n, Size(6), Size(4)});
  EXPECT_EQ(reshape(x, {n, Size(-1)}).type().str(), "f32[N, 24]");
  EXPECT_EQ(reshape(x, {Size(-1)}).shape()[0], simplify(n * Size(24)));
  EXPECT_EQ(reshape(tensor(DType::F32, {n * Size(4)}), {n, Size(-1)}).type().str(), "f32[N, 4]");
  EXPECT_EQ(reshape(x, x.shape()).node, x.node);
  const std::pair<Shape, const char*> bad[] = {{{Size(-1), Size(-1)}, "only one size can be -1"},
                                               {{Size(-2)}, "a size is negative"},
                                               {{Size(5), Size(-1)}, "do not divide"},
                                               {{Size(0), Size(-1)}, "beside an axis of size 0"},
                                               {{Size(23)}, "as many elements"}};
  for (const auto& [shape, message] : bad) {
    const std::string got = error_of([&, s = shape] { reshape(tensor(DType::F32, {Size(6), Size(4)}), s); });
    EXPECT_NE(got.find(message), std::string::npos) << got;
  }
}

TEST(BuilderShapes, SlicesClampAsInPython) {
  FunctionRun run;
  const Value x = run.f32({5}, {0, 1, 2, 3, 4});
  using Doubles = std::vector<double>;
  const std::tuple<int64_t, int64_t, int64_t, Doubles> cases[] = {
      {0, 5, 1, {0, 1, 2, 3, 4}}, {1, -1, 1, {1, 2, 3}}, {-2, 9, 1, {3, 4}}, {0, 5, 2, {0, 2, 4}},
      {1, 5, 3, {1, 4}},          {4, 2, 1, {}},         {-9, 2, 1, {0, 1}}, {9, 12, 1, {}}};
  for (const auto& [start, stop, step, expected] : cases)
    EXPECT_EQ(run.values(slice(x, {Size(start)}, {Size(stop)}, {step})), expected)
        << start << ":" << stop << ":" << step;
  EXPECT_EQ(run.values(flip(x, {0})), (Doubles{4, 3, 2, 1, 0}));
  EXPECT_EQ(run.values(strided(x, {Size(3)}, {Size(2)}, {-2})), (Doubles{3, 1}));
}

TEST(BuilderShapes, LongListsAreJoinedAsATree) {
  FunctionRun run;
  Values parts;
  std::vector<double> expected;
  for (int i = 0; i < 300; i++) {
    parts.push_back(run.f32({1}, {static_cast<double>(i)}));
    expected.push_back(i);
  }
  EXPECT_EQ(run.values(concat(parts, 0)), expected);
}

TEST(BuilderErrors, Fields) {
  const Value x = tensor(DType::F32, {Size(2), Size(3)});
  const WithLoc loc(Loc({"model.py", 7, 0, 0, "f"}));
  auto info = [](auto f) {
    try {
      f();
    } catch (const Error& e) {
      return e.info();
    }
    return ErrorInfo{};
  };
  const ErrorInfo axis = info([] { normalise_axis(3, 2, "sum"); });
  EXPECT_EQ(axis.op, "sum");
  EXPECT_EQ(axis.expected, "-2 .. 1");
  EXPECT_EQ(axis.label, "3");
  EXPECT_EQ(axis.loc.info().line, 7);
  EXPECT_EQ(info([] { normalise_axes({0, -2}, 2, "sum"); }).message, "axis -2 is named twice");
  const ErrorInfo bits = info([&] { elementwise("bitwise_and", {x, x}); });
  EXPECT_EQ(bits.op, "bitwise_and");
  EXPECT_EQ(bits.message, "there is no bitwise_and of float32");
  EXPECT_EQ(bits.operands[0], "x0: f32[2, 3]");
  EXPECT_EQ(bits.loc.info().file, "model.py");
  const ErrorInfo called = info([&] { call("cross_entropy", {x, tensor(DType::I64, {Size(5)})}); });
  EXPECT_EQ(called.op, "cross_entropy");
  EXPECT_EQ(called.operands.at(0), "x: f32[2, 3]");
  EXPECT_EQ(called.operands.at(1).substr(called.operands.at(1).find(": ")), ": i64[5]");
  const ErrorInfo perm = info([&] { permute(x, {0, 0}); });
  EXPECT_EQ(perm.message, "perm must name every axis once");
}

TEST(BuilderNames, PathsNest) {
  const WithLoc loc(Loc({"model.py", 7, 0, 0, "Block"}));
  const WithName name("softmax");
  EXPECT_EQ(current_loc().info().path, "Block / softmax");
  EXPECT_EQ(negative(tensor(DType::F32)).node->loc(), current_loc());
}

TEST(BuilderConstants, CastsOfConstantsAreConstants) {
  const Value c = cast(full({Size(3)}, Scalar::from_double(DType::F32, 2.7)), DType::I8);
  EXPECT_EQ(c.node->row()->name, "full");
  EXPECT_EQ(attrs_of<FullAttrs>(*c.node).value, Scalar::from_int(DType::I8, 2));
}

TEST(GraphInputs, Mismatches) {
  const Value x = make_input("x", {DType::F32, {var("N"), var("N") * Size(2)}});
  const Graph graph{"f", {x.node}, {negative(x)}, {var("N") < Size(5)}};
  auto run = [&](DType type, std::vector<int64_t> shape) {
    return error_of([&] { interpret(graph, {make_buffer(type, shape)}); });
  };
  EXPECT_EQ(run(DType::F32, {3, 6}), "");
  EXPECT_NE(run(DType::F32, {3, 5}).find("input x has another size of axis 1"), std::string::npos);
  EXPECT_NE(run(DType::F64, {3, 6}).find("input x has another type"), std::string::npos);
  EXPECT_NE(run(DType::F32, {3}).find("input x has another rank"), std::string::npos);
  EXPECT_NE(run(DType::F32, {6, 12}).find("the sizes are not those"), std::string::npos);
  EXPECT_NE(error_of([&] { interpret(graph, {}); }).find("another number of inputs"), std::string::npos);
}

}  // namespace
}  // namespace pto
