#pragma once
// Compiled kernels, process-wide: equal kernels of equal classes for equal targets are compiled
// once, in whatever program they occur.
#include "codegen/codegen.h"
#include "exec/executable.h"
#include "runtime/cpu/abi.h"

namespace pto {

struct CompiledKernel {
  std::shared_ptr<LoadedObject> object;
  pto_kernel run = nullptr;
  Size shared_bytes, private_bytes;      // over the kernel's sizes
  bool parallel = false;
  std::vector<std::string> messages;     // of checks
};
using CompiledPtr = std::shared_ptr<const CompiledKernel>;

// What is compiled: a kernel for a class or with a fixed schedule, or a loop program.
struct KernelSource {
  const Kernel* kernel = nullptr;
  const Schedule* schedule = nullptr;
  std::string size_class;
  const LoopProgram* loop = nullptr;
};
// The kernel with stages and its schedule, both under the kernel's name.
Scheduled scheduled(const KernelSource& source, const CompileOptions& options);
// Before the loop passes, and after them.
LoopProgram lowered(const KernelSource& source, const CompileOptions& options);
LoopProgram finished(const KernelSource& source, const CompileOptions& options);

// From memory, from disk, or compiled, several at once in threads of their own.
std::vector<CompiledPtr> compile_kernels(const std::vector<KernelSource>& sources,
                                         const CompileOptions& options);

}  // namespace pto
