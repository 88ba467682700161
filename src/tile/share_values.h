#pragma once
// Expressions that several bodies read, and those that a body would compute again at every point of
// an axis on which they do not depend, become maps of their own. What no schedule stores is inlined
// again, so that nothing is lost by a name.
#include "tile/kernel.h"

namespace pto {

void share_values(Kernel& kernel);

}  // namespace pto
