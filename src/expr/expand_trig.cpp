// Trigonometric functions and their inverses.
#include <limits>

#include "expr/expand_coefficients.h"
#include "expr/expand_kernels.h"

namespace pto::expansion {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = 0x1.921fb54442d18p+1, kPiRest = 0x1.1a62633145c07p-53;

// The binary digits of 2/pi, after one word of zeros.
constexpr uint64_t kTwoOverPi[] = {0,
                                   0xa2f9836e4e441529,
                                   0xfc2757d1f534ddc0,
                                   0xdb6295993c439041,
                                   0xfe5163abdebbc561,
                                   0xb7246e3a424dd2e0,
                                   0x06492eea09d1921c,
                                   0xfe1deb1cb129a73e,
                                   0xe88235f52ebb4484,
                                   0xe99c7026b45f7e41,
                                   0x3991d639835339f4,
                                   0x9c845f8bbdf9283b,
                                   0x1ff897ffde05980f,
                                   0xef2f118b5a0a6d1f,
                                   0x6d367ecf27cb09b7,
                                   0x4f463f669e5fea2d,
                                   0x7527bac7ebe5f17b,
                                   0x3d0739f78a5292ea,
                                   0x6bfb5fb11f8d5d08,
                                   0x56033046fc7b6bab,
                                   0xf0cfbc209af4361d};

// Three words of the digits from bit `position` on: four words are chosen by the bits of the word's
// number (there is no table to index), and shifted.
Exprs digits(const Expr& position, Exprs words) {
  const int width = static_cast<int>(size_of(position.type())) * 8, log_width = width == 32 ? 5 : 6;
  const Expr word = shr(position, log_width);
  constexpr size_t kNeeded = 4;
  for (int bit = width == 32 ? 2 : 4; bit >= 0; bit--) {
    const size_t step = size_t{1} << bit;
    const Expr set = make(Op::Ne, {word & bits_like(word, step), bits_like(word, 0)});
    Exprs next;
    for (size_t i = 0; i < std::min(words.size(), step - 1 + kNeeded); i++)
      next.push_back(i + step < words.size() ? select(set, words[i + step], words[i]) : words[i]);
    words = std::move(next);
  }
  const Expr left = position & bits_like(position, static_cast<uint64_t>(width - 1));
  const Expr right = bits_like(position, static_cast<uint64_t>(width)) - left;
  Exprs result;
  for (size_t i = 0; i + 1 < kNeeded; i++)
    result.push_back(make(Op::Shl, {words[i], left}) | make(Op::Shr, {words[i + 1], right}));
  return result;
}

// |x| = quadrant * pi/2 + r with |r| <= pi/4; the quadrant modulo 4.
struct Reduced {
  Expr quadrant, r;
};

// After Payne and Hanek: x is an integer m times 2^s, so that the digits of 2/pi above s + 30 contribute
// whole turns. m times the 96 digits that follow, in units of 2^-62 quarter turns, is wrong by less
// than 2, and no float32 comes closer to a multiple of pi/2 than 2^-30. r is a double.
Reduced reduce_f32(const Expr& a) {
  const Expr bits = bitcast(DType::U32, a);
  const Expr exponent = shr(bits, 23), first = bits_like(bits, 120);
  const Expr m = (bits & bits_like(bits, 0x7fffff)) | bits_like(bits, 0x800000);
  Exprs words;
  for (int i = 1; i < 9; i++)
    words.push_back(bits_like(bits, (kTwoOverPi[i / 2] >> (i % 2 ? 0 : 32)) & 0xffffffff));
  const Exprs d = digits(select(exponent < first, bits_like(bits, 0), exponent - first), words);
  const Expr m64 = cast(DType::U64, m);
  const auto times = [&](int i) { return m64 * cast(DType::U64, d[static_cast<size_t>(i)]); };
  const Expr product = shl(times(0), 32) + times(1) + shr(times(2), 32);
  const Expr quadrant = shr(product + bits_like(product, uint64_t{1} << 61), 62);
  const Expr fraction = cast(DType::F64, bitcast(DType::I64, product - shl(quadrant, 62)));
  return {cast(DType::U32, quadrant), fraction * (kPi / 2 * 0x1p-62)};
}

Expr high_product(const Expr& x, const Expr& y) {
  const Expr mask = bits_like(x, 0xffffffff);
  const Expr xl = x & mask, xh = shr(x, 32), yl = y & mask, yh = shr(y, 32);
  const Expr middle = xh * yl + shr(xl * yl, 32);
  return xh * yh + shr(middle, 32) + shr(xl * yh + (middle & mask), 32);
}

// The same with 192 digits, and 128 bits of product: no float64 comes closer than 2^-62.
Reduced reduce_f64(const Expr& a) {
  const Expr bits = bitcast(DType::U64, a);
  const Expr exponent = shr(bits, 52), first = bits_like(bits, 1013);
  const Expr m = (bits & bits_like(bits, 0xfffffffffffff)) | bits_like(bits, uint64_t{1} << 52);
  Exprs words;
  for (uint64_t w : kTwoOverPi) words.push_back(bits_like(bits, w));
  const Exprs d = digits(select(exponent < first, bits_like(bits, 0), exponent - first), words);
  const Expr low_part = m * d[1], low = low_part + high_product(m, d[2]);
  const Expr carry = cast(DType::U64, low < low_part);
  const Expr high = m * d[0] + high_product(m, d[1]) + carry;
  const Expr quadrant = shr(high + bits_like(high, uint64_t{1} << 61), 62);
  const Expr rest = bitcast(DType::I64, high - shl(quadrant, 62));
  // The fraction in units of 2^-62, as an exact sum of doubles but for the last.
  const Expr top = rest & bits_like(rest, ~uint64_t{0x7ff});
  const Expr upper = cast(DType::F64, top);
  const Expr lower = fma(cast(DType::F64, shr(low, 11)), 0x1p-53, cast(DType::F64, rest - top));
  const Expr hi = upper + lower, lo = upper - hi + lower;
  const double unit = kPi / 2 * 0x1p-62, unit_rest = kPiRest / 2 * 0x1p-62;
  return {quadrant, fma(hi, unit, fma(hi, unit_rest, lo * unit))};
}

struct Waves {
  Expr quadrant, sin, cos;  // of |x|
};

// Of a float32, computed in `type`: where they are divided, rounding r would cost a digit.
Waves waves(const Expr& x, DType type) {
  const bool single = x.type() == DType::F32;
  const Expr a = abs(x);
  Reduced n = single ? reduce_f32(a) : reduce_f64(a);
  const Expr small = a < kPi / 4;  // is reduced already, and stays exact
  const Expr quadrant = select(small, bits_like(n.quadrant, 0), n.quadrant);
  const Expr reduced = select(small, cast(type, a), cast(type, n.r));
  const Expr r = select(a < kInf, reduced, cast(type, a - a)), z = r * r;
  const Expr s = single ? polynomial(z, kSin32) : polynomial(z, kSin64);
  const Expr c = single ? polynomial(z, kCos32) : polynomial(z, kCos64);
  return {quadrant, fma(r * z, s, r), fma(z * z, c, fma(z, -0.5, num(r, 1)))};
}

Expr has_bit(const Expr& x, uint64_t bit) { return make(Op::Ne, {x & bits_like(x, bit), bits_like(x, 0)}); }

Expr negate_if(const Expr& condition, const Expr& x) { return select(condition, neg(x), x); }

// The sign of x is given to a function of |x|.
Expr odd(const Expr& y, const Expr& x) {
  const DType bits = x.type() == DType::F32 ? DType::U32 : DType::U64;
  const Expr sign =
      bitcast(bits, x) & bits_like(bitcast(bits, x), x.type() == DType::F32 ? 1ull << 31 : 1ull << 63);
  return bitcast(x.type(), make(Op::Xor, {bitcast(bits, y), sign}));
}

}  // namespace

