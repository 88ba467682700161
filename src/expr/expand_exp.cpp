// Exponentials and hyperbolic functions.
// Where a scaled value comes from integer additions, NaN is lost: such a side is selected by a comparison
// that a NaN fails.
#include "expr/expand_coefficients.h"
#include "expr/expand_kernels.h"

namespace pto::expansion {
namespace {

constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;

bool is_f32(const Expr& x) { return x.type() == DType::F32; }
std::span<const double> coefficients(const Expr& x, std::span<const double> f32,
                                     std::span<const double> f64) {
  return is_f32(x) ? f32 : f64;
}

// x = n ln(2) + r. The integer n stands in the low bits of `shifted`, moved by `offset`.
struct Reduced {
  Expr shifted, n, r;
};
Reduced reduce(const Expr& x, double offset) {
  const double magic = format(x.type()).magic + offset;
  const Split ln2 = split(x.type(), kLn2, kLn2Rest);
  const Expr shifted = fma(x, kLog2e, num(x, magic));
  const Expr n = shifted - magic;
  return {shifted, n, fma(n, -ln2.lo, fma(n, -ln2.hi, x))};
}

// p * 2^n, where the low bits of `shifted` hold n + 2 bias: two exact powers of two, one for each half
// of n, so that only the last product rounds, overflows or becomes denormal.
Expr scale(const Expr& p, const Expr& shifted, int exponent) {
  const Format& f = format(p.type());
  Expr n = bitcast(f.bits, shifted);
  if (exponent != 0) n = n + bits_like(n, static_cast<uint64_t>(exponent));
  const Expr half = shr(n, 1);
  return p * bitcast(p.type(), shl(half, f.mantissa)) * bitcast(p.type(), shl(n - half, f.mantissa));
}

// Times 2^n, where that is a normal number.
Expr scale_normal(const Expr& p, const Expr& shifted) {
  const Format& f = format(p.type());
  return bitcast(p.type(), bitcast(f.bits, p) + shl(bitcast(f.bits, shifted), f.mantissa));
}

// e^r - 1 = r + r^2 q(r), the last two apart.
Expr exp_tail(const Expr& r) { return r * r * polynomial(r, coefficients(r, kExp32, kExp64)); }

}  // namespace

Expr exp(const Expr& x, int exponent) {
  const Expr clamped = is_f32(x) ? clamp(x, -105, 90) : clamp(x, -747, 711);
  const Reduced a = reduce(clamped, 2 * format(x.type()).bias);
  const Expr p = fma(a.r, fma(a.r, polynomial(a.r, coefficients(x, kExp32, kExp64)), num(x, 1)), num(x, 1));
  return scale(p, a.shifted, exponent);
}

Expr exp2(const Expr& x, const Expr& rest) {
  const Format& f = format(x.type());
  const double magic = f.magic + 2 * f.bias;
  const Expr clamped = is_f32(x) ? clamp(x, -151, 129) : clamp(x, -1076, 1025);
  const Expr shifted = clamped + magic;
  Expr r = clamped - (shifted - magic);
  if (rest) r = r + rest;
  return scale(fma(r, polynomial(r, coefficients(x, kExp2_32, kExp2_64)), num(x, 1)), shifted, 0);
}

// 2^n (e^r - 1) + (2^n - 1), halved until the end: 2^n may be just too large.
Expr expm1(const Expr& x) {
  const Format& f = format(x.type());
  const Reduced a = reduce(is_f32(x) ? clamp(x, -30, 89) : clamp(x, -60, 710), f.bias - 1);
  const Expr e = a.r + exp_tail(a.r);
  const Expr power = bitcast(x.type(), shl(bitcast(f.bits, a.shifted), f.mantissa));
  const Expr scaled = fma(power, e, power - 0.5) * 2;
  // Where n is 0, halving would lose the last bits of denormals. The sign is that of x, zero included.
  return copysign(select(equal(a.n, num(x, 0)), e, scaled), x);
}

Expr sinh(const Expr& x) {
  const Expr a = abs(x), m = expm1(a), e = exp(a, -1);
  // Halved last: a denormal half is not exact.
  const Expr small = (m + m / (m + 1)) * 0.5, large = e - 0.25 / e;
  return copysign(select(a < 2, small, large), x);
}

Expr cosh(const Expr& x) {
  const Expr e = exp(abs(x), -1);
  return e + 0.25 / e;
}

// In f32: an odd polynomial up to 0.6, then 1 - 2 / (e^(2x) + 1). In f64: m / (m + 2), m = e^(2x) - 1.
Expr tanh(const Expr& x) {
  const Expr a = abs(x);
  if (!is_f32(x)) {
    const Expr m = expm1(select(a > 20, num(a, 20), a) * 2);
    return copysign(m / (m + 2), x);
  }
  const Expr z = x * x;
  const Expr small = fma(a * z, polynomial(z, kTanh32), a);
  const Expr y = select(a > 10, num(a, 10), a) * 2;
  const Reduced r = reduce(y, 0);
  const Expr p = fma(r.r, fma(r.r, polynomial(r.r, kExp32), num(x, 1)), num(x, 1));
  const Expr large = 1 - 2 / (scale_normal(p, r.shifted) + 1);
  return copysign(select(a > 0.6, large, small), x);
}

namespace {

// erfc(a) for a >= 0: e^(-a^2) / (1 + 2a) and a polynomial in (a - 4) / (a + 4); the square is taken
// with its rounding error, which the exponential would magnify.
Expr erfc_positive(const Expr& a, double top, std::span<const double> c) {
  const Expr x = select(a > top, num(a, top), a);
  const Expr square = x * x, rest = fma(x, x, neg(square));
  const Expr g = polynomial((x - 4) / (x + 4), c) / (x * 2 + 1);
  return exp(neg(square)) * fma(neg(rest), g, g);
}

// An odd polynomial for |x| <= 1, of x or its absolute value.
Expr erf_small(const Expr& x) { return fma(x, polynomial(x * x, coefficients(x, kErf32, kErf64)), x); }

}  // namespace

// In f32: an odd polynomial up to 1, then 1 - 2^q(x).
Expr erf(const Expr& x) {
  const Expr a = abs(x), small = erf_small(a);
  if (!is_f32(x)) return copysign(select(a > 1, 1 - erfc_positive(a, 27.5, kErfc64), small), x);
  const Expr q = polynomial(select(a > 4, num(a, 4), a), kErfTail32);
  const double magic = format(x.type()).magic;
  const Expr shifted = q + magic, r = q - (shifted - magic);
  const Expr tail = scale_normal(fma(r, polynomial(r, kExp2_32), num(x, 1)), shifted);
  return copysign(select(a > 1, 1 - tail, small), x);
}

Expr erfc(const Expr& x) {
  if (is_f32(x)) {  // the last bits of f32 do not survive the exponential of a square
    const Expr wide = cast(DType::F64, x), a = abs(wide), t = erfc_positive(a, 10.5, kErfc32);
    return cast(DType::F32, select(wide < 0, 2 - t, t));
  }
  const Expr a = abs(x), t = erfc_positive(a, 27.5, kErfc64);
  return select(a < 0.5, 1 - erf_small(x), select(x < 0, 2 - t, t));
}

}  // namespace pto::expansion
