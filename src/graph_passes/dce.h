#pragma once
// Dead results. Nodes that no output needs are not part of a graph; what remains to be dropped are
// results of control rows that nothing uses: results of branches, stacked results of scans, and state
// that only feeds itself, with the operands and the nodes in the nested graphs that they alone need.
#include "graph/node.h"

namespace pto {

Graph drop_dead_results(const Graph& graph);

}  // namespace pto
