#pragma once
// What operations cost.
#include "expr/expr.h"

namespace pto {

// Does it take much longer than a product: an elementary function, a root, a division of floats? Indices
// divide integers.
inline bool is_costly_op(const Expr& e) {
  if (is_math(e.op()) || e.op() == Op::Sqrt) return true;
  const bool divides = e.op() == Op::Div || e.op() == Op::FloorDiv || e.op() == Op::Mod;
  return divides && is_float(e.type());
}

}  // namespace pto
