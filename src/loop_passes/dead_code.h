#pragma once
// Drops lets that nothing uses, buffers that are never read with the stores to them, and what is empty
// then. It stands last, after what makes names superfluous.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram dead_code(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
