#pragma once
// The C entry points of libpto_llvm, which the core opens when it must compile (codegen/llvm_open.cpp).
#include <cstddef>

namespace pto {
struct LoopProgram;
struct Target;
}  // namespace pto

extern "C" {

// Compiles `count` programs into one module and gives the result (`output` is an LlvmOutput) to
// `sink`. Returns 0, or 1 with an error message given to `sink` instead.
typedef void (*pto_llvm_sink)(void* user, const char* bytes, size_t size);
__attribute__((visibility("default"))) int pto_llvm_generate(const pto::LoopProgram* programs, size_t count,
                                                             const pto::Target* target, int output,
                                                             pto_llvm_sink sink, void* user);
}
