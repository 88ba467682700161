#pragma once
// Elementary functions as expressions over plain arithmetic, so that they vectorise and fuse on
// every target and give the same bits everywhere. Each expansion states its error bound.
#include "expr/expr.h"

namespace pto {

// The expansion of one `math` node (operands stay as they are). f32 and f64 have their own
// polynomials; halves compute in f32.
Expr expand_math(const Expr& e);
// Rebuilds `e` with every `math` node expanded.
Expr expand_all_math(const Expr& e);
// Rebuilds a*b + c and a*b - c (float, the product used once) as fma; the only place where
// multiplications and additions are fused.
Expr form_fma(const Expr& e);
// Rebuilds operations on f16 and bf16 as f32 operations followed by a cast (as they mean); hreduce stays.
Expr promote_halves(const Expr& e);

}  // namespace pto
