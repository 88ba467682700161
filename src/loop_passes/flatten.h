#pragma once
// Buffers become lines of elements: each access has one index, by row-major strides. After it nothing
// asks for shapes but the sizes of blocks.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram flatten(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
