#pragma once
// A program's text at any level, for actual sizes.
#include "exec/executable.h"

namespace pto {

// "tile", "schedule", "loop", "loop.lowered" and "exec" (with the memory plan) give programs that parse
// back and run with the same bits; "c", "llvm" and "asm" the code of all kernels. pto::Error for another level.
std::string listing(const Program& program, const std::string& level, const Sizes& sizes,
                    const CompileOptions& options);

}  // namespace pto
