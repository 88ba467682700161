#pragma once
// One form for what can be written in several, so that later passes see fewer cases and more equal
// nodes. Every rule is exact, bit for bit, NaN and signed zeros included. Stands first.
//   reshape(reshape(x)), permute(permute(x)), broadcast(broadcast(x)) become one; what changes nothing
//   goes; negative(negative(x)), bitwise_not(bitwise_not(x)) are x; a cast that loses nothing vanishes
//   into the next; operands of commutative operations stand in the order of the graph, constants last.
#include "graph/node.h"

namespace pto {

Graph canonicalise(const Graph& graph);

}  // namespace pto
