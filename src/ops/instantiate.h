#pragma once
// Graphs as parts of others.
#include "expr/expr.h"
#include "graph/node.h"

namespace pto {

// The results of a graph for operands in place of its inputs, and expressions in place of its size symbols.
Values instantiate(const Graph& graph, const Values& operands, const Substitution& sizes = {});

// The same graph of nodes of its own, on no tape.
Graph copied(const Graph& graph);

}  // namespace pto
