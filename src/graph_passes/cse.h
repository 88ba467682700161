#pragma once
// Common subexpressions: nodes that apply one row with equal attributes to the same operands become
// one. Stands after folding, which makes more operands the same. Impure foreign calls stay apart;
// random bits are a function of their operands, so equal draws are one draw.
#include "graph/node.h"

namespace pto {

Graph merge_common_nodes(const Graph& graph);

}  // namespace pto
