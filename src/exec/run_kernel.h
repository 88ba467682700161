#pragma once
// One compiled kernel outside of a program, on buffers that fit its parameters: to compare and to test.
#include "base/buffer.h"
#include "loop/loop.h"
#include "runtime/cpu/abi.h"

namespace pto {

// `error` receives the message of the first check that failed; it is left alone if none did.
void run_kernel(const LoopProgram& program, pto_kernel code, const std::vector<BufferPtr>& buffers,
                const Sizes& sizes, int workers, std::string* error);

}  // namespace pto
