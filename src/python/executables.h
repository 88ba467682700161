#pragma once
#include <memory>
#include <vector>

#include "exec/executable.h"
#include "python/graphs.h"

namespace pto::python {

struct ExecutableHandle {
  std::shared_ptr<Executable> executable;
};

// The tensors' data, computed where needed, all together.
std::vector<BufferPtr> buffers_of(nb::handle tensors);

}  // namespace pto::python
