#pragma once
// What the expansions of elementary functions are written with, and the ones that others build on.
// Everything is an expression of any number of lanes, of f32 or f64. No branch: both sides are
// computed and one is selected.
#include <span>

#include "expr/expr.h"

namespace pto::expansion {

// Constants take the type of the expression beside them.
inline Expr num(const Expr& like, double value) { return constant_like(like, value); }
Expr bits_like(const Expr& like, uint64_t value);  // of an integer expression's type
Expr operator+(const Expr& a, double b);
Expr operator-(const Expr& a, double b);
Expr operator-(double a, const Expr& b);
Expr operator*(const Expr& a, double b);
Expr operator/(double a, const Expr& b);
Expr operator<(const Expr& a, double b);
Expr operator>(const Expr& a, double b);
Expr fma(const Expr& a, const Expr& b, const Expr& c);
Expr fma(const Expr& a, double b, const Expr& c);
Expr abs(const Expr& x);
Expr sqrt(const Expr& x);
Expr neg(const Expr& x);
Expr floor(const Expr& x);
Expr round(const Expr& x);
Expr copysign(const Expr& magnitude, const Expr& sign);
Expr shl(const Expr& x, int count);
Expr shr(const Expr& x, int count);
Expr is_nan(const Expr& x);
// x within [lo, hi]; NaN stays.
Expr clamp(const Expr& x, double lo, double hi);
// c[0] + c[1] x + c[2] x^2 + ..., by fused steps.
Expr polynomial(const Expr& x, std::span<const double> coefficients);

// A constant as the sum of two of the type of `like`.
struct Split {
  double hi, lo;
};
Split split(DType type, double value, double rest);

// What depends on the type.
struct Format {
  DType bits;       // the signed integer of the same width
  int mantissa;     // stored bits of the significand
  int bias;         // of the exponent
  double magic;     // 1.5 * 2^mantissa: adding it rounds to an integer in the low bits
};
const Format& format(DType type);

// 2^exponent * e^x, for an exponent of 0 or -1: no overflow or underflow but that of the result.
Expr exp(const Expr& x, int exponent = 0);
Expr exp2(const Expr& x, const Expr& rest = {});  // of x + rest, a small one
Expr expm1(const Expr& x);
enum class LogBase { E, Two, Ten };
Expr log(const Expr& x, LogBase base);
Expr log1p(const Expr& x);
Expr pow(const Expr& x, const Expr& y);
Expr sinh(const Expr& x);
Expr cosh(const Expr& x);
Expr tanh(const Expr& x);
Expr sin(const Expr& x);
Expr cos(const Expr& x);
Expr tan(const Expr& x);
Expr asin(const Expr& x);
Expr acos(const Expr& x);
Expr atan(const Expr& x);
Expr atan2(const Expr& y, const Expr& x);
Expr erf(const Expr& x);
Expr erfc(const Expr& x);

}  // namespace pto::expansion
