#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/eval.h"
#include "expr_random.h"

namespace pto {
namespace {

Scalar scalar(std::string_view text, DType type) {
  Scalar s;
  EXPECT_TRUE(parse_scalar(text, type, s)) << text;
  return s;
}

struct Case {
  Op op;
  DType type;
  std::vector<const char*> args;
  const char* want;  // "nan" for any NaN
};

std::string describe(const Case& c) {
  std::string s = std::string(info(c.op).id) + " " + std::string(name(c.type));
  for (const char* a : c.args) s += " " + std::string(a);
  return s;
}

void expect_all(const std::vector<Case>& cases) {
  for (const auto& c : cases) {
    std::vector<Scalar> args;
    for (const char* a : c.args) args.push_back(scalar(a, c.type));
    const Scalar got = eval_op(c.op, args.data());
    if (std::string_view(c.want) == "nan") {
      EXPECT_TRUE(std::isnan(got.to_double())) << describe(c) << ": " << got.str();
      continue;
    }
    const bool compares = info(c.op).cls == OpClass::cmp;
    EXPECT_EQ(got, scalar(c.want, compares ? DType::Bool : c.type)) << describe(c) << ": " << got.str();
  }
}

TEST(Eval, IntegersWrapAndFloor) {
  using enum DType;
  expect_all({
      {Op::Add, I8, {"127", "1"}, "-128"},
      {Op::Add, U8, {"255", "1"}, "0"},
      {Op::Add, I64, {"9223372036854775807", "1"}, "-9223372036854775808"},
      {Op::Sub, U32, {"0", "1"}, "4294967295"},
      {Op::Mul, I16, {"300", "300"}, "24464"},
      {Op::Mul, U64, {"18446744073709551615", "2"}, "18446744073709551614"},
      {Op::Neg, I8, {"-128"}, "-128"},
      {Op::Neg, U16, {"1"}, "65535"},
      {Op::Abs, I32, {"-2147483648"}, "-2147483648"},
      {Op::Abs, U32, {"4294967295"}, "4294967295"},
      {Op::FloorDiv, I32, {"7", "2"}, "3"},
      {Op::FloorDiv, I32, {"-7", "2"}, "-4"},
      {Op::FloorDiv, I32, {"7", "-2"}, "-4"},
      {Op::FloorDiv, I32, {"-7", "-2"}, "3"},
      {Op::FloorDiv, I32, {"-8", "2"}, "-4"},
      {Op::FloorDiv, I32, {"5", "0"}, "0"},
      {Op::FloorDiv, I8, {"-128", "-1"}, "-128"},
      {Op::FloorDiv, I64, {"-9223372036854775808", "-1"}, "-9223372036854775808"},
      {Op::FloorDiv, U8, {"200", "7"}, "28"},
      {Op::FloorDiv, U64, {"18446744073709551615", "0"}, "0"},
      {Op::FloorDiv, U64, {"18446744073709551615", "10"}, "1844674407370955161"},
      {Op::Mod, I32, {"-7", "2"}, "1"},
      {Op::Mod, I32, {"7", "-2"}, "-1"},
      {Op::Mod, I32, {"-8", "2"}, "0"},
      {Op::Mod, I32, {"5", "0"}, "0"},
      {Op::Mod, I64, {"-9223372036854775808", "-1"}, "0"},
      {Op::Mod, U64, {"18446744073709551615", "10"}, "5"},
      {Op::Min, I8, {"-1", "1"}, "-1"},
      {Op::Max, U8, {"255", "1"}, "255"},
      {Op::Lt, I64, {"-1", "1"}, "true"},
      {Op::Lt, U64, {"18446744073709551615", "1"}, "false"},
      {Op::Le, U8, {"3", "3"}, "true"},
      {Op::Eq, I16, {"-1", "-1"}, "true"},
      {Op::Ne, I16, {"-1", "-1"}, "false"},
  });
}

TEST(Eval, Shifts) {
  using enum DType;
  expect_all({
      {Op::Shl, I8, {"1", "7"}, "-128"},
      {Op::Shl, I8, {"1", "8"}, "0"},
      {Op::Shl, U64, {"1", "63"}, "9223372036854775808"},
      {Op::Shl, U64, {"1", "64"}, "0"},
      {Op::Shl, I32, {"1", "-1"}, "0"},
      {Op::Shr, I32, {"-8", "1"}, "-4"},
      {Op::Shr, I32, {"-8", "32"}, "-1"},
      {Op::Shr, I32, {"8", "32"}, "0"},
      {Op::Shr, I32, {"-8", "-1"}, "-1"},
      {Op::Shr, U32, {"4294967288", "1"}, "2147483644"},
      {Op::Shr, U8, {"255", "8"}, "0"},
      {Op::And, I8, {"-1", "15"}, "15"},
      {Op::Or, U8, {"240", "15"}, "255"},
      {Op::Xor, I64, {"-1", "1"}, "-2"},
      {Op::Not, U16, {"0"}, "65535"},
      {Op::Not, I16, {"0"}, "-1"},
  });
}

TEST(Eval, Booleans) {
  using enum DType;
  const auto table = [&](Op op, const char* ff, const char* ft, const char* tf, const char* tt) {
    expect_all({{op, Bool, {"false", "false"}, ff},
                {op, Bool, {"false", "true"}, ft},
                {op, Bool, {"true", "false"}, tf},
                {op, Bool, {"true", "true"}, tt}});
  };
  const char *f = "false", *t = "true";
  for (Op op : {Op::Add, Op::Max, Op::Or}) table(op, f, t, t, t);
  for (Op op : {Op::Mul, Op::Min, Op::And}) table(op, f, f, f, t);
  for (Op op : {Op::Xor, Op::Ne}) table(op, f, t, t, f);
  table(Op::Eq, t, f, f, t);
  table(Op::Lt, f, t, f, f);
  table(Op::Le, t, t, f, t);
  expect_all({{Op::Not, Bool, {"true"}, "false"}, {Op::Not, Bool, {"false"}, "true"}});
  const Scalar one = Scalar::from_bool(true);
  EXPECT_THROW(eval_op(Op::Neg, &one), InternalError);
}

TEST(Eval, FloatsOfEveryWidth) {
  using enum DType;
  for (DType type : {F16, BF16, F32, F64}) {
    expect_all({
        {Op::Div, type, {"1", "0"}, "inf"},
        {Op::Div, type, {"-1", "0"}, "-inf"},
        {Op::Div, type, {"0", "0"}, "nan"},
        {Op::Sub, type, {"inf", "inf"}, "nan"},
        {Op::Mul, type, {"0", "inf"}, "nan"},
        {Op::FloorDiv, type, {"-7", "2"}, "-4"},
        {Op::FloorDiv, type, {"7", "0"}, "inf"},
        {Op::Mod, type, {"-7", "2"}, "1"},
        {Op::Mod, type, {"7", "-2"}, "-1"},
        {Op::Mod, type, {"-1", "inf"}, "inf"},
        {Op::Mod, type, {"1", "inf"}, "1"},
        {Op::Mod, type, {"1", "0"}, "nan"},
        {Op::Mod, type, {"-0.5", "1"}, "0.5"},
        {Op::Min, type, {"nan", "1"}, "nan"},
        {Op::Min, type, {"1", "nan"}, "nan"},
        {Op::Max, type, {"nan", "1"}, "nan"},
        {Op::Max, type, {"1", "nan"}, "nan"},
        {Op::Min, type, {"-inf", "1"}, "-inf"},
        {Op::Max, type, {"2", "1"}, "2"},
        {Op::Lt, type, {"nan", "1"}, "false"},
        {Op::Le, type, {"nan", "nan"}, "false"},
        {Op::Eq, type, {"nan", "nan"}, "false"},
        {Op::Ne, type, {"nan", "nan"}, "true"},
        {Op::Eq, type, {"0", "-0.0"}, "true"},
        {Op::Round, type, {"0.5"}, "0"},
        {Op::Round, type, {"1.5"}, "2"},
        {Op::Round, type, {"-2.5"}, "-2"},
        {Op::Floor, type, {"-0.5"}, "-1"},
        {Op::Ceil, type, {"0.5"}, "1"},
        {Op::Trunc, type, {"-1.5"}, "-1"},
        {Op::Sqrt, type, {"9"}, "3"},
        {Op::Sqrt, type, {"-1"}, "nan"},
        {Op::CopySign, type, {"3", "-0.0"}, "-3"},
        {Op::Abs, type, {"-inf"}, "inf"},
        {Op::Neg, type, {"3"}, "-3"},
        {Op::Fma, type, {"2", "3", "4"}, "10"},
    });
    const Scalar negative_zero = eval_op(Op::Neg, std::vector<Scalar>{Scalar::from_double(type, 0)}.data());
    EXPECT_TRUE(std::signbit(negative_zero.to_double())) << name(type);
  }
}

TEST(Eval, OneRounding) {
  // (1 + 2^-12)^2 - 1 keeps the product's last bits only if it is not rounded on its own.
  const auto f = [](double v) { return Scalar::from_double(DType::F32, v); };
  const Scalar fma[] = {f(1 + 0x1p-12), f(1 + 0x1p-12), f(-1)};
  EXPECT_EQ(eval_op(Op::Fma, fma).to_double(), 0x1p-11 + 0x1p-24);
  const Scalar product = eval_op(Op::Mul, fma);
  const Scalar sum[] = {product, f(-1)};
  EXPECT_EQ(eval_op(Op::Add, sum).to_double(), 0x1p-11);
  // Halves: 2048 + 1 is a tie and goes to even; the sum of large ones overflows.
  const auto h = [](double v) { return Scalar::from_double(DType::F16, v); };
  const Scalar tie[] = {h(2048), h(1)}, above[] = {h(2050), h(1)}, large[] = {h(65504), h(65504)};
  EXPECT_EQ(eval_op(Op::Add, tie).to_double(), 2048);
  EXPECT_EQ(eval_op(Op::Add, above).to_double(), 2052);
  EXPECT_EQ(eval_op(Op::Add, large).to_double(), std::numeric_limits<double>::infinity());
}

TEST(Eval, Casts) {
  using enum DType;
  const std::tuple<DType, const char*, DType, const char*> cases[] = {
      {F32, "300", I8, "127"},
      {F32, "-300", I8, "-128"},
      {F32, "-1", U8, "0"},
      {F32, "256", U8, "255"},
      {F32, "nan", I32, "0"},
      {F64, "inf", I64, "9223372036854775807"},
      {F64, "-inf", I64, "-9223372036854775808"},
      {F32, "1e30", U64, "18446744073709551615"},
      {F32, "-2.75", I32, "-2"},
      {F32, "nan", Bool, "true"},
      {F32, "-0.0", Bool, "false"},
      {I32, "256", U8, "0"},
      {I32, "-1", U64, "18446744073709551615"},
      {U64, "18446744073709551615", I32, "-1"},
      {I64, "16777217", F32, "16777216"},
      {I64, "16777219", F32, "16777220"},
      {F64, "65520", F16, "inf"},
      {F64, "65519.99", F16, "65504"},
      {F32, "1e-8", F16, "0"},
      {Bool, "true", F16, "1"},
      {I8, "-1", Bool, "true"},
      {F64, "1.00390625", BF16, "1"},
      {F64, "1.003906250001", BF16, "1.0078125"},
      {U64, "18446744073709551615", F32, "18446744073709551616"},
  };
  for (const auto& [from, text, to, want] : cases)
    EXPECT_EQ(convert(scalar(text, from), to), scalar(want, to))
        << name(from) << " " << text << " to " << name(to) << ": " << convert(scalar(text, from), to).str();
}

TEST(Eval, Lanes) {
  EvalEnv env;
  env.var = [](Symbol) { return Scalar::from_int(DType::I64, 10); };
  env.load = [](Symbol, const std::vector<int64_t>& at) {
    EXPECT_TRUE(at[0] >= 10 && at[0] < 15) << "read " << at[0];
    return Scalar::from_double(DType::F32, static_cast<double>(at[0]));
  };
  const Expr at = ramp(var("i"), Expr(2), 5);  // 10, 12, 14, 16, 18
  const Expr read = load_if(Symbol("m"), DType::F32, at < broadcast(Expr(15), 5),
                            constant_like(broadcast(constant(DType::F32, 0), 5), 1), {at});
  const Lanes lanes = eval(read * read, env);
  std::vector<double> got;
  for (const auto& l : lanes) got.push_back(l.to_double());
  EXPECT_EQ(got, (std::vector<double>{100, 144, 196, 1, 1}));
  // Five lanes: (0+2, 1+3, 4), then (0+2+1+3, 4), then all.
  EXPECT_EQ(eval_scalar(hreduce(Op::Add, read * read), env).to_double(), 442);
  Lanes letters;
  for (double v : {1e8, 1.0, -1e8, 1.0}) letters.push_back(Scalar::from_double(DType::F32, v));
  EXPECT_EQ(eval_hreduce(Op::Add, letters).to_double(), 2);  // (1e8 - 1e8) + (1 + 1)
  EXPECT_EQ(eval_scalar(bitcast(DType::I32, constant(DType::F32, 1)), env).to_int(), 0x3F800000);
}

TEST(Eval, MathFollowsTheLibrary) {
  const auto f = [](DType type, double v) { return Scalar::from_double(type, v); };
  for (DType type : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const double x = f(type, 0.3).to_double(), y = f(type, 1.7).to_double();
    const Scalar args[] = {f(type, x), f(type, y)};
    EXPECT_EQ(eval_op(Op::Exp, args), f(type, std::exp(x)));
    EXPECT_EQ(eval_op(Op::Pow, args), f(type, std::pow(x, y)));
    EXPECT_EQ(eval_op(Op::Atan2, args), f(type, std::atan2(x, y)));
  }
}

TEST(Text, RoundTrips) {
  testing::Random r(3);
  const auto types = all_dtypes();
  std::function<Expr(DType, int)> build = [&](DType type, int depth) -> Expr {
    const auto sub = [&] { return build(type, depth - 1); };
    if (depth == 0) {
      if (r.chance(50)) return var("v_" + std::string(name(type)), type);
      if (type == DType::Bool) return Expr(Scalar::from_bool(r.chance(50)));
      const int size = size_of(type) * 8;
      return Expr(Scalar{type, size == 64 ? r.bits() : r.bits() & ((uint64_t{1} << size) - 1)});
    }
    switch (r.between(0, 5)) {
      case 0: return select(build(DType::Bool, depth - 1), sub(), sub());
      case 1: return cast(type, build(r.one_of(types), depth - 1));
      case 2: return load(Symbol("m_" + std::string(name(type))), type, {build(DType::I64, depth - 1)});
      case 3:
        return load_if(Symbol("m_" + std::string(name(type))), type, build(DType::Bool, depth - 1), sub(),
                       {build(DType::I64, depth - 1), build(DType::I64, 0)});
      default: {
        const Op op = static_cast<Op>(r.between(static_cast<int>(Op::Add), static_cast<int>(Op::Pow)));
        const OpClass cls = info(op).cls;
        if (cls == OpClass::cmp) {
          if (type != DType::Bool) return sub();
          const DType of = r.one_of(types);
          return make(op, {build(of, depth - 1), build(of, depth - 1)});
        }
        if (is_float(type) ? cls == OpClass::bits : cls == OpClass::Float || cls == OpClass::math)
          return sub();
        Exprs args;
        for (int i = 0; i < info(op).arity; i++) args.push_back(sub());
        return make(op, args);
      }
    }
  };
  for (int n = 0; n < 3000; n++) {
    const Expr e = build(r.one_of(types), 4);
    const std::string text = to_text(e);
    Lexer in(text);
    const Expr back = parse_expr(in, [](Symbol s) { return *dtype_from_name(s.str().substr(2)); });
    ASSERT_TRUE(in.done() && back == e) << text << "\n" << to_text(back);
  }
}

}  // namespace
}  // namespace pto
