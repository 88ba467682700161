#pragma once
// Axes that every access walks together become one: rows of [batch, length, d] are batch*length
// rows. The parameters' shapes follow; their memory is the same. It stands before everything else
// in the heuristic, which then sees few axes, long ones.
#include "tile/kernel.h"

namespace pto {

Kernel collapse_axes(const Kernel& kernel);

}  // namespace pto
