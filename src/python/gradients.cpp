// Gradients of recorded tensors.
#include "autodiff/vjp.h"
#include "python/bindings.h"

namespace pto::python {
namespace {

// Tensors, or None where there is none.
Values optional_values(nb::handle list) {
  Values values;
  for (nb::handle item : list) values.push_back(item.is_none() ? Value() : value_of(item));
  return values;
}

nb::list optional_tensors(const Values& values) {
  nb::list list;
  for (const auto& v : values) list.append(v ? wrap(v) : nb::object(nb::none()));
  return list;
}

}  // namespace

void bind_gradients(nb::module_& m) {
  m.def("vjp", [](nb::handle outputs, nb::handle cotangents, nb::handle wrt) {
    return optional_tensors(vjp(optional_values(outputs), optional_values(cotangents), optional_values(wrt)));
  });
  m.def("jvp", [](nb::handle outputs, nb::handle wrt, nb::handle tangents) {
    return optional_tensors(jvp(optional_values(outputs), optional_values(wrt), optional_values(tangents)));
  });
}

}  // namespace pto::python
