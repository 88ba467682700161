#pragma once
// PTO_DEBUG=compare: a program at all levels on the inputs of a run, slowly, by the interpreters. Levels agree
//   - tensor graphs after each pass, and the kernels made of the last one: within an error bound;
//   - a kernel's definition and its schedule: within the bound;
//   - the schedule, the loop program after each pass, and machine code with one worker and with all: bit for
//     bit (NaNs are equal).
// Each kernel is given what the graph computes for its operands, so that errors do not add up. The first
// that does not agree is an InternalError in the name of the pass; the message names kernel, value and
// element. Where the definition raises the user's error, so must the others. Foreign functions are called often.
#include "exec/kernel_cache.h"
#include "graph_passes/pipeline.h"
#include "loop_passes/pipeline.h"

namespace pto {

// The passes that are compared, for those who would put a fault among them.
struct ComparedPasses {
  std::vector<GraphPass> graph = graph_passes();
  std::function<Program(const Graph&, const CompileOptions&, Places*)> build = build_program;
  std::function<Scheduled(const KernelSource&, const CompileOptions&)> schedule = scheduled;
  std::function<LoopProgram(const Kernel&, const Schedule&, const Target&)> lower = pto::lower;
  std::vector<LoopPass> loop = loop_passes();
  std::function<std::string(const std::vector<LoopProgram>&, const Target&, LlvmOutput)> generate =
      llvm_generate;
};

void compare_levels(const Graph& graph, const std::vector<BufferPtr>& inputs, const Sizes& extra,
                    const CompileOptions& options, const ComparedPasses& passes = {});
// From the tile level (or that of the program's text) down.
void compare_levels(const Program& program, const std::vector<BufferPtr>& inputs, const Sizes& extra,
                    const CompileOptions& options, const ComparedPasses& passes = {});

}  // namespace pto
