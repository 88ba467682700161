#include "exec/run_kernel.h"

#include "codegen/codegen.h"
#include "runtime/cpu/pool.h"

namespace pto {

void run_kernel(const LoopProgram& program, pto_kernel code, const std::vector<BufferPtr>& buffers,
                const Sizes& sizes, int workers, std::string* error) {
  std::vector<void*> pointers;
  for (const auto& b : buffers) pointers.push_back(b->data);
  std::vector<int64_t> values;
  for (Symbol s : program.sizes) values.push_back(sizes.at(s));
  const ScratchLayout scratch = scratch_layout(program);
  int32_t failed = 0;
  run_parallel(workers, eval_size(scratch.shared_bytes, sizes), eval_size(scratch.private_bytes, sizes),
               &failed, [&](pto_worker& w) { code(pointers.data(), values.data(), &w); });
  if (failed > 0) *error = program.messages.at(static_cast<size_t>(failed - 1));
}

}  // namespace pto
