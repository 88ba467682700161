#pragma once
#include "graph/node.h"

namespace pto {

// What a gradient of `results`, which are pending and on a tape, will read of the graph that leads to them:
// contractions, reductions and the like. What is pointwise over those is computed again.
Values backward_values(const Values& results);

}  // namespace pto
