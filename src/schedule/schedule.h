#pragma once
// The tile level, second half: how a kernel runs, as a tree of loops over the kernel's axes with
// values and stores placed in it. Text that a person can read, edit and run.
//
//   schedule mlp_up on x86.avx512 for "rows>8" {      # `for "..."`: the size class, if any
//     parallel j/32 {                 # nests run one after the other
//       for k { vector j/16 { wp } }
//     }
//     parallel i/84 {
//       for j/32 {
//         for i/14 {
//           for k { unroll i { unroll j/16 { vector j/16 { t } } } }
//           unroll i { vector j/16 { store y } }
//         }
//       }
//     }
//     layout wp [j/32, k, j%32]
//     inline u
//     because "..."
//   }
//
// Meaning. At each point of the tree every axis has a current tile: at the root its whole extent. A
// loop `kind axis/step` walks the axis's current tile in chunks of `step` (written `kind axis` for
// step 1), and the chunk is the current tile inside. The last chunk may be short. A leaf lists
// values and `store param`s; all the axes that they use must be bound there to one index (step 1)
// or to the lanes of one `vector` loop.
//   - Every value that is not `inline` stands in exactly one leaf, after the leaves of the values it
//     uses; every store stands in exactly one leaf. An `inline` map is recomputed at each use.
//   - A reduce or contract leaf performs one step of the fold. Its identity is set just before, and
//     the lanes and unrolled parts are combined just after, the outermost enclosing loop over one of
//     its folded axes. Users of the value stand after that loop. A scan's leaf stands in a serial
//     loop over its axis, in order.
//   - Order of a fold, which fixes its bits: serial chunks ascend and accumulate in place; each
//     unrolled part and each lane of a vector loop over a folded axis has its own accumulator
//     (`vector j/16 x4`: 64 accumulators), which starts from the identity; afterwards the parts, then
//     the lanes, combine by HReduce's tree (eval_hreduce), the lower position as the monoid's `a`. The
//     parts form one list: the outermost unrolled loop varies slowest, a vector loop's x U varies
//     fastest. Short chunks leave the missing parts' and lanes' accumulators as they were. A step is
//     combine(accumulator, body), of a contract fma(lhs, rhs, accumulator) where floating.
//     Inside the outermost loop over a folded axis, every other enclosing loop of the leaf is over one
//     of the value's axes.
//   - Serial loops over a scan's axis that enclose its leaf walk chunks and positions from the last to
//     the first if the scan is reversed.
//   - Expressions are transformed (promote_halves, expand_all_math, form_fma) one by one: a body, each
//     factor of a contract, each component of a monoid's combine, a store's value, each of its indices,
//     its predicate, a check's condition. They are not merged:
//     an inline value is computed by its own body, once a point, and used by name.
//   - Checks are not placed: lowering evaluates each at all points of its axes, before or after what
//     it guards.
//   - Storage of a placed value stands at the innermost node that encloses its identity and all its
//     users. It holds the part of each of its axes that is not bound to one index there: the current
//     tile's step, or the extent. Outside every parallel loop it is shared by the workers, and nests
//     that write and then read it are separated by a barrier; inside, it is private. Its layout is
//     row-major in the value's axes, or as `layout` says: a list of axis, axis/c, axis%c, rounded up
//     to whole tiles. Positions beyond an axis's end hold unspecified values and are never stored
//     to a parameter nor folded.
//   - `parallel` loops stand at the root or are all that an enclosing parallel loop holds; these form
//     one parallel space. How it is cut changes no bits. They may not be over a folded axis of a value
//     placed inside them, nor carry a scan; what is stored outside them has their axes.
//   - `vector axis/w` executes its body, which is leaves only, for w lanes at once; all that stands
//     there has its axis. x U unrolls U chunks. What an `unroll` walks has a constant size.
//   - The loops over a scan's axis are serial.
//   - Where a kernel has several stores to a parameter, the n-th `store y` of the text is the n-th.
//   - `clip` after a loop: its short last chunk runs the same code with loads clamped and stores
//     masked. Without it the full chunks run free of masks and the last one has code of its own.
#include <memory>
#include <string>
#include <vector>

#include "schedule/target.h"
#include "tile/kernel.h"

namespace pto {

enum class LoopKind : uint8_t { Serial, Parallel, Unrolled, Vector };

struct ScheduleNode;
using ScheduleNodes = std::vector<std::shared_ptr<ScheduleNode>>;

struct Placed {
  Symbol name;        // a value's first component, or an output parameter
  bool store = false;
};

struct ScheduleNode {
  // A leaf if `leaf` is not empty, else a loop.
  std::vector<Placed> leaf;
  LoopKind kind = LoopKind::Serial;
  Symbol axis;
  int64_t step = 1;
  int unroll = 1;      // Vector: chunks per iteration (x U)
  bool clip = false;
  ScheduleNodes body;
};

struct LayoutDim {
  enum Kind { Whole, Outer, Inner } kind = Whole;  // axis, axis/block, axis%block
  Symbol axis;
  int64_t block = 1;
};

struct Schedule {
  Symbol kernel;
  std::string target;                    // "x86.avx512"
  std::string size_class;                // "" or the class it was made for: "rows<=16"
  ScheduleNodes roots;
  std::vector<Symbol> inlined;
  std::vector<std::pair<Symbol, std::vector<LayoutDim>>> layouts;
  std::vector<std::string> because;
};

std::string to_text(const Schedule& schedule);
Schedule parse_schedule(Lexer& in);
// Refuses a wrong schedule with a pto::Error that gives the reason: a value used before it is
// computed, an axis not bound, a parallel axis that carries a dependence, a stage that does not fit.
void verify(const Kernel& kernel, const Schedule& schedule, const Target& target);
// Walks the tree, slowly, in the schedule's own order: the bits that lowering must reproduce.
void interpret(const Kernel& kernel, const Schedule& schedule, const std::vector<BufferPtr>& buffers,
               const Sizes& sizes, std::string* error = nullptr);

// schedule/heuristic.cpp. A size class is a function of the actual sizes alone: the names of the facts
// that hold, "rows<=8". The schedule is a function of the kernel, the class and the target. Facts
// that static sizes decide are not listed; a kernel without facts has the one class "".
struct SizeFact {
  std::string name;
  Expr condition;      // bool, over the kernel's size symbols
};
std::vector<SizeFact> size_facts(const Kernel& kernel, const Target& target);
std::string size_class(const std::vector<SizeFact>& facts, const Sizes& sizes);
std::string size_class(const Kernel& kernel, const Sizes& sizes, const Target& target);
struct Scheduled {
  Kernel kernel;       // the definition, with stages (packed copies, split reductions) added as values
  Schedule schedule;
};
Scheduled make_schedule(const Kernel& kernel, const std::string& size_class, const Target& target);

}  // namespace pto
