#pragma once
// Nodes whose elements are known become constants, computed by the interpreter, so that they are what
// running them would mean. Only what is small, of static size, and not as quickly made as read (one
// value in a shape, positions): constants take room in programs. Stands after canonicalise.
#include "graph/node.h"

namespace pto {

Graph fold_constants(const Graph& graph);

}  // namespace pto
