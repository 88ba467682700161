#pragma once
// Integer arithmetic that is the same in all iterations of a loop is named before it, once for all its
// uses; sums are regrouped for it, the outermost loops' terms first. Floating operations stay where they
// are: lowering placed them.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram hoist(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
