#pragma once
// Batching: a graph over a new leading axis, by the batching rules of the rows.
#include "graph/node.h"

namespace pto {

struct Batched {
  Values values;
  std::vector<bool> batched;   // which of them have the new leading axis
};

// What `outputs` are with `operands` in place of the variables (nodes of the row "input"), some of which have
// a new leading axis of size `size`. What depends on none of these is computed once, except that random bits
// differ over the batch. `mask`, a bool for each element of the batch, says whose values count (those that took
// a branch): for the others no index raises an error, and no loop runs.
Batched batch(const Values& outputs, const Values& variables, const Batched& operands, const Size& size,
              const Value& mask = {});

}  // namespace pto
