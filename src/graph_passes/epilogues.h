#pragma once
// What follows a contraction point by point, and should be computed where its result still is in
// registers: found forward, before kernels are formed backward.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/node.h"

namespace pto {

// Has its elements already: nothing computes it.
bool is_source(const Node& node);
// Takes whole tensors, and is no kernel over elements.
bool takes_whole(const Node& node);

struct GraphUses {
  std::vector<NodePtr> order;
  std::unordered_map<const Node*, int> position;
  std::vector<std::vector<int>> users;      // once per use
  std::vector<bool> leaves;                 // a result leaves the graph, or is needed whole
  explicit GraphUses(const Graph& graph);
};

struct Epilogues {
  std::vector<bool> ends;      // the last node of an epilogue: its result is stored
  std::vector<bool> inside;    // between a contraction and such an end
};
Epilogues find_epilogues(const GraphUses& uses);

}  // namespace pto
