#include "expr/expand_kernels.h"

#include "base/error.h"

namespace pto::expansion {

Expr bits_like(const Expr& like, uint64_t value) {
  return broadcast(Expr(Scalar::from_int(like.type(), static_cast<int64_t>(value))), like.lanes());
}
Expr operator+(const Expr& a, double b) { return pto::operator+(a, num(a, b)); }
Expr operator-(const Expr& a, double b) { return pto::operator-(a, num(a, b)); }
Expr operator-(double a, const Expr& b) { return pto::operator-(num(b, a), b); }
Expr operator*(const Expr& a, double b) { return pto::operator*(a, num(a, b)); }
Expr operator/(double a, const Expr& b) { return pto::operator/(num(b, a), b); }
Expr operator<(const Expr& a, double b) { return pto::operator<(a, num(a, b)); }
Expr operator>(const Expr& a, double b) { return pto::operator<(num(a, b), a); }
Expr fma(const Expr& a, const Expr& b, const Expr& c) { return make(Op::Fma, {a, b, c}); }
Expr fma(const Expr& a, double b, const Expr& c) { return make(Op::Fma, {a, num(a, b), c}); }
Expr abs(const Expr& x) { return make(Op::Abs, {x}); }
Expr sqrt(const Expr& x) { return make(Op::Sqrt, {x}); }
Expr neg(const Expr& x) { return make(Op::Neg, {x}); }
Expr floor(const Expr& x) { return make(Op::Floor, {x}); }
Expr round(const Expr& x) { return make(Op::Round, {x}); }
Expr copysign(const Expr& m, const Expr& s) { return make(Op::CopySign, {m, s}); }
Expr shl(const Expr& x, int n) { return make(Op::Shl, {x, bits_like(x, static_cast<uint64_t>(n))}); }
Expr shr(const Expr& x, int n) { return make(Op::Shr, {x, bits_like(x, static_cast<uint64_t>(n))}); }
Expr is_nan(const Expr& x) { return make(Op::Ne, {x, x}); }

Expr clamp(const Expr& x, double lo, double hi) {
  const Expr above = select(x < lo, num(x, lo), x);
  return select(above > hi, num(x, hi), above);
}

Expr polynomial(const Expr& x, std::span<const double> c) {
  Expr sum = num(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, num(x, c[i]));
  return sum;
}

Split split(DType type, double value, double rest) {
  if (type == DType::F64) return {value, rest};
  const double hi = static_cast<float>(value);
  return {hi, value - hi};
}

const Format& format(DType type) {
  static const Format f32{DType::I32, 23, 127, 0x1.8p23}, f64{DType::I64, 52, 1023, 0x1.8p52};
  PTO_CHECK(type == DType::F32 || type == DType::F64, "expr/expand", "a type without kernels");
  return type == DType::F32 ? f32 : f64;
}

}  // namespace pto::expansion
