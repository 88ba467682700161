#pragma once
// Gives every loop, let and alloc a name of its own. Passes that move statements and expressions begin
// with it, so that they need not ask what a name means where.
#include "loop/loop.h"

namespace pto::passes {

LoopProgram unique_names(const LoopProgram& program);

}  // namespace pto::passes
