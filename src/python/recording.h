#pragma once
// Training steps (pypto.record): what is pending when one is over is computed in one program.
#include <unordered_set>

#include "python/bindings.h"

namespace pto::python {

// Of a thread that has recorded a step: the handles to what it has made since the last step. Guarded by the GIL.
struct Recording {
  std::unordered_set<TensorHandle*> live;
  int blocks = 0;  // `with record()` that are entered
  bool stepped = false;  // the present step is over
};

// Lists a handle to a pending value in this thread's recording, if there is one.
void note_pending(TensorHandle& handle);

}  // namespace pto::python
