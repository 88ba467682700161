#pragma once
// The passes over the tensor graph, in one ordered list (pipeline.cpp). Each is verified with
// PTO_DEBUG, timed, and can be turned off by name.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/node.h"

namespace pto {

struct GraphPass {
  std::string name;
  std::string doc;   // what it does, and why it stands where it stands
  Graph (*run)(const Graph&);
};
const std::vector<GraphPass>& graph_passes();
Graph run_graph_passes(Graph graph, const std::set<std::string>& off = {},
                       const std::function<void(const std::string&, const Graph&)>& after = {});

// graph_passes/fuse.h: which operators form one kernel. Groups are in topological order; a node may
// be in several (cheap producers are recomputed). `because` has a sentence for each decision.
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
