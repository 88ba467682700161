#pragma once
// The execution graph: steps over buffers, with kernels by name. The text of a whole program holds
// its kernels at the tile level (definition, and schedules if they are fixed) or at the loop level;
// any of these texts parses back and runs.
//
//   program main[B] {
//     input x: f32[B, 64]
//     constant c0: f32[2] = data "3f800000..."
//     temp t0: f32[B, 32]
//     output y: f32[B, 32]
//     guard B % 2 == 0
//     launch k0[s0 = B](x, w) -> (t0)         @ "model.py:3 (Block.forward / softmax)"
//     copy (t0) -> (y)
//     foreign {name = "f", ...}(x) -> (t1)
//     cond(p, x) -> (t2) {
//       program then[B] { ... }
//       program else[B] { ... }
//     }
//     while(s, x) -> (t3) { program condition ... program body ... }
//     scan[carries = 1, sequences = 1, length = B](c, xs) -> (t4, t5) { program body ... }
//     because "..."
//     plan[B = 4] {                  # where temporaries lie for these sizes
//       peak 2688 = inputs 1024 + outputs 512 + constants 64 + arena 1088
//       t0: 512 bytes at 0
//       t1: 576 bytes at 512
//       step 3: 128 bytes at 0       # a control step's workspace; steps count from 0
//     }
//   }
//   kernel k0(...) -> (...) { ... }
//   schedule k0 on x86.avx512 { ... }
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/node.h"
#include "loop/loop.h"
#include "schedule/schedule.h"
#include "tile/kernel.h"

namespace pto {

enum class BufferKind : uint8_t { Input, Constant, Temp, Output };

struct ProgramBuffer {
  Symbol name;
  BufferKind kind;
  DType dtype;
  Shape shape;
  BufferPtr constant;
};

enum class StepKind : uint8_t { Launch, Copy, Foreign, Cond, While, Scan };

struct Program;
using ProgramPtr = std::shared_ptr<const Program>;

// Operands name buffers by position in Program::buffers. A launch and the programs of control steps
// take their operands for what their own parameters say, so that a reshape is a name for the same
// buffer; foreign calls see the buffer's shape. No step writes to an input or a constant, nor reads
// what it writes; every temp and output is written before it is read.
struct Step {
  StepKind kind;
  Symbol kernel;                      // Launch
  std::vector<std::pair<Symbol, Size>> sizes;  // Launch: the kernel's symbols
  std::vector<int> inputs, outputs;
  // As the rows of ops/control.h: Cond: [then, else], first input is the predicate. While:
  // [condition, body], inputs are the initial state (as many as outputs), then constants. Scan: [body],
  // inputs are the initial carries, the sequences, then constants.
  std::vector<ProgramPtr> programs;
  AttrsPtr attrs;                     // Foreign: ForeignAttrs. Scan: ScanLoopAttrs without the body
  Loc loc;
  std::vector<Loc> check_locs;        // Launch: where each of the kernel's checks comes from
};

// exec/memory_plan.cpp: offsets of temps in one arena for actual sizes. Temps that are never alive at
// the same step may share memory. A control step has a workspace, alive during the step: for the
// temps of its programs, and for state that alternates between two places.
struct MemoryPlan {
  int64_t arena_bytes = 0;
  int64_t input_bytes = 0, output_bytes = 0, constant_bytes = 0;
  std::vector<int64_t> offsets;          // per buffer; -1 if it is not in the arena
  std::vector<int64_t> workspaces;       // per step; -1 if it needs none
  int64_t peak_bytes() const { return arena_bytes + input_bytes + output_bytes + constant_bytes; }
};
// A plan that a program's text gives. `sizes` are those on which shapes depend.
struct FixedPlan {
  Sizes sizes;
  MemoryPlan plan;
};

// The programs of control steps share the sizes, kernels, schedules and loops of the outermost one,
// and hold no kernels and no guards of their own.
struct Program {
  std::string name = "main";
  std::vector<Symbol>
      sizes;   // all that occur; those that shapes of inputs do not bind are given by the caller
  std::vector<ProgramBuffer> buffers;
  std::vector<int> inputs, outputs;   // positions in `buffers`, in the order of the call
  std::vector<Step> steps;
  Exprs guards;
  std::map<Symbol, Kernel> kernels;
  // Fixed by the text or by with_schedule; otherwise made by the heuristic at first launch.
  std::map<Symbol, std::vector<Schedule>> schedules;
  std::map<Symbol, LoopProgram> loops;   // a kernel given as a loop program (not in `kernels` then)
  std::vector<FixedPlan> plans;  // for their sizes in place of the planner's; programs of steps have theirs
  std::vector<std::string> because;  // fusion decisions: what was fused, what not, and why
};

std::string to_text(const Program& program);
Program parse_program(std::string_view text);
void verify(const Program& program, std::string_view where);
// Runs steps in order with the interpreters of the kernels' level.
// `extra` gives the sizes that shapes do not bind.
std::vector<BufferPtr> interpret(const Program& program, const std::vector<BufferPtr>& inputs,
                                 const Sizes& extra = {});

// exec/bind.cpp: checks the inputs and finds the sizes; pto::Error that names the input at fault.
Sizes bind_sizes(const Program& program, const std::vector<BufferPtr>& inputs, const Sizes& extra = {});
void check_guards(const Program& program, const Sizes& sizes);

// What the operands and results of a step are taken as by its kernel, its programs or its function, over
// the sizes of the program; a buffer may occur more than once. Other shapes have as many elements.
struct Taken {
  int buffer;
  TensorType type;
};
std::vector<Taken> taken_types(const Program& root, const Program& program, const Step& step);
// The sizes of a step, without those of the programs in it; of a launch, with the kernel's symbols.
void for_each_size(const Step& step, const std::function<void(const Size&, Symbol)>& f);

// Bound symbols of a launch: the kernel's, from the program's.
Sizes launch_sizes(const Step& step, const Sizes& sizes);

// The plan that the program gives for these sizes, else one made by first fit.
MemoryPlan plan_memory(const Program& program, const Sizes& sizes);
// The program with the plans for these sizes, its own and those of the programs of its steps.
Program with_plans(Program program, const Sizes& sizes);
std::vector<Symbol> plan_symbols(const Program& program);  // on which its memory depends
int64_t placed_bytes(const ProgramBuffer& buffer, const Sizes& sizes);  // in an arena
// What is wrong with a plan, in words; empty if nothing is.
std::string fault_of(const Program& program, const FixedPlan& plan);
// How the workspace of a control step is laid out.
struct Workspace {
  int64_t bytes = 0;
  int64_t arena = 0;  // where the temps of its programs begin
  int64_t condition = -1;  // While: where the condition's result stands
  std::vector<int64_t> state;  // While, Scan: the second place of each carried value
};
Workspace plan_workspace(const Program& program, const Step& step, const Sizes& sizes);

}  // namespace pto
