#pragma once
// A fusion group becomes the definition of one kernel: every node's row says what its elements are
// (ops/emit.h), and the pull from the group's outputs composes them.
#include "graph_passes/fuse.h"
#include "tile/kernel.h"

namespace pto {

struct FormedKernel {
  Kernel kernel;                                // canonical: params p0.., sizes s0.., axes i0..
  std::vector<std::pair<Symbol, Size>> sizes;   // kernel symbol -> size in the graph's symbols
  Values inputs;                                // in the order of the kernel's input params
  Values outputs;                               // of its output params
};
FormedKernel form_kernel(const FusionGroup& group);

}  // namespace pto
