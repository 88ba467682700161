#pragma once
// Where gradients are put: one slot for each tensor that requires one, shared by its handles. Graphs know
// nothing of slots; a table knows at which nodes a slot's tapes begin.
#include <memory>
#include <vector>

#include "python/bindings.h"

namespace pto::python {

struct GradientSlot {
  ~GradientSlot();
  nb::object gradient = nb::none();   // a Tensor, or None
  uint64_t trace = 0;                 // in which it was made
  // The tensor's present value, and earlier ones that tapes may still hold, with their addresses.
  std::vector<std::pair<const Node*, std::weak_ptr<Node>>> beginnings;
};

// The tape of what is made from `value` begins there and leads to the slot.
void begin_tape(const std::shared_ptr<GradientSlot>& slot, const Value& value);
// The handle's new value. One at which a tape begins goes on to: what is computed from now on begins at the new
// value, and gradients of what was computed before still come to its slot.
void rebind(TensorHandle& t, Value value, uint64_t trace);
// The tensor's gradient as the current trace knows it, and the new one. A trace notes what gradients from outside
// it reads and sets (TraceHandle::gradients); they are as before when it is left.
nb::object gradient_in(const std::shared_ptr<GradientSlot>& slot);
void set_gradient_in(const std::shared_ptr<GradientSlot>& slot, nb::object gradient);
// The slot of a tape's beginning, or null.
std::shared_ptr<GradientSlot> slot_of(const NodePtr& node);

}  // namespace pto::python
