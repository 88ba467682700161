#pragma once
// Where a schedule puts everything: the tree with parents, the leaf of each value and store, the
// loop around which a fold begins and ends. What the verifier and the interpreter share.
#include <unordered_map>

#include "schedule/schedule.h"

namespace pto {

struct Placement {
  struct Node {
    const ScheduleNode* node;
    int parent;                 // -1 at the root
    int end;                    // nodes of its subtree are [own number, end)
  };
  std::vector<Node> nodes;      // in text order
  std::unordered_map<Symbol, int> leaf;       // of values that are not inlined, by first component
  std::vector<int> store_leaf;                // per store of the kernel
  std::unordered_map<Symbol, int> inlined;    // first component -> its position in kernel.values

  std::vector<int> path(int n) const;         // enclosing loops, outermost first
  bool encloses(int outer, int inner) const;  // also itself
  // The outermost loop around `n` over one of `axes`; -1 if there is none.
  int outermost(int n, const std::vector<Symbol>& axes) const;
};

// pto::Error unless every value and store is placed as it should be, once.
Placement place(const Kernel& kernel, const Schedule& schedule);

// The values, by position in kernel.values and in their order, that an expression reads.
std::vector<int> values_read(const Kernel& kernel, const Exprs& exprs);
// All expressions of a store.
Exprs expressions(const TileStore& store);
// Of the values read, those that are inlined with all that they need, in dependence order, go to
// `inlined`; the placed ones, direct or through inlined ones, to `placed`.
struct Needs {
  std::vector<int> inlined, placed;
};
Needs needs(const Kernel& kernel, const Placement& placement, const Exprs& exprs);

// The number of chunks of an unrolled loop, at least 1 (a fold over nothing has its identity); -1 if
// it is not constant.
int64_t unrolled_chunks(const Kernel& kernel, const Placement& placement, int loop);

}  // namespace pto
