// Interval arithmetic on integer expressions. The ends of int64 stand for "no bound".
#include <algorithm>
#include <limits>

#include "expr/polynomial.h"

namespace pto {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr Interval kAny{kLeast, kMost};

bool endless(int64_t a) { return a == kLeast || a == kMost; }

int64_t clamped(__int128 a) { return a <= kLeast ? kLeast : a >= kMost ? kMost : static_cast<int64_t>(a); }

Interval add(const Interval& a, const Interval& b) {
  return {endless(a.lo) || endless(b.lo) ? kLeast : clamped(static_cast<__int128>(a.lo) + b.lo),
          endless(a.hi) || endless(b.hi) ? kMost : clamped(static_cast<__int128>(a.hi) + b.hi)};
}

int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (endless(a) || endless(b)) return (a < 0) == (b < 0) ? kMost : kLeast;
  return clamped(static_cast<__int128>(a) * b);
}

Interval multiply(const Interval& a, const Interval& b) {
  const auto [lo, hi] =
      std::minmax({times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)});
  return {lo, hi};
}

Interval unite(const Interval& a, const Interval& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}
Interval smaller(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}
Interval larger(const Interval& a, const Interval& b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval range_of(DType type) {
  if (type == DType::Bool) return {0, 1};
  if (is_float(type) || type == DType::I64) return kAny;
  if (type == DType::U64) return {0, kMost};
  const int width = size_of(type) * 8;
  return is_signed(type) ? Interval{-(int64_t{1} << (width - 1)), (int64_t{1} << (width - 1)) - 1}
                         : Interval{0, (int64_t{1} << width) - 1};
}

Interval quotient(const Interval& x, Interval y) {
  if (y.lo < 0) return kAny;
  if (y.hi == 0) return {0, 0};
  const bool by_zero = y.lo == 0;
  y.lo = std::max<int64_t>(y.lo, 1);
  Interval q{x.lo == kLeast ? kLeast : std::min(floor_div(x.lo, y.lo), floor_div(x.lo, y.hi)),
             x.hi == kMost ? kMost : std::max(floor_div(x.hi, y.lo), floor_div(x.hi, y.hi))};
  return by_zero ? unite(q, {0, 0}) : q;
}

Interval remainder(const Interval& x, const Interval& y) {
  if (y.lo < 0) return kAny;
  if (x.lo >= 0 && x.hi < y.lo) return x;
  Interval r{0, y.hi == kMost ? kMost : std::max<int64_t>(y.hi - 1, 0)};
  if (x.lo >= 0) r.hi = std::min(r.hi, x.hi);
  return r;
}

class Bounder {
 public:
  explicit Bounder(const std::map<Symbol, Interval>& vars) : vars_(vars) {}

  Interval of(const Polynomial& p) {
    Interval total{p.constant, p.constant};
    for (const auto& t : p.terms) {
      Interval product{t.scale, t.scale};
      for (const auto& f : t.factors) product = multiply(product, atom(f));
      total = add(total, product);
    }
    for (size_t i = 0; i < p.terms.size() && refinements_ > 0 && p.terms.size() > 1; i++) {
      const Term& t = p.terms[i];
      if (t.factors.size() != 1) continue;
      const Expr& f = t.factors[0];
      if (f.op() == Op::Min || f.op() == Op::Max) {
        // k * min(x, y) + rest is the smaller (if k > 0) of k * x + rest and k * y + rest.
        refinements_--;
        const Polynomial rest = without(p, i);
        const Interval x = of(sum(rest, polynomial_of(f.arg(0)), t.scale)),
                       y = of(sum(rest, polynomial_of(f.arg(1)), t.scale));
        return intersect(total, (f.op() == Op::Min) == (t.scale > 0) ? smaller(x, y) : larger(x, y));
      }
      // c * (x // c) is x less a remainder.
      if (f.op() != Op::FloorDiv || !f.arg(1).is_const() || f.arg(1).as_int() <= 1) continue;
      const int64_t c = f.arg(1).as_int();
      if (t.scale % c != 0) continue;
      refinements_--;
      const int64_t k = t.scale / c;
      const Interval whole = of(sum(without(p, i), polynomial_of(f.arg(0)), k));
      total = intersect(total, add(whole, multiply({-k, -k}, {0, c - 1})));
    }
    return total;
  }

  Interval expr(const Expr& e) {
    const bool sum = e.op() == Op::Add || e.op() == Op::Sub || e.op() == Op::Mul || e.op() == Op::Neg;
    if (e.type() == DType::I64 && e.lanes() == 1 && sum) {
      const Polynomial p = polynomial_of(e);
      // A product too large to be multiplied out is its own atom.
      if (p.atom() && p.atom() == e) return multiply(expr(e.arg(0)), expr(e.arg(1)));
      return of(p);
    }
    return atom(e);
  }

 private:
  Interval atom(const Expr& e) {
    const auto arg = [&](size_t i) { return expr(e.arg(i)); };
    const bool exact = e.type() == DType::I64;  // narrower types wrap within sight
    if (is_float(e.type())) return kAny;
    switch (e.op()) {
      case Op::Const:
        return e.type() == DType::U64 && e.as_int() < 0 ? Interval{0, kMost}
                                                        : Interval{e.as_int(), e.as_int()};
      case Op::Var: {
        const auto it = vars_.find(e.symbol());
        if (it != vars_.end()) return it->second;
        return exact ? Interval{0, kMost} : range_of(e.type());
      }
      case Op::Select: return unite(arg(1), arg(2));
      case Op::Cast: {
        if (is_float(e.arg(0).type())) return range_of(e.type());
        const Interval x = arg(0), type = range_of(e.type());
        return x.lo >= type.lo && x.hi <= type.hi && e.arg(0).type() != DType::U64 ? x : type;
      }
      case Op::Broadcast: return arg(0);
      case Op::Ramp: return exact ? add(arg(0), multiply(arg(1), {0, e.lanes() - 1})) : range_of(e.type());
      case Op::Min: return smaller(arg(0), arg(1));
      case Op::Max: return larger(arg(0), arg(1));
      case Op::FloorDiv: return exact ? quotient(arg(0), arg(1)) : range_of(e.type());
      case Op::Mod: return exact ? remainder(arg(0), arg(1)) : range_of(e.type());
      case Op::Add: return exact ? add(arg(0), arg(1)) : range_of(e.type());
      case Op::Sub: return exact ? add(arg(0), multiply({-1, -1}, arg(1))) : range_of(e.type());
      case Op::Mul: return exact ? multiply(arg(0), arg(1)) : range_of(e.type());
      case Op::Abs: {
        if (!exact) return range_of(e.type());
        const Interval x = arg(0), negative = multiply({-1, -1}, x);
        return {std::max({int64_t{0}, x.lo, negative.lo}), std::max(x.hi, negative.hi)};
      }
      case Op::And: {
        const Interval x = arg(0), y = arg(1);
        if (x.lo < 0 && y.lo < 0) return range_of(e.type());
        return {0, x.lo < 0 ? y.hi : y.lo < 0 ? x.hi : std::min(x.hi, y.hi)};
      }
      default: return range_of(e.type());
    }
  }

  const std::map<Symbol, Interval>& vars_;
  int refinements_ = 12;  // bounds the work on sums of many minima and quotients
};

}  // namespace

Interval bounds(const Polynomial& p, const std::map<Symbol, Interval>& vars) { return Bounder(vars).of(p); }

Interval bounds(const Expr& e, const std::map<Symbol, Interval>& vars) {
  if (e.is_const() && is_int(e.type())) return {e.as_int(), e.as_int()};
  return Bounder(vars).expr(e);
}

}  // namespace pto
