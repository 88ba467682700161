// Rows on their own: values worked out by hand, and all rows on all cases.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "row_cases.h"

namespace pto {
namespace {

using Doubles = std::vector<double>;
using I = std::vector<int64_t>;
constexpr double kInf = INFINITY;

BufferPtr buffer(DType type, I shape, const Doubles& values) {
  const auto b = make_buffer(type, std::move(shape));
  for (size_t i = 0; i < values.size(); i++)
    Elements(b).set(static_cast<int64_t>(i), is_float(type)
                                                 ? Scalar::from_double(type, values[i])
                                                 : Scalar::from_int(type, static_cast<int64_t>(values[i])));
  return b;
}

Doubles numbers(const BufferPtr& b) {
  Doubles all;
  for (int64_t i = 0; i < b->elements(); i++) all.push_back(Elements(b).get(i).to_double());
  return all;
}

std::vector<BufferPtr> run(const std::string& row, const std::vector<BufferPtr>& inputs,
                           AttrsPtr attrs = std::make_shared<NoAttrs>()) {
  RowCases cases;
  cases.add(row, inputs, attrs);
  return interpret(cases.all[0].graph, inputs);
}

Doubles of(const std::string& row, DType type, const std::vector<Doubles>& operands) {
  std::vector<BufferPtr> inputs;
  for (const auto& o : operands) inputs.push_back(buffer(type, {static_cast<int64_t>(o.size())}, o));
  return numbers(run(row, inputs)[0]);
}

template <class T>
std::shared_ptr<T> attrs_with(const std::function<void(T&)>& set) {
  auto attrs = std::make_shared<T>();
  set(*attrs);
  return attrs;
}

TEST(RowsValues, EveryRowIsDescribed) {
  for (const OpRow* row : all_rows()) {
    EXPECT_FALSE(row->doc.empty()) << row->name;
    EXPECT_TRUE(row->make_attrs && row->infer) << row->name;
    if (row->family == Family::Leaf) continue;   // what the caller gives has no meaning of its own
    EXPECT_TRUE(row->scalar || row->interpret) << row->name;
  }
}

TEST(RowsValues, AllCasesGiveTheInferredTypes) {
  std::set<std::string> rows;
  for (const auto& c : row_cases()) {
    SCOPED_TRACE(c.name);
    const auto results = interpret(c.graph, c.inputs);
    const Sizes sizes = bind_sizes(c.graph, c.inputs);
    ASSERT_EQ(results.size(), c.graph.outputs.size());
    for (size_t i = 0; i < results.size(); i++) {
      EXPECT_EQ(results[i]->dtype, c.graph.outputs[i].dtype());
      EXPECT_EQ(results[i]->shape, eval_shape(c.graph.outputs[i].shape(), sizes));
    }
    rows.insert(c.graph.outputs[0].node->row()->name);
  }
  for (const OpRow* row : all_rows()) {
    if (row->family == Family::Leaf || row->family == Family::Control || row->family == Family::Foreign)
      continue;
    EXPECT_TRUE(rows.count(row->name)) << row->name << " has no case";
  }
}

TEST(RowsElementwise, IntegerDivisionFloors) {
  EXPECT_EQ(of("floor_divide", DType::I32, {{-7, 7, 1, 5, -5, INT32_MIN}, {2, -2, -2, 0, 0, -1}}),
            (Doubles{-4, -4, -1, 0, 0, INT32_MIN}));
  EXPECT_EQ(of("remainder", DType::I32, {{-7, 7, 1, 5, INT32_MIN}, {2, -2, -2, 0, -1}}),
            (Doubles{1, -1, -1, 0, 0}));
}

TEST(RowsElementwise, IntegersWrap) {
  EXPECT_EQ(of("add", DType::U8, {{128, 250}, {128, 10}}), (Doubles{0, 4}));
  EXPECT_EQ(of("negative", DType::U8, {{200, 0}}), (Doubles{56, 0}));
  EXPECT_EQ(of("abs", DType::I8, {{-128, -3, 3}}), (Doubles{-128, 3, 3}));
  EXPECT_EQ(of("abs", DType::U8, {{200}}), (Doubles{200}));
}

TEST(RowsElementwise, IntegerPowers) {
  EXPECT_EQ(of("power", DType::I32, {{2, -3, 0, 7, 10}, {10, 3, 0, 1, 9}}), (Doubles{1024, -27, 1, 7, 1e9}));
  EXPECT_EQ(of("power", DType::I32, {{1, -1, -1, 2, 0}, {-5, -5, -4, -1, -1}}), (Doubles{1, -1, 1, 0, 0}));
  EXPECT_EQ(of("power", DType::U8, {{3, 2, 255}, {5, 8, 255}}), (Doubles{243, 0, 255}));
  EXPECT_EQ(of("power", DType::I64, {{3}, {63}}), Doubles{static_cast<double>(static_cast<int64_t>([] {
              uint64_t p = 1;
              for (int i = 0; i < 63; i++) p *= 3;
              return p;
            }()))});
}

TEST(RowsElementwise, SignsAndRounding) {
  const Doubles y = of("sign", DType::F32, {{-2, -0.0, 0, 3, kInf, NAN}});
  EXPECT_EQ(Doubles(y.begin(), y.begin() + 5), (Doubles{-1, 0, 0, 1, 1}));
  EXPECT_TRUE(std::signbit(y[1]));
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(of("round", DType::F32, {{0.5, 1.5, 2.5, -0.5}}), (Doubles{0, 2, 2, 0}));
  EXPECT_EQ(of("floor", DType::I32, {{-5, 5}}), (Doubles{-5, 5}));
  EXPECT_EQ(of("right_shift", DType::I8, {{-128, -128, 64}, {1, 100, 2}}), (Doubles{-64, -1, 16}));
}

TEST(RowsReduction, ComponentsAreResults) {
  const auto x = buffer(DType::F32, {2, 3}, {1, 5, 5, NAN, 7, NAN});
  auto along = [](const std::string& monoid, I axes) {
    return attrs_with<ReduceAttrs>([&](ReduceAttrs& a) {
      a.monoid = monoid;
      a.axes = axes;
    });
  };
  const auto best = run("reduce", {x}, along("argmax", {1}));
  EXPECT_EQ(numbers(best[1]), (Doubles{1, 0}));
  EXPECT_EQ(numbers(best[0])[0], 5);
  EXPECT_EQ(best[1]->dtype, DType::I64);
  const auto whole = run("reduce", {buffer(DType::I32, {2, 3}, {4, 2, 9, 9, 0, 1})}, along("argmax", {0, 1}));
  EXPECT_EQ(numbers(whole[1]), Doubles{2});
  const auto moments = run("reduce", {buffer(DType::F32, {4}, {1, 2, 3, 6})}, along("welford", {0}));
  EXPECT_EQ(numbers(moments[0]), Doubles{3});
  EXPECT_EQ(numbers(moments[1]), Doubles{14});
  EXPECT_EQ(numbers(moments[2]), Doubles{4});
}

TEST(RowsReduction, HalvesAddInFloat32) {
  const auto sum = attrs_with<ReduceAttrs>([](ReduceAttrs& a) { a.axes = {0}; });
  EXPECT_EQ(numbers(run("reduce", {buffer(DType::F16, {4096}, Doubles(4096, 1))}, sum)[0]), Doubles{4096});
}

TEST(RowsContraction, WindowsReadZerosOutside) {
  const auto attrs = attrs_with<ContractAttrs>([](ContractAttrs& a) {
    a.lhs = {"h"};
    a.rhs = {"r"};
    a.out = {"p"};
    a.window = {"h"};
    a.at = {"p"};
    a.tap = {"r"};
    a.stride = {2};
    a.dilation = {1};
    a.before = {1};
    a.count = {3};
  });
  const auto x = buffer(DType::F32, {5}, {1, 2, 3, 4, 5}), w = buffer(DType::F32, {3}, {1, 10, 100});
  EXPECT_EQ(numbers(run("contract", {x, w}, attrs)[0]), (Doubles{210, 432, 54}));
}

TEST(RowsMovement, Diagonals) {
  const auto attrs = attrs_with<DiagonalAttrs>([](DiagonalAttrs& a) { a.axes = {0, 0, 1}; });
  Doubles ramp(16);
  for (int i = 0; i < 16; i++) ramp[i] = i;
  EXPECT_EQ(numbers(run("diagonal", {buffer(DType::F32, {2, 2, 4}, ramp)}, attrs)[0]),
            (Doubles{0, 1, 2, 3, 12, 13, 14, 15}));
}

// --- mistakes -----------------------------------------------------------------------------------

struct Mistake {
  std::string row;
  std::vector<TensorType> operands;
  AttrsPtr attrs;
  std::string message;
};

TEST(RowsErrors, MessagesNameWhatIsWrong) {
  const AttrsPtr none = std::make_shared<NoAttrs>();
  const auto f = [](Shape shape) { return TensorType{DType::F32, std::move(shape)}; };
  const auto contract = [](std::vector<std::string> lhs, std::vector<std::string> rhs,
                           std::vector<std::string> out) {
    return attrs_with<ContractAttrs>([&](ContractAttrs& a) {
      a.lhs = lhs;
      a.rhs = rhs;
      a.out = out;
    });
  };
  const std::vector<Mistake> mistakes = {
      {"subtract", {{DType::Bool, {}}, {DType::Bool, {}}}, none, "there is no subtract of bool"},
      {"bitwise_and", {f({}), f({})}, none, "there is no bitwise_and of float32"},
      {"exp", {{DType::I32, {}}}, none, "there is no exp of int32"},
      {"add", {f({2}), f({3})}, none, "the operands must have one shape"},
      {"add", {f({2}), {DType::I32, {2}}}, none, "the operands must have one type"},
      {"where", {f({2}), f({2}), f({2})}, none, "the condition must be bool"},
      {"bitcast",
       {f({2})},
       attrs_with<DTypeAttrs>([](DTypeAttrs& a) { a.dtype = DType::F64; }),
       "number of the same width"},
      {"reshape",
       {f({2, 3})},
       attrs_with<ShapeAttrs>([](ShapeAttrs& a) { a.shape = {4, 2}; }),
       "as many elements"},
      {"permute",
       {f({2, 3})},
       attrs_with<PermuteAttrs>([](PermuteAttrs& a) { a.perm = {0, 0}; }),
       "every axis once"},
      {"diagonal",
       {f({2, 3})},
       attrs_with<DiagonalAttrs>([](DiagonalAttrs& a) { a.axes = {0, 0}; }),
       "must have one size"},
      {"broadcast",
       {f({2, 3})},
       attrs_with<ShapeAttrs>([](ShapeAttrs& a) { a.shape = {4, 3}; }),
       "axis 0 has size 2 and cannot become 4"},
      {"slice",
       {f({3})},
       attrs_with<SliceAttrs>([](SliceAttrs& a) {
         a.start = {1};
         a.size = {3};
         a.step = {1};
       }),
       "leaves the tensor"},
      {"slice",
       {f({3})},
       attrs_with<SliceAttrs>([](SliceAttrs& a) {
         a.start = {1};
         a.size = {1};
         a.step = {0};
       }),
       "step of axis 0 is 0"},
      {"pad",
       {f({3}), f({})},
       attrs_with<PadAttrs>([](PadAttrs& a) {
         a.before = {-1};
         a.after = {0};
       }),
       "is negative"},
      {"concat",
       {f({3, 2}), f({3, 4})},
       attrs_with<AxisAttrs>([](AxisAttrs&) {}),
       "tensor 1 has another size at axis 1"},
      {"reduce",
       {f({3})},
       attrs_with<ReduceAttrs>([](ReduceAttrs& a) { a.axes = {1}; }),
       "axis 1 is out of range for rank 1"},
      {"reduce",
       {f({3})},
       attrs_with<ReduceAttrs>([](ReduceAttrs& a) { a.monoid = "median"; }),
       "unknown monoid"},
      {"reduce",
       {f({3})},
       attrs_with<ReduceAttrs>([](ReduceAttrs& a) {
         a.monoid = "and";
         a.axes = {0};
       }),
       "do not combine"},
      {"contract",
       {f({2, 3}), f({4, 5})},
       contract({"i", "k"}, {"k", "j"}, {"i", "j"}),
       "label k has different sizes"},
      {"contract",
       {f({2, 3}), f({3, 5})},
       contract({"i", "k"}, {"k", "j"}, {"i", "i"}),
       "label i stands twice"},
      {"contract",
       {f({2, 3}), f({3, 5})},
       contract({"i", "k"}, {"k", "j"}, {"i", "z"}),
       "label z of the result"},
      {"contract", {f({2, 3}), f({3})}, contract({"i"}, {"i"}, {}), "every axis needs a label"},
  };
  for (const auto& m : mistakes) {
    SCOPED_TRACE(m.row + ": " + m.message);
    Values inputs;
    for (const auto& type : m.operands)
      inputs.push_back(make_input("x" + std::to_string(inputs.size()), type));
    std::string message;
    try {
      make_node(row(m.row), inputs, m.attrs);
    } catch (const Error& e) {
      message = e.what();
      EXPECT_EQ(e.info().op, m.row);
    }
    EXPECT_NE(message.find(m.message), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace pto
