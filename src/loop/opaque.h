#pragma once
// Loop templates: the programs of opaque kernels (tile/opaque.h says what they compute). They share
// their lines, or the positions that they write, among the workers, and never write one place from two.
#include "loop/loop.h"

namespace pto {

// InternalError for an unknown template.
LoopProgram lower_opaque(const Kernel& kernel, const Target& target);

}  // namespace pto
