#pragma once
// Unrolled loops become copies of their bodies, so that registers have constant indices. A loop of so
// many copies that code would explode, and that indexes no register, runs as a serial one.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram unroll(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
