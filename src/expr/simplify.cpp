// simplify(): sums of products with floor divisions, remainders and extremes reduced exactly.
#include <algorithm>
#include <limits>
#include <numeric>

#include "expr/eval.h"
#include "expr/polynomial.h"

namespace pto {
namespace {

Expr quotient(const Polynomial& p, const Expr& by);
Expr remainder(const Polynomial& p, const Expr& by);

// s * (x % c) + s * c * (x // c) = s * x
Polynomial recombine(Polynomial p) {
  for (size_t i = 0; i < p.terms.size(); i++) {
    const int64_t scale = p.terms[i].scale;
    if (p.terms[i].factors.size() != 1) continue;
    const Expr rest = p.terms[i].factors[0];
    if (rest.op() != Op::Mod || !rest.arg(1).is_const()) continue;
    const Polynomial x = polynomial_of(rest.arg(0));
    const Expr whole = quotient(x, rest.arg(1));
    for (size_t j = 0; j < p.terms.size(); j++) {
      const Term& t = p.terms[j];
      if (t.factors.size() != 1 || !(t.factors[0] == whole)) continue;
      if (static_cast<__int128>(scale) * rest.arg(1).as_int() != t.scale) continue;
      p = without(without(std::move(p), std::max(i, j)), std::min(i, j));
      return recombine(sum(p, x, scale));
    }
  }
  return p;
}

Expr canonical(const Polynomial& p) { return to_expr(recombine(p)); }

// p = by * whole + rest, where rest takes no part that `by` divides.
struct Division {
  Polynomial whole, rest;
};

Division divide(const Polynomial& p, int64_t by) {
  Division d;
  d.whole.constant = floor_div(p.constant, by);
  d.rest.constant = floor_mod(p.constant, by);
  for (const auto& t : p.terms) {
    if (t.scale / by != 0) d.whole.terms.push_back({t.scale / by, t.factors});
    if (t.scale % by != 0) d.rest.terms.push_back({t.scale % by, t.factors});
  }
  return d;
}

// By one product: the terms that have all its factors.
Division divide(const Polynomial& p, const Term& by) {
  Division d;
  d.rest.constant = p.constant;
  for (const auto& t : p.terms) {
    Exprs left;
    const auto before = [](const Expr& a, const Expr& b) { return compare_structure(a, b) < 0; };
    std::set_difference(t.factors.begin(), t.factors.end(), by.factors.begin(), by.factors.end(),
                        std::back_inserter(left), before);
    const bool divides =
        by.scale > 0 && left.size() + by.factors.size() == t.factors.size() && t.scale % by.scale == 0;
    if (!divides) {
      d.rest = sum(d.rest, {{t}, 0});
    } else if (left.empty()) {
      d.whole.constant += t.scale / by.scale;
    } else {
      d.whole = sum(d.whole, {{{t.scale / by.scale, std::move(left)}}, 0});
    }
  }
  return d;
}

bool within(const Polynomial& p, int64_t below) {
  const Interval b = bounds(p);
  return b.lo >= 0 && b.hi < below;
}

// Is 0 <= p < q proved?
bool below(const Polynomial& p, const Polynomial& q) {
  return bounds(p).lo >= 0 && bounds(sum(q, p, -1)).lo >= 1;
}

bool exceeds_by_constant(const Polynomial& p, const Polynomial& q) {
  const Polynomial d = sum(p, q, -1);
  return d.is_constant() && d.constant >= 0;
}

// p = g * high + low with 0 <= low < g, where g > 1 divides c.
struct Halves {
  int64_t g = 0;
  Polynomial high, low;
};

Halves split_low(const Polynomial& p, int64_t c) {
  std::vector<int64_t> candidates;
  for (const auto& t : p.terms) candidates.push_back(std::gcd(t.scale, c));
  std::sort(candidates.begin(), candidates.end());
  for (const int64_t g : candidates) {
    if (g <= 1) continue;
    Halves h{g, {}, {}};
    for (const auto& t : p.terms) (t.scale % g == 0 ? h.high : h.low).terms.push_back(t);
    h.low.constant = floor_mod(p.constant, g);
    h.high.constant = p.constant - h.low.constant;
    h.high = divided(std::move(h.high), g);
    if (within(h.low, g)) return h;
  }
  return {};
}

// rest // c, where `rest` has no part that c divides.
Expr small_quotient(Polynomial rest, int64_t c) {
  for (;;) {
    const Interval b = bounds(rest);
    if (b.lo > std::numeric_limits<int64_t>::min() && b.hi < std::numeric_limits<int64_t>::max() &&
        floor_div(b.lo, c) == floor_div(b.hi, c))
      return Expr(floor_div(b.lo, c));
    Halves h = split_low(rest, c);
    if (h.g == 0) break;
    rest = std::move(h.high);
    c /= h.g;
  }
  // (x // d + k) // c = (x + k * d) // (d * c)
  if (rest.terms.size() == 1 && rest.terms[0].scale == 1 && rest.terms[0].factors.size() == 1) {
    const Expr inner = rest.terms[0].factors[0];
    if (inner.op() == Op::FloorDiv && inner.arg(1).is_const() && inner.arg(1).as_int() > 0) {
      int64_t d = inner.arg(1).as_int(), offset = 0, by = 0;
      if (!__builtin_mul_overflow(d, c, &by) && !__builtin_mul_overflow(d, rest.constant, &offset)) {
        Polynomial x = polynomial_of(inner.arg(0));
        return quotient(sum(x, {{}, offset}), Expr(by));
      }
    }
  }
  return floordiv(canonical(rest), Expr(c));
}

Polynomial negated(const Polynomial& p) { return sum({}, p, -1); }

Expr quotient(const Polynomial& p, const Expr& by) {
  if (by.is_const()) {
    const int64_t c = by.as_int();
    if (c == 0 || (p.is_constant() && p.constant == 0)) return Expr(0);
    if (c == 1) return canonical(p);
    if (c == std::numeric_limits<int64_t>::min()) return floordiv(canonical(p), by);
    if (c < 0) return quotient(negated(p), Expr(-c));
    const Division d = divide(p, c);
    const Expr rest = small_quotient(d.rest, c);
    return canonical(sum(d.whole, polynomial_of(rest)));
  }
  const Polynomial divisor = polynomial_of(by);
  if (divisor.is_constant()) return quotient(p, Expr(divisor.constant));
  if (below(p, divisor) || (p.is_constant() && p.constant == 0)) return Expr(0);
  if (bounds(divisor).lo < 1) return floordiv(canonical(p), by);  // it may be zero: then so is the quotient
  Division d{{}, p};
  if (divisor.terms.size() == 1 && divisor.constant == 0) {
    d = divide(p, divisor.terms[0]);
  } else if (exceeds_by_constant(p, divisor)) {
    d = {{{}, 1}, sum(p, divisor, -1)};
  }
  const Expr rest = below(d.rest, divisor) ? Expr(0) : floordiv(canonical(d.rest), by);
  return canonical(sum(d.whole, polynomial_of(rest)));
}

// s * (x % d) = s * x modulo c, where c divides s * d.
Polynomial drop_inner_remainders(const Polynomial& p, int64_t c) {
  for (size_t i = 0; i < p.terms.size(); i++) {
    const Term& t = p.terms[i];
    if (t.factors.size() != 1 || t.factors[0].op() != Op::Mod || !t.factors[0].arg(1).is_const()) continue;
    const int64_t d = t.factors[0].arg(1).as_int();
    if (d == 0 || static_cast<__int128>(t.scale) * d % c != 0) continue;
    const Polynomial x = polynomial_of(t.factors[0].arg(0));
    return drop_inner_remainders(sum(without(p, i), x, t.scale), c);
  }
  return p;
}

Expr small_remainder(const Polynomial& rest, int64_t c) {
  if (within(rest, c)) return canonical(rest);
  const Halves h = split_low(rest, c);
  if (h.g == 0) return mod(canonical(rest), Expr(c));
  const Expr high = remainder(h.high, Expr(c / h.g));
  return canonical(sum(h.low, polynomial_of(high), h.g));
}

Expr remainder(const Polynomial& p, const Expr& by) {
  if (p.is_constant() && p.constant == 0) return Expr(0);
  if (by.is_const()) {
    const int64_t c = by.as_int();
    if (c == 0 || c == 1 || c == -1) return Expr(0);
    if (c == std::numeric_limits<int64_t>::min()) return mod(canonical(p), by);
    if (c < 0) return canonical(negated(polynomial_of(remainder(negated(p), Expr(-c)))));
    return small_remainder(divide(drop_inner_remainders(p, c), c).rest, c);
  }
  const Polynomial divisor = polynomial_of(by);
  if (divisor.is_constant()) return remainder(p, Expr(divisor.constant));
  Polynomial rest = p;
  if (divisor.terms.size() == 1 && divisor.constant == 0) {
    rest = divide(p, divisor.terms[0]).rest;
  } else if (exceeds_by_constant(p, divisor)) {
    rest = sum(p, divisor, -1);
  }
  if (rest.is_constant() && rest.constant == 0) return Expr(0);
  return below(rest, divisor) ? canonical(rest) : mod(canonical(rest), by);
}

void operands_of(Op op, const Expr& e, Exprs& out) {
  if (e.op() != op) {
    out.push_back(e);
    return;
  }
  for (const auto& a : e.args()) operands_of(op, a, out);
}

Expr extreme(Op op, const Expr& a, const Expr& b) {
  Exprs all, kept;
  operands_of(op, a, all);
  operands_of(op, b, all);
  for (const auto& e : all) {
    const Polynomial x = polynomial_of(e);
    bool needed = true;
    std::erase_if(kept, [&](const Expr& k) {
      const Interval d = bounds(sum(x, polynomial_of(k), -1));
      const bool e_loses = op == Op::Min ? d.lo >= 0 : d.hi <= 0,
                 k_loses = op == Op::Min ? d.hi <= 0 : d.lo >= 0;
      if (e_loses) needed = false;
      return !e_loses && k_loses;
    });
    if (needed) kept.push_back(e);
  }
  std::sort(kept.begin(), kept.end(),
            [](const Expr& x, const Expr& y) { return compare_structure(x, y) > 0; });
  Expr e = kept[0];
  for (size_t i = 1; i < kept.size(); i++) e = make(op, {e, kept[i]});
  return e;
}

// An i64 scalar whose operands are canonical.
Expr simplify_size(const Expr& e) {
  switch (e.op()) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Neg: return canonical(polynomial_of(e));
    case Op::FloorDiv: return quotient(polynomial_of(e.arg(0)), e.arg(1));
    case Op::Mod: return remainder(polynomial_of(e.arg(0)), e.arg(1));
    case Op::Min:
    case Op::Max: return extreme(e.op(), e.arg(0), e.arg(1));
    case Op::Abs: {
      const Interval b = bounds(e.arg(0));
      if (b.lo >= 0) return e.arg(0);
      return b.hi <= 0 ? canonical(negated(polynomial_of(e.arg(0)))) : e;
    }
    default: return e;
  }
}

// Of two i64 scalars.
Expr simplify_comparison(const Expr& e) {
  const Interval d = bounds(recombine(polynomial_of(e.arg(1) - e.arg(0))));
  const auto truth = [](bool b) { return Expr(Scalar::from_bool(b)); };
  const bool equal = d.lo == 0 && d.hi == 0, differ = d.lo > 0 || d.hi < 0;
  switch (e.op()) {
    case Op::Lt: return d.lo > 0 ? truth(true) : d.hi <= 0 ? truth(false) : e;
    case Op::Le: return d.lo >= 0 ? truth(true) : d.hi < 0 ? truth(false) : e;
    case Op::Eq: return equal || differ ? truth(equal) : e;
    default: return equal || differ ? truth(differ) : e;
  }
}

// Operations whose operands are constants; elementary functions keep to their expansions.
Expr fold_constants(const Expr& e) {
  if (is_math(e.op()) || e.args().empty() || e.lanes() != 1) return e;
  for (const auto& a : e.args())
    if (!a.is_const()) return e;
  switch (e.op()) {
    case Op::Load:
    case Op::LoadIf:
    case Op::HReduce: return e;
    default: return Expr(eval_scalar(e, {}));
  }
}

Expr simplify_node(const Expr& e) {
  const Expr f = fold_constants(e);
  if (f.is_const() || f.is_var()) return f;
  if (e.lanes() == 1 && e.type() == DType::I64) {
    const Expr s = simplify_size(e);
    if (!(s == e)) return s;
  }
  const auto constant_bool = [&](size_t i, bool value) {
    return e.arg(i).is_const() && e.arg(i).value().to_bool() == value;
  };
  switch (e.op()) {
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le: return e.lanes() == 1 && e.arg(0).type() == DType::I64 ? simplify_comparison(e) : e;
    case Op::Select:
      if (e.arg(0).is_const()) return e.arg(constant_bool(0, true) ? 1 : 2);
      return e.arg(1) == e.arg(2) ? e.arg(1) : e;
    case Op::LoadIf:
      if (constant_bool(0, false)) return e.arg(1);
      return constant_bool(0, true) ? load(e.symbol(), e.type(), e.indices()) : e;
    case Op::And:
    case Op::Or: {
      if (e.type() != DType::Bool || e.lanes() != 1) return e;
      const bool neutral = e.op() == Op::And;
      for (size_t i = 0; i < 2; i++) {
        if (constant_bool(i, neutral)) return e.arg(1 - i);
        if (constant_bool(i, !neutral)) return e.arg(i);
      }
      return e.arg(0) == e.arg(1) ? e.arg(0) : e;
    }
    case Op::Not: return e.arg(0).op() == Op::Not ? e.arg(0).arg(0) : e;
    default: return e;
  }
}

}  // namespace

Expr simplify(const Expr& e) {
  if (e.is_const() || e.is_var()) return e;
  return rewrite(e, simplify_node);
}

}  // namespace pto
