#pragma once
// Exact simplification of expressions of loop programs, for all values of their variables: integers
// wrap, so that sums and products of them may be reordered; floating operations are only folded
// where all operands are constant.
#include "expr/expr.h"

namespace pto::passes {

// One node whose operands are simplified: constants, neutral elements, ramps of sums.
Expr fold_node(const Expr& e);
// All nodes, and sums of integers in a normal form: each term once, the constant last.
Expr fold(const Expr& e);

// A sum of i64 scalars: terms with factors, and a constant.
struct Sum {
  std::vector<std::pair<Expr, int64_t>> terms;  // in order of appearance
  int64_t constant = 0;
};
Sum sum_of(const Expr& e);
Expr sum_expr(const Sum& s);

// The value that all lanes have, if it is a constant.
const ExprNode* lanes_constant(const Expr& e);
bool always(const Expr& condition, bool value);

}  // namespace pto::passes
