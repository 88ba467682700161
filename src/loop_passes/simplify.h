#pragma once
// Constants are folded, and integers simplified exactly. Names of constants and of names go away,
// conditions that are known decide, masks of all lanes are no masks, a loop of one iteration is its body.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram simplify(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
