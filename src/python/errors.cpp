// The core's exceptions as Python's, fields included.
#include "python/bindings.h"

#include <nanobind/stl/string.h>

namespace pto::python {
namespace {

nb::object text_or_none(const std::string& text) {
  return text.empty() ? nb::object(nb::none()) : nb::object(nb::str(text.c_str(), text.size()));
}

nb::object user_error(const Error& e) {
  const ErrorInfo& info = e.info();
  nb::list operands;
  for (const auto& o : info.operands) operands.append(nb::str(o.c_str()));
  const LocInfo& loc = info.loc.info();
  return hooks().error_class(
      nb::str(info.message.c_str()), nb::arg("op") = text_or_none(info.op),
      nb::arg("expected") = text_or_none(info.expected), nb::arg("got") = text_or_none(info.got),
      nb::arg("operands") = nb::tuple(operands), nb::arg("label") = text_or_none(info.label),
      nb::arg("file") = text_or_none(loc.file),
      nb::arg("line") = info.loc.known() ? nb::object(nb::int_(loc.line)) : nb::object(nb::none()),
      nb::arg("columns") = nb::make_tuple(loc.column, loc.end_column),
      nb::arg("path") = text_or_none(loc.path));
}

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const Error& e) {
    nb::object error = user_error(e);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (const InternalError& e) {
    nb::object error = hooks().internal_error(nb::str(e.what()), nb::str(e.where().c_str()),
                                              nb::str(e.reproducer().c_str()), nb::str(e.file().c_str()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  nb::register_exception_translator(translate);
  m.def("size_hints", [] {
    nb::dict d;
    for (const auto& [symbol, value] : size_context().hints) d[nb::str(symbol.str().c_str())] = value;
    return d;
  });
}

}  // namespace pto::python
