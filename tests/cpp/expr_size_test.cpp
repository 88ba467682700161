#include <gtest/gtest.h>

#include "base/error.h"
#include "expr/eval.h"
#include "expr_random.h"

namespace pto {
namespace {

Expr parse(std::string_view text) {
  Lexer in(text);
  Expr e = parse_expr(in, [](Symbol) { return DType::I64; });
  EXPECT_TRUE(in.done()) << text;
  return e;
}

TEST(Simplify, CanonicalForms) {
  const std::pair<const char*, const char*> cases[] = {
      {"b + a", "a + b"},
      {"a * 4 + a", "5 * a"},
      {"b * a * 2 - a * b", "a * b"},
      {"(a + 1) * (a - 1)", "a * a - 1"},
      {"a - a", "0"},
      {"2 - a", "2 - a"},
      {"a + 2 - 3", "a - 1"},
      {"(4 * a + 3) // 4", "a"},
      {"(4 * a + 4) // 4", "a + 1"},
      {"(5 * a) // 4", "a + a // 4"},
      {"(4 * a + 2) // 8", "a // 2"},
      {"(4 * a + b % 4) // 8", "a // 2"},
      {"(a // 3) // 4", "a // 12"},
      {"(a // 3 + 1) // 4", "(a + 3) // 12"},
      {"(4 * a + 3) % 4", "3"},
      {"(4 * a + b) % 4", "b % 4"},
      {"(4 * a + 2) % 8", "4 * (a % 2) + 2"},
      {"(a % 8) % 4", "a % 4"},
      {"(a % 4) % 8", "a % 4"},
      {"a // 4 * 4 + a % 4", "a"},
      {"(a // 4) // 8 * 8 + (a // 4) % 8", "a // 4"},
      {"a // 12 * 12 + (a // 4) % 3 * 4 + a % 4", "a"},
      {"a % (-4)", "0 - (0 - a) % 4"},
      {"a // -1", "0 - a"},
      {"(a * b) % b", "0"},
      {"(a * b + c % b) % b", "c % b % b"},
      {"(a * (b + 1)) // (b + 1)", "(a + a * b) // (b + 1)"},
      {"(a + 1) // (a + 1)", "1"},
      {"b // (b + 1)", "0"},
      {"b % (b + 1)", "b"},
      {"(a * b) // b", "a * b // b"},  // not a: b may be zero
      {"a // 0", "0"},
      {"a % 0", "0"},
      {"min(a, a + 1)", "a"},
      {"max(a, 0)", "a"},
      {"max(max(3, a), 1)", "max(a, 3)"},
      {"min(min(a, b), a)", "min(b, a)"},
      {"abs(a)", "a"},
      {"select(a < a + 1, b, c)", "b"},
      {"select(a < 0, b, c)", "c"},
      {"select(a <= b, c, c)", "c"},
      {"(-7) // 2", "-4"},
      {"(-7) % 2", "1"},
  };
  for (const auto& [text, want] : cases) {
    EXPECT_EQ(to_text(simplify(parse(text))), want) << text;
  }
}

TEST(Simplify, ConditionsAndOtherTypes) {
  const auto text = [](const Expr& e) { return to_text(simplify(e)); };
  const Expr a = var("a"), b = var("b"), x = var("x", DType::F32);
  EXPECT_EQ(text((a < a + Expr(1)) & (b < a)), "b < a");
  EXPECT_EQ(text((a < Expr(0)) | (b < a)), "b < a");
  EXPECT_EQ(text(equal(a * Expr(2), a + a)), "true");
  EXPECT_EQ(text(make(Op::Ne, {a, a + Expr(3)})), "true");
  EXPECT_EQ(text(x * constant(DType::F32, 0)), "x * f32(0)");
  EXPECT_EQ(text(constant(DType::F32, 3) / constant(DType::F32, 4)), "f32(0.75)");
  EXPECT_EQ(text(cast(DType::I8, Expr(300))), "i8(44)");
  EXPECT_EQ(text(make(Op::Exp, {constant(DType::F32, 1)})), "exp(f32(1))");
  EXPECT_EQ(text(load(Symbol("m"), DType::F32, {a + a, b - b})), "m[2 * a, 0]");
  EXPECT_EQ(text(load_if(Symbol("m"), DType::F32, a < a, x, {a})), "x");
  EXPECT_EQ(text(load_if(Symbol("m"), DType::F32, a <= a, x, {a})), "m[a]");
}

struct Point {
  Sizes sizes;
  EvalEnv env() const {
    EvalEnv e;
    e.var = [this](Symbol s) { return Scalar::from_int(DType::I64, sizes.at(s)); };
    return e;
  }
};

std::vector<Point> points(testing::Random& r) {
  std::vector<Point> out;
  for (int n = 0; n < 12; n++) {
    Point p;
    for (const char* name : {"a", "b", "c", "d"})
      p.sizes[Symbol(name)] = n == 0 ? 0 : r.chance(20) ? r.between(0, 2) : r.between(0, 100);
    out.push_back(std::move(p));
  }
  return out;
}

TEST(Simplify, KeepsValuesAndIsIdempotent) {
  testing::Random r(1);
  for (int n = 0; n < 6000; n++) {
    const Expr e = testing::random_size(r, 4), s = simplify(e);
    ASSERT_EQ(to_text(simplify(s)), to_text(s)) << to_text(e);
    const Interval b = bounds(s), before = bounds(e);
    for (const auto& p : points(r)) {
      const int64_t want = eval_scalar(e, p.env()).to_int();
      ASSERT_EQ(eval_size(s, p.sizes), want) << to_text(e) << " -> " << to_text(s);
      ASSERT_TRUE(b.lo <= want && want <= b.hi)
          << to_text(s) << ": " << want << " in " << b.lo << ", " << b.hi;
      ASSERT_TRUE(before.lo <= want && want <= before.hi) << to_text(e);
    }
  }
}

TEST(Proofs, AreSound) {
  testing::Random r(2);
  int equal = 0, differ = 0, less = 0, not_less = 0;
  for (int n = 0; n < 4000; n++) {
    const Expr x = testing::random_size(r, 3);
    const Expr y = r.chance(50) ? testing::random_size(r, 3) : x + testing::random_size(r, 1);
    const auto same = prove_equal(x, y), below = prove_less(x, y);
    equal += same == true, differ += same == false, less += below == true, not_less += below == false;
    for (const auto& p : points(r)) {
      const int64_t u = eval_size(x, p.sizes), v = eval_size(y, p.sizes);
      if (same) {
        ASSERT_EQ(*same, u == v) << to_text(x) << " and " << to_text(y);
      }
      if (below) {
        ASSERT_EQ(*below, u < v) << to_text(x) << " and " << to_text(y);
      }
    }
  }
  EXPECT_GT(std::min({equal, differ, less, not_less}), 50);
}

TEST(Proofs, FindWhatLoweringNeeds) {
  EXPECT_EQ(prove_equal(parse("B * S * 64"), parse("64 * (S * B)")), true);
  EXPECT_EQ(prove_equal(parse("2 * N"), Expr(1)), false);
  EXPECT_EQ(prove_equal(parse("N"), parse("N + 1")), false);
  EXPECT_EQ(prove_equal(parse("N"), parse("M")), std::nullopt);
  EXPECT_EQ(prove_less(parse("N - N // 4 * 4"), Expr(4)), true);
  EXPECT_EQ(prove_less(parse("N // 4 * 4"), parse("N + 1")), true);
  EXPECT_EQ(prove_less(parse("min(N, 7)"), Expr(8)), true);
  EXPECT_EQ(prove_less(parse("min(N, M)"), parse("N + 1")), true);
  EXPECT_EQ(prove_less(parse("N"), parse("max(N, M) + 1")), true);
  EXPECT_EQ(prove_less(parse("N"), Expr(8)), std::nullopt);
  const Interval b = bounds(parse("4 * i + j"), {{Symbol("i"), {0, 3}}, {Symbol("j"), {-1, 3}}});
  EXPECT_EQ(b.lo, -1);
  EXPECT_EQ(b.hi, 15);
}

TEST(Sizes, IndicesGoBothWays) {
  const Shape shape{Expr(3), Expr(4), Expr(5)};
  EXPECT_EQ(to_text(linear_index(delinearise(var("i"), shape), shape)), "i");
  EXPECT_EQ(shape_text(row_major_strides({var("A"), var("B"), Expr(4)})), "[4*B, 4, 1]");
  EXPECT_EQ(to_text(product({var("A"), Expr(2), var("A"), Expr(8)})), "16 * A * A");
  EXPECT_EQ(to_text(ceil_div(var("N") * Expr(8), Expr(4))), "2 * N");
  EXPECT_EQ(to_text(ceil_div(var("N"), Expr(16))), "(N + 15) // 16");
  EXPECT_TRUE(delinearise(var("i"), {}).empty());
  const Sizes sizes{{Symbol("A"), 6}, {Symbol("B"), 7}};
  EXPECT_EQ(eval_shape({var("A") * var("B"), Expr(2)}, sizes), (std::vector<int64_t>{42, 2}));
  EXPECT_THROW(eval_size(var("C") + Expr(1), sizes), InternalError);
  Lexer in("[A, 4 * B, 64] []");
  EXPECT_EQ(shape_text(parse_shape(in)), "[A, 4*B, 64]");
  EXPECT_EQ(shape_text(parse_shape(in)), "[]");
}

}  // namespace
}  // namespace pto
