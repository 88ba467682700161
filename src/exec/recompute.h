#pragma once
// Values that are cheap to compute are computed again for a late use, where memory is short in between.
#include "exec/program.h"

namespace pto {

// Adds a second launch of a pointwise kernel before a use of its result that comes long after the one before, if
// the result would be kept over the step at which most memory is in use, and its operands are alive there anyway.
// Elements are the same bits. Sizes that are not known are taken as 64.
void recompute_cheap(Program& program);

}  // namespace pto
