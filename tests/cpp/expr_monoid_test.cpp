#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/eval.h"
#include "expr/monoid.h"
#include "expr_random.h"

namespace pto {
namespace {

using Tuple = std::vector<Scalar>;

Tuple combine(const Monoid& m, const Tuple& a, const Tuple& b) {
  Exprs x, y;
  for (const auto& s : a) x.emplace_back(s);
  for (const auto& s : b) y.emplace_back(s);
  Tuple out;
  for (const auto& e : m.apply(x, y)) out.push_back(eval_scalar(e, {}));
  return out;
}

Tuple identity(const Monoid& m) {
  Tuple out;
  for (const auto& e : m.init) out.push_back(e.value());
  return out;
}

bool same(const Scalar& a, const Scalar& b) {
  if (!is_float(a.type)) return a == b;
  const double x = a.to_double(), y = b.to_double();
  return x == y || (std::isnan(x) && std::isnan(y));
}
bool same(const Tuple& a, const Tuple& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Scalar& x, const Scalar& y) { return same(x, y); });
}

std::string text(const Tuple& t) {
  std::string out;
  for (const auto& s : t) out += s.str() + " ";
  return out;
}

// Small integers, so that sums and products of floats are exact, and the extremes.
Tuple element(testing::Random& r, const Monoid& m, int64_t position) {
  Tuple t;
  const double inf = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < m.types.size(); i++) {
    const DType type = m.types[i];
    double v = static_cast<double>(r.between(-3, 3));
    if (is_float(type) && r.chance(10)) v = r.one_of<double>({inf, -inf, std::nan("")});
    t.push_back(Scalar::from_double(type, v));
  }
  if (m.name == "argmax" || m.name == "argmin") t[1] = Scalar::from_int(DType::I64, position);
  return t;
}

std::vector<Monoid> monoids() {
  std::vector<Monoid> out;
  for (DType type : all_dtypes())
    for (const char* name : {"add", "mul", "max", "min", "and", "or", "argmax", "argmin"}) {
      const bool bits = std::string_view(name) == "and" || std::string_view(name) == "or";
      if (!bits || !is_float(type)) out.push_back(make_monoid(name, type));
    }
  return out;
}

TEST(Monoid, Laws) {
  testing::Random r(4);
  for (const auto& m : monoids()) {
    for (int n = 0; n < 200; n++) {
      const Tuple a = element(r, m, 0), b = element(r, m, 1), c = element(r, m, 2);
      ASSERT_TRUE(same(combine(m, identity(m), a), a)) << m.name << " " << name(m.types[0]) << " " << text(a);
      ASSERT_TRUE(same(combine(m, a, identity(m)), a)) << m.name << " " << name(m.types[0]) << " " << text(a);
      const Tuple left = combine(m, combine(m, a, b), c), right = combine(m, a, combine(m, b, c));
      ASSERT_TRUE(same(left, right)) << m.name << " " << name(m.types[0]) << ": " << text(a) << "| "
                                     << text(b) << "| " << text(c) << "-> " << text(left) << "or "
                                     << text(right);
    }
  }
}

TEST(Monoid, ExtremesTakeTheFirstPositionInAnyOrder) {
  const double nan = std::nan("");
  const auto fold = [](const char* name, const std::vector<double>& values, bool backwards) {
    const Monoid m = make_monoid(name, DType::F32);
    Tuple acc = identity(m);
    for (size_t i = 0; i < values.size(); i++) {
      const size_t at = backwards ? values.size() - 1 - i : i;
      acc = combine(m, acc,
                    {Scalar::from_double(DType::F32, values[at]),
                     Scalar::from_int(DType::I64, static_cast<int64_t>(at))});
    }
    return acc[1].to_int();
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (bool backwards : {false, true}) {
    EXPECT_EQ(fold("argmax", {1, 3, 2, 3}, backwards), 1);
    EXPECT_EQ(fold("argmin", {2, 1, 1, 3}, backwards), 1);
    EXPECT_EQ(fold("argmax", {1, nan, 2, nan}, backwards), 1);
    EXPECT_EQ(fold("argmin", {1, nan, 0, nan}, backwards), 1);
    EXPECT_EQ(fold("argmax", {-inf, -inf}, backwards), 0);
    EXPECT_EQ(fold("argmin", {inf, inf}, backwards), 0);
  }
}

TEST(Monoid, WelfordFollowsTheDefinition) {
  testing::Random r(5);
  const Monoid m = make_monoid("welford", DType::F64);
  const auto one = [](double v) {
    return Tuple{Scalar::from_double(DType::F64, v), Scalar::from_double(DType::F64, 0),
                 Scalar::from_double(DType::F64, 1)};
  };
  for (int n = 1; n < 40; n++) {
    std::vector<double> values;
    for (int i = 0; i < n; i++) values.push_back(static_cast<double>(r.between(-1000, 1000)) / 7);
    std::vector<Tuple> parts;
    for (double v : values) parts.push_back(combine(m, identity(m), one(v)));
    while (parts.size() > 1) {  // in any shape
      const auto at = static_cast<std::ptrdiff_t>(r.between(0, static_cast<int64_t>(parts.size()) - 2));
      parts[at] = combine(m, parts[at], parts[at + 1]);
      parts.erase(parts.begin() + at + 1);
    }
    double mean = 0, m2 = 0;
    for (double v : values) mean += v / n;
    for (double v : values) m2 += (v - mean) * (v - mean);
    EXPECT_NEAR(parts[0][0].to_double(), mean, 1e-11);
    EXPECT_NEAR(parts[0][1].to_double(), m2, 1e-8);
    EXPECT_EQ(parts[0][2].to_double(), n);
  }
  const Tuple infinite = one(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(same(combine(m, identity(m), infinite), infinite));
  EXPECT_TRUE(same(combine(m, infinite, identity(m)), infinite));
  EXPECT_TRUE(same(combine(m, identity(m), identity(m)), identity(m)));
}

TEST(Monoid, NamesAndText) {
  EXPECT_EQ(to_text(make_monoid("max", DType::F32)), "max");
  const Expr a = component('a', 0, DType::F32), b = component('b', 0, DType::F32);
  EXPECT_EQ(to_text(Monoid{"", {DType::F32}, {constant(DType::F32, 0)}, {a + b * b}}),
            "{f32(0) | a0 + b0 * b0}");
  EXPECT_THROW(make_monoid("median", DType::F32), InternalError);
  EXPECT_THROW(make_monoid("and", DType::F32), InternalError);
  EXPECT_THROW(make_monoid("welford", DType::I32), InternalError);
}

}  // namespace
}  // namespace pto
