#pragma once
// The order of steps, where it decides how long temporaries live.
#include "exec/program.h"

namespace pto {

// Moves a step to where all its operands are there, if it then frees no less memory than its results take. Other
// steps stay in their order, and so do calls and control flow. Sizes that are not known are taken as 64.
void release_early(Program& program);

// Bytes of every buffer, as far as they are known.
std::vector<int64_t> guessed_bytes(const Program& program);

}  // namespace pto
