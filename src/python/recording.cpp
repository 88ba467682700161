#include "python/recording.h"

#include "api/session.h"

namespace pto::python {
namespace {

thread_local std::shared_ptr<Recording> t_recording;

void enter() {
  if (!t_recording) t_recording = std::make_shared<Recording>();
  t_recording->blocks++;
  t_recording->stepped = false;
  record_step(true);
}

void leave() {
  Recording& r = *t_recording;
  // What follows the block up to the optimiser's step belongs to the step.
  if (--r.blocks == 0 && r.stepped) record_step(false);
}

// Computes the tensors; with them, at the end of a recorded step, whatever else is pending that a handle has.
void finish_step(nb::handle tensors) {
  Values values;
  for (nb::handle t : tensors) values.push_back(value_of(t));
  const bool recorded = step_is_recorded();
  if (t_recording) {
    for (TensorHandle* handle : t_recording->live)
      if (!handle->value.node->has_data()) values.push_back(handle->value);
  }
  {
    const nb::gil_scoped_release release;
    materialise(values);
  }
  if (!t_recording) return;
  for (TensorHandle* handle : t_recording->live) handle->recording.reset();
  t_recording->live.clear();
  t_recording->stepped = true;
  if (recorded && t_recording->blocks == 0) record_step(false);
}

}  // namespace

void note_pending(TensorHandle& handle) {
  if (!t_recording || handle.value.node->has_data() || handle.recording) return;
  handle.recording = t_recording;
  t_recording->live.insert(&handle);
}

TensorHandle::~TensorHandle() {
  if (recording) recording->live.erase(this);
}

void bind_recording(nb::module_& m) {
  m.def("enter_record", &enter);
  m.def("leave_record", &leave);
  m.def("finish_step", &finish_step);
}

}  // namespace pto::python
