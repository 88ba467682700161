// Calls of compiled functions: one Entry per trace, which knows whether a call fits it, and runs it.
#include "python/bindings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "api/session.h"
#include "expr/eval.h"
#include "ops/gradient_mode.h"
#include "ops/instantiate.h"
#include "python/executables.h"
#include "python/tape.h"

namespace pto::python {
namespace {

// A gradient from outside that the function reads or sets.
struct EntryGradient {
  enum : int64_t { Same = -2, None = -1 };
  std::shared_ptr<GradientSlot> slot;
  bool none = false;      // before the call
  int64_t after = Same;   // None, or the output that it is after the call
};

// The inputs of the graph are the call's tensors, then what the function reads from outside. The outputs are
// what the function returns, then state and gradients.
struct Entry {
  GraphHandle graph;
  ExecutableHandle executable;
  nb::object captured;            // list of Tensors, read at each call; or None: the present gradient of
  std::vector<std::shared_ptr<GradientSlot>> gradient_of;   // this slot
  std::vector<Symbol> numbers;    // symbols of the call's run-time scalars
  std::vector<bool> floats;       // which of them are floats: the symbol has their bits
  std::vector<bool> negative;     // which are negative ints: the symbol, which is never negative, has -n
  int64_t results = 0;            // outputs that the function returns
  nb::object state;               // list of Tensors that the outputs after them are assigned to
  std::vector<EntryGradient> gradients{};
  std::vector<bool> requires_grad{};   // of the inputs
  std::vector<bool> taped{};           // which outputs need a tape
  bool any_requires = false, any_taped = false;
  bool mode = true, mode_matters = false;   // were gradients recorded, and does it make a difference?

  bool gradients_fit() const {
    return std::all_of(gradients.begin(), gradients.end(),
                       [](const EntryGradient& g) { return g.slot->gradient.is_none() == g.none; });
  }
  bool mode_fits() const { return !(any_requires || mode_matters) || gradients_enabled() == mode; }
  bool tapes_fit(const Values& values) const {
    for (size_t i = 0; i < values.size(); i++)
      if (is_float(values[i].dtype()) && values[i].node->taped() != requires_grad[i]) return false;
    return true;
  }
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
  if (!mode_fits() || !tapes_fit(values)) return false;
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
  size_t i = 0;
  for (nb::handle t : e.captured) {
    const auto& slot = e.gradient_of[i++];
    values.push_back(value_of(slot ? nb::handle(slot->gradient) : t));
  }
  return values;
}

// Why a call does not fit for reasons of gradients; "" if there is none.
std::string misfit(const Entry& e, nb::handle tensors) {
  if (!e.gradients_fit()) return "a gradient is there that was not, or is gone";
  if (!e.mode_fits()) return "gradients are recorded now, or no longer";
  if (!e.tapes_fit(values_of(e, tensors))) return "other tensors require gradients";
  return "";
}

Substitution constants(const Sizes& sizes) {
  Substitution all;
  for (const auto& [symbol, n] : sizes) all.emplace(symbol, Expr(n));
  return all;
}

// A node with the outputs of a call as its data, through which gradients pass to the operands.
NodePtr call_node(const Entry& e, const Values& operands, const Sizes& sizes,
                  std::vector<BufferPtr> outputs) {
  std::vector<TensorType> types;
  for (const auto& b : outputs) {
    TensorType type{b->dtype, {}};
    for (const int64_t n : b->shape) type.shape.emplace_back(n);
    types.push_back(std::move(type));
  }
  const OpRow& data = row("data");
  const auto node =
      std::make_shared<Node>(&data, default_attrs(data), operands, std::move(types), current_loc());
  node->tape();
  node->set_data(std::move(outputs));
  node->set_expansion([graph = e.graph.graph, sizes = constants(sizes)](const Values& x) {
    return instantiate(*graph, x, sizes);
  });
  return node;
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

// What is not on a tape is computed. What is becomes part of a step that is recorded; else its node knows how to
// become a graph when a gradient passes it.
Values outputs_of(const Entry& e, const Values& operands, const Sizes& sizes) {
  const bool effects = e.graph.graph->outputs.size() > e.taped.size();
  if (e.any_taped && step_is_recorded() && !effects)
    return instantiate(*e.graph.graph, operands, constants(sizes));
  std::vector<BufferPtr> buffers;
  {
    const nb::gil_scoped_release release;
    Sizes extra;
    for (const Symbol s : e.numbers) extra[s] = sizes.at(s);
    buffers = e.executable.executable->run(data_of_all(operands), extra);
  }
  Values outputs;
  if (!e.any_taped) {
    for (auto& b : buffers) outputs.push_back(make_data(std::move(b)));
    return outputs;
  }
  outputs = results_of(call_node(e, operands, sizes, buffers));
  for (size_t i = 0; i < e.taped.size(); i++)
    if (!e.taped[i]) outputs[i] = make_data(buffers[i]);
  return outputs;
}

// None if the call does not fit this entry.
nb::object call_entry(const Entry& e, nb::handle tensors, nb::handle numbers) {
  if (!e.gradients_fit()) return nb::none();
  const std::vector<Value> values = values_of(e, tensors);
  Sizes sizes;
  if (!e.bind(values, numbers, sizes)) return nb::none();
  const Values outputs = outputs_of(e, values, sizes);
  nb::list results;
  int64_t next = 0;
  while (next < e.results) results.append(wrap_outside(outputs[next++]));
  for (nb::handle t : e.state) {
    TensorHandle& handle = tensor_handle(t);
    rebind(handle, outputs[next++], handle.trace);
  }
  for (const auto& g : e.gradients) {
    if (g.after == EntryGradient::None)
      g.slot->gradient = nb::none();
    else if (g.after >= 0 && g.none)
      g.slot->gradient = wrap_outside(outputs[g.after]);
    else if (g.after >= 0)
      tensor_handle(g.slot->gradient).value = outputs[g.after];
  }
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
           [](Entry* e, const TraceHandle& trace, const GraphHandle& graph,
              const ExecutableHandle& executable, nb::list captured, std::vector<std::string> numbers,
              std::vector<bool> floats, std::vector<bool> negative, int64_t results, nb::list state,
              std::vector<bool> taped, std::vector<int64_t> gradients, bool mode, bool mode_matters) {
             new (e) Entry{graph, executable, captured, {}, {}, floats, negative, results, state};
             for (const auto& n : numbers) e->numbers.emplace_back(n);
             for (nb::handle t : captured) {
               const auto met = std::find_if(trace.gradients.begin(), trace.gradients.end(),
                                             [&](const MetGradient& g) { return g.before.is(t); });
               e->gradient_of.push_back(met == trace.gradients.end() ? nullptr : met->slot);
             }
             for (size_t i = 0; i < gradients.size(); i++)
               e->gradients.push_back(
                   {trace.gradients[i].slot, trace.gradients[i].before.is_none(), gradients[i]});
             for (const auto& input : trace.inputs) {
               e->requires_grad.push_back(input->taped());
               e->any_requires |= input->taped();
             }
             e->taped = std::move(taped);
             e->any_taped = std::find(e->taped.begin(), e->taped.end(), true) != e->taped.end();
             e->mode = mode;
             e->mode_matters = mode_matters;
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
      .def("misfit", &misfit)
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
