#pragma once
// Vector loops become statements on lanes: the variable a ramp, conditions masks. A loop whose lanes
// would meet in memory, or that holds what has no lanes (barriers, blocks of memory, vectors), runs as
// a serial one, which is what it means. Bounds are constant.
#include "loop/loop.h"
#include "schedule/target.h"

namespace pto::passes {

LoopProgram vectorise(const LoopProgram& program, const Target& target);

}  // namespace pto::passes
