// Logarithms and powers. An argument is 2^e (1 + f) with sqrt(1/2) <= 1 + f <= sqrt(2).
#include <cmath>
#include <limits>

#include "expr/expand_coefficients.h"
#include "expr/expand_kernels.h"

namespace pto::expansion {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// 1 / ln(base) and log(2) to the base, each as a sum.
struct Base {
  double scale, scale_rest, two, two_rest;
};
constexpr Base kBases[] = {
    {1, 0, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56},
    {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1, 0},
    {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59},
};

struct Parts {
  Expr e, f;
};

// Of a positive number; denormals are made normal first.
Parts parts(const Expr& x) {
  const bool single = x.type() == DType::F32;
  const Format& format = expansion::format(x.type());
  const double grow = single ? 32 : 64;
  const Expr tiny = x < (single ? 0x1p-126 : 0x1p-1022);
  const Expr bits = bitcast(format.bits, select(tiny, x * std::exp2(grow), x));
  const Expr half = bits_like(bits, single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);  // sqrt(1/2)
  const Expr e = shr(bits - half, format.mantissa);
  const Expr m = bitcast(x.type(), bits - shl(e, format.mantissa));
  return {cast(x.type(), e) - select(tiny, num(x, grow), num(x, 0)), m - 1};
}

// log(1 + f) - f.
Expr log_tail(const Expr& f) {
  const Expr square = f * f;
  if (f.type() == DType::F32) return square * polynomial(f, kLog32);
  const Expr s = f / (f + 2), z = s * s, half = square * 0.5;
  return fma(s, fma(z, polynomial(z, kLog64), half), neg(half));
}

// e log(2) + f + tail, the last two times the scale.
Expr sum(const Parts& p, const Expr& tail, LogBase base) {
  const Base& b = kBases[static_cast<int>(base)];
  const Split scale = split(p.f.type(), b.scale, b.scale_rest), two = split(p.f.type(), b.two, b.two_rest);
  Expr low = tail;
  if (base != LogBase::E) low = fma(p.f, scale.lo, tail * scale.hi);
  if (base != LogBase::Two) low = fma(p.e, two.lo, low);
  return fma(p.e, two.hi, fma(p.f, scale.hi, low));
}

// The values at the ends of the domain [pole, inf], and outside of it.
Expr with_ends(const Expr& y, const Expr& x, double pole) {
  const Expr inner = select(x < kInf, y, x);  // inf and NaN as they are
  return select(equal(x, num(x, pole)), num(x, -kInf),
                select(x < pole, num(x, std::numeric_limits<double>::quiet_NaN()), inner));
}

}  // namespace

Expr log(const Expr& x, LogBase base) {
  const Parts p = parts(x);
  return with_ends(sum(p, log_tail(p.f), base), x, 0);
}

// Of the rounded 1 + x, and what the rounding lost.
Expr log1p(const Expr& x) {
  const Expr u = x + 1;
  const Expr lost = select(x < 1, x - (u - 1), 1 - (u - x));
  const Parts p = parts(u);
  const Expr y = sum(p, log_tail(p.f) + lost / u, LogBase::E);
  return copysign(with_ends(y, x, -1), x);
}

namespace {

// |x|^y in f64, with log2(x) as a sum of two: an error of the logarithm is magnified by up to 2^10.
Expr positive_power(const Expr& x, const Expr& y) {
  const Parts p = parts(x);
  const Expr &f = p.f, d = f + 2, d_rest = f - (d - 2);
  const Expr s = f / d, s_rest = fma(neg(s), d_rest, fma(neg(s), d, f)) / d;
  // log(1 + f) = 2 s + 2/3 s^3 + s^5 (...), the first two terms as sums.
  const Expr z = s * s, z_rest = fma(s, s, neg(z)) + s * s_rest * 2;
  const Expr cube = s * z, cube_rest = fma(s, z, neg(cube)) + fma(s, z_rest, s_rest * z);
  const double third = 2.0 / 3, third_rest = 0x1.5555555555555p-55;
  const Expr t = cube * third;
  const Expr t_rest = fma(cube, third, neg(t)) + fma(cube, third_rest, cube_rest * third);
  const Expr ln = fma(s, 2, t);
  const Expr rounding = fma(s, 2, neg(ln)) + t;
  const Expr ln_rest = rounding + fma(cube * z, polynomial(z, kLogTail64), fma(s_rest, 2, t_rest));
  const Base& two = kBases[static_cast<int>(LogBase::Two)];
  const Expr w = ln * two.scale;
  const Expr w_rest = fma(ln, two.scale, neg(w)) + fma(ln, two.scale_rest, ln_rest * two.scale);
  const Expr near = p.e + w, far = (p.e - near + w) + w_rest;
  const Expr finite = near + far, rest = far - (finite - near);
  const Expr log2 = select(equal(x, num(x, 0)), num(x, -kInf), select(x < kInf, finite, x));
  const Expr product = y * log2, product_rest = fma(y, log2, neg(product)) + y * rest;
  return exp2(product, select(abs(product) < 1100, product_rest, num(x, 0)));
}

}  // namespace

Expr pow(const Expr& x, const Expr& y) {
  const Expr a = abs(x);
  Expr power;
  if (x.type() == DType::F64) {
    power = positive_power(a, y);
  } else {
    const Expr product = cast(DType::F64, y) * log(cast(DType::F64, a), LogBase::Two);
    power = cast(DType::F32, exp2(product));
  }
  const Expr half = y * 0.5;
  const Expr whole = equal(floor(y), y), odd = whole & make(Op::Ne, {floor(half), half});
  const Expr infinite = equal(a, num(a, kInf));
  const Expr no_value = (x < 0) & make(Op::Not, {whole | infinite | is_nan(y)});
  const Expr signed_power = select(no_value, num(x, std::numeric_limits<double>::quiet_NaN()),
                                   select(odd, copysign(power, x), power));
  const Expr one =
      equal(x, num(x, 1)) | equal(y, num(y, 0)) | (equal(a, num(a, 1)) & equal(abs(y), num(y, kInf)));
  return select(one, num(x, 1), signed_power);
}

}  // namespace pto::expansion
