// Elementary functions in machine code against the C library, on samples of every exponent and of what
// lies around the places where the expansions branch. expand_sweep_test.cpp takes every float32.
#include "expand_accuracy.h"

#include <algorithm>

#include "expr/eval.h"
#include "expr_random.h"

namespace pto::testing {
namespace {

template <class T>
using WiderOf = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
WiderOf<T> reference(const Function& f, T x) {
  if constexpr (std::is_same_v<T, float>)
    return f.of_double(x);
  else
    return f.of_long(x);
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  for (T x : {T(0), L::denorm_min(), L::min() / 2, L::min(), T(0.25), T(0.5), T(1), T(1.5), T(2), T(3), T(4),
              T(100), std::ldexp(T(1), L::digits - 1), std::ldexp(T(1), L::digits), L::max(), L::infinity()})
    for (T sign : {T(1), T(-1)}) out.push_back(sign * x);
  for (T x : {T(1), T(-1)})
    for (T towards : {T(0), 2 * x}) out.push_back(std::nextafter(x, towards));
  out.push_back(L::quiet_NaN());
  out.push_back(-L::quiet_NaN());
  return out;
}

// Every exponent of both signs, dense where functions vary, and what is around the values at which some
// expansion changes its course, overflows, or loses its last digit.
template <class T>
std::vector<T> sample() {
  using L = std::numeric_limits<T>;
  Random random(20240611);
  std::vector<T> out = special_values<T>();
  const uint64_t exponents = uint64_t{1} << (sizeof(T) * 8 - static_cast<size_t>(L::digits) + 1);
  const int each = sizeof(T) == 4 ? 128 : 24;
  for (uint64_t e = 0; e < exponents; e++) {
    const uint64_t first = e << (L::digits - 1), mask = (uint64_t{1} << (L::digits - 1)) - 1;
    for (int i = 0; i < each; i++) out.push_back(from_bits<T>(first | (random.bits() & mask)));
    for (uint64_t at : {uint64_t{0}, uint64_t{1}, mask - 1, mask}) out.push_back(from_bits<T>(first | at));
  }
  const double pi = 3.141592653589793, ln2 = 0.6931471805599453;
  for (double c : {0.25,
                   0.41421356237309503,
                   0.5,
                   0.6,
                   1 / std::sqrt(2.0),
                   1.0,
                   std::sqrt(2.0),
                   2.0,
                   2.414213562373095,
                   3.92,
                   4.0,
                   5.92,
                   9.0,
                   10.0,
                   10.5,
                   20.0,
                   26.54,
                   27.5,
                   30.0,
                   60.0,
                   87.33,
                   88.72,
                   89.4,
                   90.0,
                   102.0,
                   103.97,
                   105.0,
                   126.0,
                   128.0,
                   149.0,
                   151.0,
                   708.4,
                   709.78,
                   710.47,
                   711.0,
                   745.13,
                   747.0,
                   1022.0,
                   1024.0,
                   1074.0,
                   1076.0,
                   pi / 4,
                   pi / 2,
                   pi,
                   ln2 / 2,
                   ln2,
                   3 * ln2 / 2,
                   1 - 1 / std::sqrt(2.0)})
    for (double sign : {1.0, -1.0}) {
      T up = static_cast<T>(sign * c), down = up;
      for (int i = 0; i < 40; i++) {
        out.push_back(up = std::nextafter(up, L::infinity()));
        out.push_back(down = std::nextafter(down, -L::infinity()));
      }
      for (int i = 0; i < 200; i++)
        out.push_back(
            static_cast<T>(sign * c * (1 + 1e-3 * static_cast<double>(random.between(-1000, 1000)) / 1000)));
    }
  for (double range : {1.0, 5.0, 30.0, 110.0, 760.0, 1100.0, 1e5, 1e9})
    for (int i = 0; i < 8000; i++)
      out.push_back(static_cast<T>(range * (static_cast<double>(random.bits() >> 11) * 0x1p-52 - 1)));
  for (int i = 0; i < 20000; i++)   // next to multiples of pi/2, where sines and cosines vanish
    out.push_back(static_cast<T>(pi / 2 * static_cast<double>(random.bits() >> random.between(30, 62))));
  // The nearest that numbers of each type come to such a multiple.
  for (double x :
       {0x1.6ac5b262ca1ffp+849, 0x1.f37fbbb97dba6p+12, 0x1.f9cbep+94, 16367173 * 0x1p72, 0x1.1ed6ap+59})
    out.push_back(static_cast<T>(x));
  return out;
}

class Accuracy : public ::testing::TestWithParam<Function> {
 protected:
  template <class T>
  void expect(double bound) {
    const Function& f = GetParam();
    const auto x = sample<T>();
    const auto y = Compiled(f.op, kTypeOf<T>, host_target())(x);
    Worst worst;
    int changed = 0;
    for (size_t i = 0; i < x.size(); i++) {
      const auto want = reference(f, x[i]);
      worst.add(distance(y[i], want), x[i], 0, y[i], static_cast<double>(want));
      if (f.keeps_tiny && std::fpclassify(x[i]) == FP_SUBNORMAL && y[i] != x[i]) changed++;
    }
    EXPECT_EQ(changed, 0) << f.name() << " of denormals";
    EXPECT_LE(worst.ulps, bound) << f.name() << ": " << worst.str();
    RecordProperty("worst", worst.str());
  }
};

TEST_P(Accuracy, OfFloat32) { expect<float>(GetParam().bound32); }
TEST_P(Accuracy, OfFloat64) { expect<double>(GetParam().bound64); }

// All of them: the result is the float32 result, rounded.
TEST_P(Accuracy, OfHalves) {
  const Function& f = GetParam();
  for (DType type : {DType::F16, DType::BF16}) {
    std::vector<uint16_t> x(1 << 16);
    for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<uint16_t>(i);
    const auto y = Compiled(f.op, type, host_target())(x);
    std::vector<float> wide;
    for (uint16_t bits : x) wide.push_back(static_cast<float>(Scalar{type, bits}.to_double()));
    const auto in_f32 = Compiled(f.op, DType::F32, host_target())(wide);
    int wrong = 0;
    for (size_t i = 0; i < x.size(); i++) {
      const Scalar got{type, y[i]}, want = Scalar::from_double(type, in_f32[i]);
      const bool same = std::isnan(want.to_double()) ? std::isnan(got.to_double()) : got == want;
      if (!same && wrong++ == 0)
        ADD_FAILURE() << f.name() << " of " << wide[i] << ": " << got.str() << " for " << want.str();
    }
    EXPECT_EQ(wrong, 0) << pto::name(type);
  }
}

// Results that are exact by definition: of zeros, infinities and NaN, at poles and where the function is 0 or 1.
TEST_P(Accuracy, OfSpecialValues) {
  const Function& f = GetParam();
  const auto expect = [&]<class T>(T) {
    const auto x = special_values<T>();
    const auto y = Compiled(f.op, kTypeOf<T>, host_target())(x);
    for (size_t i = 0; i < x.size(); i++) {
      const auto want = reference(f, x[i]);
      const T rounded = static_cast<T>(want);
      if (rounded != want && !std::isnan(want)) continue;  // its distance is measured elsewhere
      EXPECT_EQ(distance(y[i], want), 0) << f.name() << " of " << x[i] << ": " << y[i] << " for " << rounded;
    }
  };
  expect(0.0f);
  expect(0.0);
}

// Every target and the interpreter give the same bits.
TEST_P(Accuracy, DoesNotDependOnTheTarget) {
  const Function& f = GetParam();
  const auto expect = [&]<class T>(T) {
    const auto x = sample<T>();
    const auto want = Compiled(f.op, kTypeOf<T>, make_target("sse"))(x);
    const auto same = [](T a, T b) {
      return std::isnan(a) ? std::isnan(b) : std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b);
    };
    const auto got = Compiled(f.op, kTypeOf<T>, host_target())(x);
    for (size_t i = 0; i < x.size(); i++)
      ASSERT_TRUE(same(got[i], want[i]))
          << f.name() << " of " << x[i] << ": " << got[i] << ", and " << want[i] << " in 16 bytes";
    for (size_t i = 0; i < x.size(); i += 97) {
      const Scalar arg = Scalar::from_double(kTypeOf<T>, x[i]);
      const auto slow = static_cast<T>(eval_op(f.op, &arg, MathMode::Expanded).to_double());
      ASSERT_TRUE(same(got[i], slow))
          << f.name() << " of " << x[i] << ": " << got[i] << ", interpreted " << slow;
    }
  };
  expect(0.0f);
  expect(0.0);
}

INSTANTIATE_TEST_SUITE_P(Functions, Accuracy, ::testing::ValuesIn(functions()),
                         [](const auto& info) { return info.param.name(); });

// --- two operands -----------------------------------------------------------------------------------

template <class T>
struct Pairs {
  std::vector<T> x, y;
  void add(double a, double b) {
    x.push_back(static_cast<T>(a));
    y.push_back(static_cast<T>(b));
  }
};

template <class T>
Pairs<T> special_pairs() {
  Pairs<T> out;
  for (T a : special_values<T>())
    for (T b : special_values<T>()) out.add(a, b);
  return out;
}

template <class T, class Reference>
void expect_pairs(Op op, const Pairs<T>& p, Reference reference, double bound) {
  const auto got = Compiled(op, kTypeOf<T>, host_target())(p.x, p.y);
  Worst worst;
  for (size_t i = 0; i < p.x.size(); i++) {
    const auto want = reference(static_cast<WiderOf<T>>(p.x[i]), static_cast<WiderOf<T>>(p.y[i]));
    worst.add(distance(got[i], want), p.x[i], p.y[i], got[i], static_cast<double>(want));
  }
  EXPECT_LE(worst.ulps, bound) << worst.str();
}

template <class T>
class OfTwo : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(OfTwo, Types);

TYPED_TEST(OfTwo, Pow) {
  using T = TypeParam;
  const auto reference = [](auto x, auto y) { return std::pow(x, y); };
  expect_pairs(Op::Pow, special_pairs<T>(), reference, 4);
  const double top = std::numeric_limits<T>::max_exponent + 24;
  Random random(5);
  Pairs<T> p;
  const auto unit = [&] { return static_cast<double>(random.bits() >> 11) * 0x1p-52 - 1; };
  for (int i = 0; i < 100000; i++) {  // results of every exponent
    const double x = std::exp2(unit() * (random.chance(50) ? top : 1)), y = unit() * top / std::log2(x);
    p.add(x, y);
    const double whole = std::round(y);  // of negative numbers too
    p.add(-x, whole);
  }
  for (int i = 0; i < 20000; i++) p.add(1 + unit() * 1e-4, unit() * 1e6);
  expect_pairs(Op::Pow, p, reference, 4);
}

TYPED_TEST(OfTwo, Atan2) {
  using T = TypeParam;
  const auto reference = [](auto y, auto x) { return std::atan2(y, x); };
  expect_pairs(Op::Atan2, special_pairs<T>(), reference, 4);
  const int top = std::numeric_limits<T>::max_exponent - 1;
  Random random(6);
  Pairs<T> p;
  const auto any = [&](int64_t range) {
    const double x = std::ldexp(1 + static_cast<double>(random.bits() >> 12) * 0x1p-52,
                                static_cast<int>(random.between(-range, range)));
    return random.chance(50) ? x : -x;
  };
  for (int i = 0; i < 50000; i++) {
    p.add(any(top), any(top));
    p.add(any(4), any(4));
  }
  expect_pairs(Op::Atan2, p, reference, 4);
}

}  // namespace
}  // namespace pto::testing
