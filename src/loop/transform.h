#pragma once
// How the expressions of loop programs are computed: promote_halves, expand_all_math and form_fma, of
// each expression of a statement by itself. The operands of an fma, which is a step of a contraction,
// are expressions of their own. The result means what it says: transforming it again changes nothing,
// once products that it adds with two roundings have names (loop_passes/expand_math).
#include "expr/expr.h"

namespace pto {

Expr as_computed(const Expr& e);

}  // namespace pto
