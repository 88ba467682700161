#include "loop/lower_index.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace pto::lowering {
namespace {

Expr times(const Expr& e, int64_t factor) { return factor == 1 ? e : e * Expr(factor); }

// The sum of the terms of positive scale, the constant, and then the others subtracted.
Expr sum(const std::vector<Term>& terms, int64_t constant) {
  Expr total;
  for (const auto& t : terms)
    if (t.scale > 0) total = total ? total + times(t.index, t.scale) : times(t.index, t.scale);
  if (!total) {
    total = Expr(constant);
  } else if (constant > 0) {
    total = total + Expr(constant);
  } else if (constant < 0) {
    total = total - Expr(-constant);
  }
  for (const auto& t : terms)
    if (t.scale < 0) total = total - times(t.index, -t.scale);
  return total;
}

}  // namespace

Expr Linear::base() const { return sum(terms, constant); }

Expr Linear::expr() const { return stride ? ramp(base(), stride, lanes) : base(); }

std::optional<int64_t> Linear::max() const {
  int64_t total = constant;
  for (const auto& t : terms) {
    if (t.count <= 0 || t.scale < 0) return std::nullopt;
    total += t.scale * (t.count - 1);
  }
  if (stride) {
    if (!stride.is_const() || stride.as_int() < 0) return std::nullopt;
    total += stride.as_int() * (lanes - 1);
  }
  return total;
}

Linear plus(Linear a, int64_t scale, const Expr& index, int64_t count) {
  if (scale == 0) return a;
  if (index.is_const()) return plus(std::move(a), scale * index.as_int());
  for (auto t = a.terms.begin(); t != a.terms.end(); ++t) {
    if (!(t->index == index)) continue;
    t->scale += scale;
    if (t->scale == 0) a.terms.erase(t);
    return a;
  }
  a.terms.push_back({scale, index, count});
  return a;
}

Linear plus(Linear a, int64_t constant) {
  a.constant += constant;
  return a;
}

Linear add(Linear a, const Linear& b) {
  for (const auto& t : b.terms) a = plus(std::move(a), t.scale, t.index, t.count);
  a.constant += b.constant;
  a.lanes = std::max(a.lanes, b.lanes);
  if (b.stride) a.stride = a.stride ? simplify(a.stride + b.stride) : b.stride;
  if (a.stride && a.stride.is_const(0)) {
    a.stride = {};
    a.lanes = 1;
  }
  return a;
}

Linear scaled(Linear a, int64_t factor) {
  if (factor == 0) return {};
  for (auto& t : a.terms) t.scale *= factor;
  a.constant *= factor;
  if (a.stride) a.stride = a.stride.is_const() ? Expr(a.stride.as_int() * factor) : times(a.stride, factor);
  return a;
}

Linear lanes_of(Linear a, int lanes) {
  if (lanes == 1) return a;
  a.stride = Expr(1);
  a.lanes = lanes;
  return a;
}

Linear atom(const Expr& scalar, int64_t count) { return plus(Linear{}, 1, scalar, count); }

Linear relative(const Linear& a, const Linear& base) {
  Linear r = a;
  PTO_CHECK(base.terms.size() <= a.terms.size(), "loop/lower", "a position that does not extend its base");
  r.terms.erase(r.terms.begin(), r.terms.begin() + static_cast<std::ptrdiff_t>(base.terms.size()));
  r.constant -= base.constant;
  return r;
}

bool not_negative(const Linear& a) {
  if (a.constant < 0) return false;
  for (const auto& t : a.terms)
    if (t.scale < 0 || t.count == kAnySign) return false;
  return true;
}

bool divisible(const Linear& a, int64_t n) {
  return a.constant % n == 0 &&
         std::all_of(a.terms.begin(), a.terms.end(), [&](const Term& t) { return t.scale % n == 0; });
}

// Terms that `n` divides go to the quotient. Of the others, a `low` group that stays below g, where
// g divides n and the scales of all the rest ("middle"), goes to the remainder:
//   (middle + low) / n = (middle/g) / (n/g);  (middle + low) % n = g * ((middle/g) % (n/g)) + low.
std::optional<Quotient> divide(const Linear& a, int64_t n) {
  PTO_CHECK(n > 0, "loop/lower", "division by " + std::to_string(n));
  if (n == 1) return Quotient{a, {}};
  Quotient result;
  std::vector<Term> rest;
  for (const auto& t : a.terms) {
    if (t.scale % n == 0) {
      result.quotient = plus(std::move(result.quotient), t.scale / n, t.index, t.count);
    } else {
      rest.push_back(t);
    }
  }
  Linear low;
  low.constant = a.constant % n;
  if (low.constant < 0) low.constant += n;
  result.quotient.constant = (a.constant - low.constant) / n;
  if (a.stride) {
    if (!a.stride.is_const()) return std::nullopt;
    (a.stride.as_int() % n == 0 ? result.quotient : low).stride =
        Expr(a.stride.as_int() % n == 0 ? a.stride.as_int() / n : a.stride.as_int());
    result.quotient.lanes = result.quotient.stride ? a.lanes : 1;
    low.lanes = low.stride ? a.lanes : 1;
  }
  std::sort(rest.begin(), rest.end(), [](const Term& x, const Term& y) { return x.scale > y.scale; });
  for (size_t middle = 0; middle <= rest.size(); middle++) {
    Linear candidate = low, above;
    int64_t g = n;
    for (size_t i = 0; i < rest.size(); i++) {
      if (i < middle) g = std::gcd(g, rest[i].scale);
      Linear& to = i < middle ? above : candidate;
      to = plus(std::move(to), rest[i].scale, rest[i].index, rest[i].count);
    }
    // The constant may exceed g by whole multiples of it.
    const int64_t whole = middle > 0 ? candidate.constant / g * g : 0;
    candidate.constant -= whole;
    above.constant = whole;
    const auto max = candidate.max();
    if (!max || *max >= g) continue;
    if (middle > 0) {
      for (auto& t : above.terms) t.scale /= g;
      above.constant /= g;
      const Expr m = above.base();
      const int64_t sign = not_negative(above) ? kNotNegative : kAnySign;
      result.quotient = plus(std::move(result.quotient), 1, floordiv(m, Expr(n / g)), sign);
      candidate = plus(std::move(candidate), g, mod(m, Expr(n / g)), n / g);
    }
    result.remainder = candidate;
    return result;
  }
  if (low.stride) return std::nullopt;
  const Expr whole = a.base();
  Linear q = atom(floordiv(whole, Expr(n)), not_negative(a) ? kNotNegative : kAnySign),
         r = atom(mod(whole, Expr(n)), n);
  if (a.stride) {   // a multiple of n
    q.stride = Expr(a.stride.as_int() / n);
    q.lanes = a.lanes;
  }
  return Quotient{q, r};
}

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace pto::lowering
