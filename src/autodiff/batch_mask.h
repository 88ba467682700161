#pragma once
#include "graph/node.h"

namespace pto {

// The mask of the walk that a batching rule is called from (autodiff/batch.h); absent where all count.
const Value& batch_mask();

}  // namespace pto
