#include "python/bindings.h"

#include <nanobind/stl/string.h>

NB_MODULE(_core, m) {
  using namespace pto::python;
  m.doc() = "The compiler's core; the public interface is the package pypto.";
  nanobind::set_leak_warnings(false);   // classes and hooks live as long as the process
  bind_errors(m);
  bind_values(m);
  bind_tables(m);
  bind_exchange(m);
  bind_graphs(m);
  bind_exec(m);
  bind_calls(m);
  bind_gradients(m);
  bind_tape(m);
  bind_recording(m);
}
