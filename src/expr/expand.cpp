#include "expr/expand.h"

#include <unordered_map>

#include "base/error.h"
#include "expr/expand_kernels.h"

namespace pto {
namespace {

Expr expand_plain(Op op, const Expr& x, const Exprs& args) {
  namespace k = expansion;
  switch (op) {
    case Op::Exp: return k::exp(x);
    case Op::Exp2: return k::exp2(x);
    case Op::Expm1: return k::expm1(x);
    case Op::Log: return k::log(x, k::LogBase::E);
    case Op::Log2: return k::log(x, k::LogBase::Two);
    case Op::Log10: return k::log(x, k::LogBase::Ten);
    case Op::Log1p: return k::log1p(x);
    case Op::Sin: return k::sin(x);
    case Op::Cos: return k::cos(x);
    case Op::Tan: return k::tan(x);
    case Op::Asin: return k::asin(x);
    case Op::Acos: return k::acos(x);
    case Op::Atan: return k::atan(x);
    case Op::Atan2: return k::atan2(x, args[1]);
    case Op::Sinh: return k::sinh(x);
    case Op::Cosh: return k::cosh(x);
    case Op::Tanh: return k::tanh(x);
    case Op::Erf: return k::erf(x);
    case Op::Erfc: return k::erfc(x);
    case Op::Pow: return k::pow(x, args[1]);
    default: throw InternalError("expr/expand", "no expansion of " + std::string(info(op).text));
  }
}

}  // namespace

Expr expand_math(const Expr& e) {
  PTO_CHECK(is_math(e.op()), "expr/expand", "not an elementary function: " + e.str());
  if (!is_half(e.type())) return expand_plain(e.op(), e.arg(0), e.args());
  Exprs wide;
  for (const auto& a : e.args()) wide.push_back(cast(DType::F32, a));
  return cast(e.type(), expand_plain(e.op(), wide[0], wide));
}

Expr expand_all_math(const Expr& e) {
  return rewrite(e, [](const Expr& n) { return is_math(n.op()) ? expand_math(n) : n; });
}

// Structural operations move halves and never compute with them, but for an hreduce, which no expression
// over f32 stands for, as every step of it rounds: generators do as it says.
Expr promote_halves(const Expr& e) {
  return rewrite(e, [](const Expr& n) {
    if (n.args().empty() || !is_half(n.arg(0).type())) return n;
    if (info(n.op()).cls == OpClass::Structural) return n;
    Exprs wide;
    for (const auto& a : n.args()) wide.push_back(cast(DType::F32, a));
    Expr result = make(n.op(), std::move(wide));
    return n.type() == DType::Bool ? result : cast(n.type(), result);
  });
}

namespace {

// The product that an operand is, itself or the same in all lanes; null if it is none.
const Expr* product_of(const Expr& e) {
  const Expr& p = e.op() == Op::Broadcast ? e.arg(0) : e;
  return p.op() == Op::Mul ? &p : nullptr;
}

}  // namespace

// A product that is used elsewhere too, be it under another name, keeps its rounding: what is equal
// stays equal (a*b - a*b is 0). A fused sum of finite operands differs in its last bit only, except
// that it does not overflow halfway; zeros, infinities and NaNs come out as they did.
Expr form_fma(const Expr& e) {
  std::unordered_map<Expr, int, ExprHash> uses;
  visit(e, [&](const Expr& n) {
    if (n.op() == Op::Broadcast) return;   // its users are the product's
    for (const auto& a : n.args())
      if (const Expr* p = product_of(a)) uses[*p]++;
  });
  std::unordered_map<const ExprNode*, Expr> done;
  visit(e, [&](const Expr& n) {
    Exprs args;
    for (const auto& a : n.args()) args.push_back(done.at(a.get()));
    const Expr same = with_args(n, std::move(args));
    Expr& result = done[n.get()] = same;
    if ((n.op() != Op::Add && n.op() != Op::Sub) || (n.type() != DType::F32 && n.type() != DType::F64))
      return;
    const auto fusible = [&](size_t i) {
      const Expr* p = product_of(n.arg(i));
      return p && uses.at(*p) == 1;
    };
    const int product = fusible(0) ? 0 : n.op() == Op::Add && fusible(1) ? 1 : -1;
    if (product < 0) return;
    const Expr& factors = done.at(product_of(n.arg(product))->get());
    const Expr& addend = same.arg(1 - product);
    result =
        make(Op::Fma, {factors.arg(0), factors.arg(1), n.op() == Op::Add ? addend : make(Op::Neg, {addend})});
  });
  return done.at(e.get());
}

}  // namespace pto
