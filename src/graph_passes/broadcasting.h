#pragma once
// Elementwise nodes on operands that only repeat smaller ones are applied to the smaller ones, and the
// result is repeated: a mask made of one row is made once, not for every row. Exact, for elements are
// computed alike. Stands after fold, before cse.
#include "graph/node.h"

namespace pto {

Graph sink_broadcasts(const Graph& graph);

}  // namespace pto
