// Calls of compiled functions: one Entry per trace, which knows whether a call fits it, and runs it.
#include "python/bindings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "api/session.h"
#include "expr/eval.h"
#include "python/executables.h"

namespace pto::python {
namespace {

// The inputs of the graph are the call's tensors, then what the function reads from outside.
struct Entry {
  GraphHandle graph;
  ExecutableHandle executable;
  nb::object captured;            // list of Tensors, read at each call
  std::vector<Symbol> numbers;    // symbols of the call's run-time scalars
  std::vector<bool> floats;       // which of them are floats: the symbol has their bits
  std::vector<bool> negative;     // which are negative ints: the symbol, which is never negative, has -n
  int64_t results = 0;            // outputs that the function returns; the rest is state
  nb::object state;               // list of Tensors that the remaining outputs are assigned to

  bool bind(const std::vector<Value>& values, nb::handle numbers_given, Sizes& sizes) const;
};

bool bind_type(const TensorType& want, const TensorType& got, Sizes& sizes) {
  if (want.dtype != got.dtype || want.shape.size() != got.shape.size()) return false;
  for (size_t d = 0; d < want.shape.size(); d++) {
    const Expr& size = want.shape[d];
    if (!got.shape[d].is_const()) return false;
    const int64_t n = got.shape[d].as_int();
    if (size.is_const()) {
      if (size.as_int() != n) return false;
    } else if (size.is_var()) {
      const auto [it, fresh] = sizes.emplace(size.symbol(), n);
      if (!fresh && it->second != n) return false;
    }
  }
  return true;
}

bool Entry::bind(const std::vector<Value>& values, nb::handle numbers_given, Sizes& sizes) const {
  const auto& inputs = graph.graph->inputs;
  if (values.size() != inputs.size()) return false;
  for (size_t i = 0; i < numbers.size(); i++) {
    nb::handle n = numbers_given[i];
    int64_t bits;
    if (floats[i]) {
      const double v = PyFloat_AsDouble(n.ptr());
      std::memcpy(&bits, &v, sizeof bits);
    } else {
      bits = integer_of(n);
      if ((bits < 0) != negative[i] || bits == std::numeric_limits<int64_t>::min()) return false;
      bits = std::abs(bits);
    }
    sizes[numbers[i]] = bits;
  }
  for (size_t i = 0; i < values.size(); i++)
    if (!bind_type(inputs[i]->outputs()[0], values[i].type(), sizes)) return false;
  EvalEnv env;
  env.var = [&](Symbol name) { return Scalar::from_int(DType::I64, sizes.at(name)); };
  for (const auto& guard : graph.graph->guards)
    if (!eval_scalar(guard, env).to_bool()) return false;
  return true;
}

std::vector<Value> values_of(const Entry& e, nb::handle tensors) {
  std::vector<Value> values;
  for (nb::handle t : tensors) values.push_back(value_of(t));
  for (nb::handle t : e.captured) values.push_back(value_of(t));
  return values;
}

std::vector<BufferPtr> data_of_all(const std::vector<Value>& values) {
  Values pending;
  for (const auto& v : values)
    if (!v.node->has_data()) pending.push_back(v);
  if (!pending.empty()) materialise(pending);
  std::vector<BufferPtr> buffers;
  buffers.reserve(values.size());
  for (const auto& v : values) buffers.push_back(v.node->data(v.index));
  return buffers;
}

// What a traced function read from outside: names in dictionaries (globals, attributes), closure cells,
// and whatever a callable checks. True while everything is as it was.
class Guards {
 public:
  void name(nb::dict where, nb::object key, nb::object expected, bool identity, std::string what) {
    entries_.push_back({where, key, expected, identity ? Identity : Equal, std::move(what)});
  }
  void cell(nb::object where, nb::object expected, bool identity, std::string what) {
    entries_.push_back({where, {}, expected, identity ? CellIdentity : CellEqual, std::move(what)});
  }
  // The dictionary has no such name.
  void absent(nb::dict where, nb::object key, std::string what) {
    entries_.push_back({where, key, {}, Absent, std::move(what)});
  }
  // A class finds this under the name, in itself or its bases.
  void attribute(nb::object type, nb::object key, nb::object expected, bool identity, std::string what) {
    entries_.push_back({type, key, expected, identity ? TypeIdentity : TypeEqual, std::move(what)});
  }
  // The dictionary has as many names as now.
  void length(nb::dict where, std::string what) {
    entries_.push_back({where, nb::none(), nb::int_(nb::len(where)), Length, std::move(what)});
  }
  void call(nb::object check, std::string what) {
    entries_.push_back({check, {}, {}, Call, std::move(what)});
  }
  size_t size() const { return entries_.size(); }

  // The first that changed, or null.
  const std::string* changed() const {
    for (const auto& e : entries_)
      if (!holds(e)) return &e.what;
    return nullptr;
  }

