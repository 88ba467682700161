#include "expr/polynomial.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace pto {
namespace {

// Products of sums with more terms than this stay products.
constexpr size_t kMaxTerms = 64;

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int compare_lists(const Exprs& a, const Exprs& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
    if (const int c = compare_structure(a[i], b[i])) return c;
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

template <class T>
int three_way(const T& a, const T& b) {
  return a == b ? 0 : a < b ? -1 : 1;
}

// Sorts and joins what `terms` hold in any order.
void normalise(std::vector<Term>& terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return compare_lists(a.factors, b.factors) < 0; });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size(); i++) {
    if (kept > 0 && terms[kept - 1].factors == terms[i].factors) {
      terms[kept - 1].scale = wrap_add(terms[kept - 1].scale, terms[i].scale);
      continue;
    }
    if (kept > 0 && terms[kept - 1].scale == 0) kept--;
    if (kept != i) terms[kept] = std::move(terms[i]);
    kept++;
  }
  if (kept > 0 && terms[kept - 1].scale == 0) kept--;
  terms.resize(kept);
}

Polynomial atom_polynomial(const Expr& e) { return {{{1, {e}}}, 0}; }

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial p;
  p.constant = wrap_mul(a.constant, b.constant);
  for (const auto& x : a.terms) {
    if (b.constant != 0) p.terms.push_back({wrap_mul(x.scale, b.constant), x.factors});
    for (const auto& y : b.terms) {
      Exprs factors;
      std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
                 std::back_inserter(factors),
                 [](const Expr& u, const Expr& v) { return compare_structure(u, v) < 0; });
      p.terms.push_back({wrap_mul(x.scale, y.scale), std::move(factors)});
    }
  }
  if (a.constant != 0)
    for (const auto& y : b.terms) p.terms.push_back({wrap_mul(y.scale, a.constant), y.factors});
  normalise(p.terms);
  return p;
}

Expr product_of(const Term& t, int64_t scale) {
  Expr e;
  if (scale != 1) e = Expr(scale);
  for (const auto& f : t.factors) e = e ? e * f : f;
  return e;
}

}  // namespace

int compare_structure(const Expr& a, const Expr& b) {
  if (a == b) return 0;
  const ExprNode &x = *a.get(), &y = *b.get();
  if (x.op != y.op) return three_way(x.op, y.op);
  if (x.type != y.type) return three_way(x.type, y.type);
  if (x.lanes != y.lanes) return three_way(x.lanes, y.lanes);
  if (x.bits != y.bits) return three_way(x.bits, y.bits);
  if (x.extra != y.extra)
    return x.op == Op::HReduce ? three_way(x.extra, y.extra) : a.symbol().str().compare(b.symbol().str());
  return compare_lists(x.args, y.args);
}

Expr Polynomial::atom() const {
  const bool one = constant == 0 && terms.size() == 1 && terms[0].scale == 1 && terms[0].factors.size() == 1;
  return one ? terms[0].factors[0] : Expr();
}

Polynomial sum(const Polynomial& a, const Polynomial& b, int64_t scale) {
  Polynomial p = a;
  p.constant = wrap_add(a.constant, wrap_mul(b.constant, scale));
  if (scale == 0 || b.terms.empty()) return p;
  for (const auto& t : b.terms) p.terms.push_back({wrap_mul(t.scale, scale), t.factors});
  normalise(p.terms);
  return p;
}

Polynomial without(Polynomial p, size_t term) {
  p.terms.erase(p.terms.begin() + static_cast<std::ptrdiff_t>(term));
  return p;
}

Polynomial divided(Polynomial p, int64_t n) {
  for (auto& t : p.terms) t.scale /= n;
  p.constant /= n;
  return p;
}

Polynomial polynomial_of(const Expr& e) {
  PTO_CHECK(e.type() == DType::I64 && e.lanes() == 1, "expr/size", "not a size: " + e.str());
  switch (e.op()) {
    case Op::Const: return {{}, e.as_int()};
    case Op::Add: return sum(polynomial_of(e.arg(0)), polynomial_of(e.arg(1)));
    case Op::Sub: return sum(polynomial_of(e.arg(0)), polynomial_of(e.arg(1)), -1);
    case Op::Neg: return sum({}, polynomial_of(e.arg(0)), -1);
    case Op::Mul: {
      const Polynomial a = polynomial_of(e.arg(0)), b = polynomial_of(e.arg(1));
      if ((a.terms.size() + 1) * (b.terms.size() + 1) <= kMaxTerms) return multiply(a, b);
      return atom_polynomial(e);
    }
    default: return atom_polynomial(e);
  }
}

Expr to_expr(const Polynomial& p) {
  Expr e;
  for (const auto& t : p.terms)
    if (t.scale > 0) e = e ? e + product_of(t, t.scale) : product_of(t, t.scale);
  if (!e) {
    e = Expr(p.constant);
  } else if (p.constant > 0 || p.constant == std::numeric_limits<int64_t>::min()) {
    e = e + Expr(p.constant);
  } else if (p.constant < 0) {
    e = e - Expr(-p.constant);
  }
  for (const auto& t : p.terms)
    if (t.scale < 0) e = e - product_of(t, wrap_mul(t.scale, -1));
  return e;
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

}  // namespace pto