Expr sin(const Expr& x) {
  const Waves w = waves(x, x.type());
  return odd(negate_if(has_bit(w.quadrant, 2), select(has_bit(w.quadrant, 1), w.cos, w.sin)), x);
}

Expr cos(const Expr& x) {
  const Waves w = waves(x, x.type());
  const Expr y = select(has_bit(w.quadrant, 1), w.sin, w.cos);
  return negate_if(has_bit(w.quadrant + bits_like(w.quadrant, 1), 2), y);
}

Expr tan(const Expr& x) {
  const Waves w = waves(x, DType::F64);
  const Expr swap = has_bit(w.quadrant, 1);
  const Expr quotient = select(swap, neg(w.cos), w.sin) / select(swap, w.sin, w.cos);
  return odd(cast(x.type(), quotient), x);
}

namespace {

// asin(sqrt(z)) / sqrt(z) - 1 for z <= 1/4.
Expr asin_tail(const Expr& z) {
  return z * (z.type() == DType::F32 ? polynomial(z, kAsin32) : polynomial(z, kAsin64));
}

Split half_pi(const Expr& x) { return split(x.type(), kPi / 2, kPiRest / 2); }

}  // namespace

// Above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
Expr asin(const Expr& x) {
  const Expr a = abs(x), large = a > 0.5;
  const Expr z = select(large, (1 - a) * 0.5, a * a), s = select(large, sqrt(z), a);
  const Expr y = fma(s, asin_tail(z), s);
  const Split pi = half_pi(x);
  return copysign(select(large, fma(y, -2, num(x, pi.lo)) + pi.hi, y), x);
}

