#pragma once
// Positions along axes while a kernel is lowered: sums of loop counters with known factors, so that
// tiles, layouts and reshapes divide without a division.
#include <optional>
#include <vector>

#include "expr/size.h"

namespace pto::lowering {

constexpr int64_t kNotNegative = 0, kAnySign = -1;

struct Term {
  int64_t scale;
  Expr index;     // a scalar
  int64_t count;  // 0 <= index < count; or kNotNegative, kAnySign
};

// The sum of its terms, outermost loop first, and of a constant; lane l adds l * stride.
struct Linear {
  std::vector<Term> terms;
  int64_t constant = 0;
  Expr stride;    // empty: the same in all lanes
  int lanes = 1;

  Expr base() const;    // of lane 0
  Expr expr() const;    // a ramp where there is a stride
  // The greatest value, if every term has a count.
  std::optional<int64_t> max() const;
};

Linear add(Linear a, const Linear& b);
Linear scaled(Linear a, int64_t factor);
Linear plus(Linear a, int64_t scale, const Expr& index, int64_t count);
Linear plus(Linear a, int64_t constant);
Linear lanes_of(Linear a, int lanes);   // a, a + 1, ...
Linear atom(const Expr& scalar, int64_t count = kAnySign);
// `a` without the terms and the constant of `base`, which `a` extends.
Linear relative(const Linear& a, const Linear& base);
// Is it known not to be negative (in lane 0)?
bool not_negative(const Linear& a);
// Do all terms and the constant divide by `n`?
bool divisible(const Linear& a, int64_t n);

struct Quotient {
  Linear quotient, remainder;
};
// floor(a / n) and a mod n; nothing if they are not linear in the lanes.
std::optional<Quotient> divide(const Linear& a, int64_t n);

int64_t round_up(int64_t n, int64_t to);

}  // namespace pto::lowering
