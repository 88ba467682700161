#pragma once
// Gradients of tensor graphs: walks that apply the rules of the rows (ops/row.h). The answers are graphs like
// any other, so that they can be differentiated again.
#include "graph/node.h"

namespace pto {

// Reverse mode: the cotangents of `wrt`, each of its value's type, for those of the outputs. An absent
// cotangent is zero, in the arguments and in the answer. Values of `wrt` may depend on each other: each
// answer counts all ways to the outputs. pto::Error where a row that is passed has no gradient.
// Nodes for which `is_leaf` holds are taken for constants, whatever led to them, unless they are in `wrt`.
Values vjp(const Values& outputs, const Values& cotangents, const Values& wrt,
           const std::function<bool(const Node&)>& is_leaf = {});

// Forward mode: the tangents of the outputs for those of `wrt` (absent: zero). A cotangent is linear in the
// outputs' cotangents, and transposing that once more gives the tangent.
Values jvp(const Values& outputs, const Values& wrt, const Values& tangents);

}  // namespace pto
