#pragma once
// Which operators form one kernel. Groups are in topological order; a node may be in several (cheap
// producers are recomputed). `because` has a sentence for each decision.
#include <string>
#include <vector>

#include "graph/node.h"

namespace pto {

struct FusionGroup {
  std::vector<NodePtr> nodes;      // in topological order
  Values outputs;                  // values that leave the group
};
struct Fusion {
  std::vector<FusionGroup> groups;
  std::vector<std::string> because;
};
// With `enabled` false every node is a group of its own (the pass "fuse" turned off).
Fusion fuse(const Graph& graph, bool enabled = true);

}  // namespace pto
