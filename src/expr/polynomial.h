#pragma once
// Scalar i64 expressions as sums of products, the form in which sizes and indices are compared. The
// factors are "atoms": whatever is not a sum, difference, product or constant.
#include "expr/size.h"

namespace pto {

struct Term {
  int64_t scale;
  Exprs factors;  // sorted; not empty
};

struct Polynomial {
  std::vector<Term> terms;  // sorted by their factors, which differ; no scale is zero
  int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  // Its only atom if it is one, else an empty expression.
  Expr atom() const;
};

// Multiplies out sums, differences, negations and products of `e`, whose other parts stay as they are.
Polynomial polynomial_of(const Expr& e);
// The positive terms, the constant, the negative terms.
Expr to_expr(const Polynomial& p);

// a + scale * b, wrapping as i64 does.
Polynomial sum(const Polynomial& a, const Polynomial& b, int64_t scale = 1);
Polynomial without(Polynomial p, size_t term);
// All of `p` divided by `n`, which divides it.
Polynomial divided(Polynomial p, int64_t n);

// An order of expressions that is the same in every process.
int compare_structure(const Expr& a, const Expr& b);

Interval bounds(const Polynomial& p, const std::map<Symbol, Interval>& vars = {});

int64_t floor_div(int64_t a, int64_t b);  // b > 0
inline int64_t floor_mod(int64_t a, int64_t b) { return a - b * floor_div(a, b); }

}  // namespace pto
