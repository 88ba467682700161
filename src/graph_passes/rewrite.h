#pragma once
// The walk that the passes share: a graph is rebuilt in topological order, iteratively, and what a
// pass leaves alone stays the same node.
#include <functional>
#include <unordered_map>

#include "graph/node.h"

namespace pto {

// What stands for a node's results: nothing (the node stays, with its operands replaced), or one
// value per result, of the same types.
using RewriteRule = std::function<Values(const NodePtr& node, const Values& operands)>;

Graph rewrite(const Graph& graph, const RewriteRule& rule);

bool is_row(const Value& value, std::string_view row);
bool is_pure(const Node& node);   // equal nodes have equal results, and unused ones may be dropped

}  // namespace pto