Expr acos(const Expr& x) {
  const Expr a = abs(x), large = a > 0.5;
  const Expr z = select(large, (1 - a) * 0.5, a * a), s = select(large, sqrt(z), x);
  const Expr tail = s * asin_tail(z), y = s + tail;
  const Split pi = half_pi(x);
  const Expr middle = pi.hi - (s - (pi.lo - tail));
  const Expr turned = fma(y, -2, num(x, pi.lo * 2)) + pi.hi * 2;
  return select(large, select(x < 0, turned, y * 2), middle);
}

namespace {

// atan(a) for a >= 0: by (a - 1) / (a + 1) around 1, by -1 / a beyond.
Expr atan_positive(const Expr& a) {
  const Expr middle = a > 0.41421356237309503, large = a > 2.414213562373095;
  const Expr top = select(large, num(a, -1), select(middle, a - 1, a));
  const Expr bottom = select(large, a, select(middle, a + 1, num(a, 1)));
  const Expr z = top / bottom, square = z * z;
  const Expr p = a.type() == DType::F32 ? polynomial(square, kAtan32) : polynomial(square, kAtan64);
  const Split pi = half_pi(a);
  const auto part = [&](double x) {
    return select(large, num(a, x), select(middle, num(a, x / 2), num(a, 0)));
  };
  return part(pi.hi) + (z + fma(z * square, p, part(pi.lo)));
}

}  // namespace

Expr atan(const Expr& x) { return copysign(atan_positive(abs(x)), x); }

Expr atan2(const Expr& y, const Expr& x) {
  const Expr ax = abs(x), ay = abs(y);
  // 0 / 0 stands for 0, inf / inf for 1.
  const Expr both = equal(ax, ay) & (equal(ax, num(ax, 0)) | equal(ax, num(ax, kInf)));
  const Expr quotient = select(both, select(ax > 1, num(ax, 1), num(ax, 0)), ay / ax);
  const Expr angle = atan_positive(quotient);
  const Split pi = split(x.type(), kPi, kPiRest);
  const Expr left = copysign(num(x, 1), x) < 0;
  return copysign(select(left, pi.hi - (angle - pi.lo), angle), y);
}

}  // namespace pto::expansion
