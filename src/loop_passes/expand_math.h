#pragma once
// Elementary functions become polynomials, operations on halves become f32 with a rounding, and
// products with sums become fma: each expression by itself, before any pass joins expressions, for
// this decides the bits. What is left of products that are added is named, so that a product and a
// sum never stand together again; large operands of several operations are named too.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram expand_math(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