 private:
  enum Kind { Identity, Equal, Absent, CellIdentity, CellEqual, TypeIdentity, TypeEqual, Length, Call };
  struct Guard {
    nb::object where, key, expected;
    Kind kind;
    std::string what;
  };

  static PyObject* found(const Guard& g) {
    switch (g.kind) {
      case CellIdentity:
      case CellEqual: return PyCell_GET(g.where.ptr());
      case TypeIdentity:
      case TypeEqual: return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(g.where.ptr()), g.key.ptr());
      default: return PyDict_GetItemWithError(g.where.ptr(), g.key.ptr());
    }
  }

  static bool holds(const Guard& g) {
    if (g.kind == Call) return nb::cast<bool>(g.where());
    if (g.kind == Length) return PyDict_Size(g.where.ptr()) == PyLong_AsSsize_t(g.expected.ptr());
    PyObject* now = found(g);
    if (now == g.expected.ptr()) return true;
    if (!now || g.kind == Identity || g.kind == Absent || g.kind == CellIdentity || g.kind == TypeIdentity ||
        Py_TYPE(now) != Py_TYPE(g.expected.ptr()))
      return false;
    if (PyFloat_Check(now))  // 0.0 is not -0.0, and NaN is itself
      return std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(now)) ==
             std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(g.expected.ptr()));
    const int equal = PyObject_RichCompareBool(now, g.expected.ptr(), Py_EQ);
    if (equal < 0) throw nb::python_error();
    return equal;
  }
  std::vector<Guard> entries_;
};

// None if the call does not fit this entry.
nb::object call_entry(const Entry& e, nb::handle tensors, nb::handle numbers) {
  const std::vector<Value> values = values_of(e, tensors);
  Sizes sizes;
  if (!e.bind(values, numbers, sizes)) return nb::none();
  std::vector<BufferPtr> outputs;
  {
    const nb::gil_scoped_release release;
    Sizes extra;
    for (const Symbol s : e.numbers) extra[s] = sizes[s];
    outputs = e.executable.executable->run(data_of_all(values), extra);
  }
  nb::list results;
  for (int64_t i = 0; i < e.results; i++) results.append(wrap_outside(make_data(std::move(outputs[i]))));
  int64_t i = e.results;
  for (nb::handle t : e.state) tensor_handle(t).value = make_data(std::move(outputs[i++]));
  return results;
}

}  // namespace

std::vector<BufferPtr> buffers_of(nb::handle tensors) {
  std::vector<Value> values;
  for (nb::handle t : tensors) values.push_back(value_of(t));
  const nb::gil_scoped_release release;
  return data_of_all(values);
}

void bind_calls(nb::module_& m) {
  nb::class_<Guards>(m, "Guards")
      .def(nb::init<>())
      .def("name", &Guards::name, nb::arg("where"), nb::arg("key"), nb::arg("expected").none(),
           nb::arg("identity"), nb::arg("what"))
      .def("cell", &Guards::cell, nb::arg("where"), nb::arg("expected").none(), nb::arg("identity"),
           nb::arg("what"))
      .def("absent", &Guards::absent)
      .def("attribute", &Guards::attribute, nb::arg("type"), nb::arg("key"), nb::arg("expected").none(),
           nb::arg("identity"), nb::arg("what"))
      .def("length", &Guards::length)
      .def("call", &Guards::call)
      .def("__len__", &Guards::size)
      .def("changed", [](const Guards& g) -> nb::object {
        const std::string* what = g.changed();
        return what ? nb::object(nb::str(what->c_str())) : nb::object(nb::none());
      });
  nb::class_<Entry>(m, "Entry")
      .def("__init__",
           [](Entry* e, const GraphHandle& graph, const ExecutableHandle& executable, nb::list captured,
              std::vector<std::string> numbers, std::vector<bool> floats, std::vector<bool> negative,
              int64_t results, nb::list state) {
             new (e) Entry{graph, executable, captured, {}, floats, negative, results, state};
             for (const auto& n : numbers) e->numbers.emplace_back(n);
           })
      .def_ro("graph", &Entry::graph)
      .def_ro("executable", &Entry::executable)
      .def_ro("captured", &Entry::captured)
      // The same trace, run by another executable of its graph.
      .def("with_executable",
           [](const Entry& e, const ExecutableHandle& executable) {
             Entry other = e;
             other.executable = executable;
             return other;
           })
      .def("call", &call_entry)
      // Sizes by symbol for a call that fits, else None.
      .def("sizes", [](const Entry& e, nb::handle tensors, nb::handle numbers) -> nb::object {
        Sizes sizes;
        if (!e.bind(values_of(e, tensors), numbers, sizes)) return nb::none();
        nb::dict d;
        for (const auto& [symbol, n] : sizes) d[symbol.str().c_str()] = n;
        return d;
      });
}

}  // namespace pto::python
