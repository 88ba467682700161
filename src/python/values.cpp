// Conversions between Python objects and the core's: tensors, sizes, dtypes, arguments.
#include "python/bindings.h"
#include "python/recording.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "expr/eval.h"

namespace pto::python {
namespace {

thread_local uint64_t t_trace = 0;

// Kept for the process: at exit, Python is gone before statics are.
Hooks* g_hooks = new Hooks();

bool is_instance(nb::handle h, const nb::object& type) {
  return type.is_valid() && PyType_IsSubtype(Py_TYPE(h.ptr()), reinterpret_cast<PyTypeObject*>(type.ptr()));
}

[[noreturn]] void type_error(const std::string& message, nb::handle got) {
  const std::string text = message + ", not " + Py_TYPE(got.ptr())->tp_name;
  throw nb::type_error(text.c_str());
}

// An integer that uint64 alone holds.
std::optional<Scalar> large_integer(nb::handle h) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(h.ptr(), &overflow);
  if (overflow <= 0) return std::nullopt;
  const unsigned long long v = PyLong_AsUnsignedLongLong(h.ptr());
  if (!PyErr_Occurred()) return Scalar{DType::U64, v};
  PyErr_Clear();
  return std::nullopt;
}

bool is_sequence(nb::handle h) { return PyList_Check(h.ptr()) || PyTuple_Check(h.ptr()); }

}  // namespace

int64_t integer_of(nb::handle h) {
  const long long v = PyLong_AsLongLong(h.ptr());
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw Error({.op = "integer",
                 .message = "the number does not fit in 64 bits",
                 .got = nb::cast<std::string>(nb::str(h)),
                 .loc = caller_loc()});
  }
  return v;
}

Hooks& hooks() { return *g_hooks; }
uint64_t current_trace() { return t_trace; }
void set_current_trace(uint64_t trace) { t_trace = trace; }

// --- tensors --------------------------------------------------------------------------------------

nb::object wrap(Value value) {
  nb::object result = nb::inst_alloc(hooks().tensor_class);
  TensorHandle* handle = new (nb::inst_ptr<TensorHandle>(result)) TensorHandle(std::move(value), t_trace);
  nb::inst_mark_ready(result);
  if (!t_trace) note_pending(*handle);
  return result;
}

nb::object wrap_outside(Value value) {
  nb::object result = wrap(std::move(value));
  tensor_handle(result).trace = 0;
  return result;
}

nb::object wrap_all(const Values& values, bool single) {
  if (single) return wrap(values.at(0));
  nb::list all;
  for (const auto& v : values) all.append(wrap(v));
  return nb::tuple(all);
}

bool is_tensor(nb::handle h) { return is_instance(h, hooks().tensor_class); }
TensorHandle& tensor_handle(nb::handle h) { return *nb::inst_ptr<TensorHandle>(h); }

Value value_of(nb::handle h) {
  if (is_tensor(h)) {
    TensorHandle& t = tensor_handle(h);
    if (t.trace == t_trace) return t.value;
    nb::object lifted = hooks().lift(h);
    return tensor_handle(lifted).value;
  }
  nb::object made = hooks().as_tensor(h);
  return tensor_handle(made).value;
}

// --- dtypes ---------------------------------------------------------------------------------------

nb::object dtype_object(DType type) { return hooks().dtypes[static_cast<size_t>(type)]; }

DType dtype_of(nb::handle h) {
  nb::object object = nb::borrow(h);
  if (!is_instance(h, hooks().dtype_class)) object = hooks().as_dtype(h);
  return static_cast<DType>(nb::cast<int>(object.attr("_code")));
}

// --- sizes ----------------------------------------------------------------------------------------

nb::object size_object(const Expr& size) {
  if (size.is_const() && size.type() == DType::I64) return nb::int_(size.as_int());
  return nb::cast(SizeHandle{size});
}

bool to_scalar_expr(nb::handle h, Expr& out) {
  if (PyBool_Check(h.ptr())) {
    out = Expr(Scalar::from_bool(h.ptr() == Py_True));
  } else if (PyLong_Check(h.ptr())) {
    out = Expr(integer_of(h));
  } else if (PyFloat_Check(h.ptr())) {
    out = Expr(Scalar::from_double(DType::F64, PyFloat_AS_DOUBLE(h.ptr())));
  } else if (nb::isinstance<SizeHandle>(h)) {
    out = nb::inst_ptr<SizeHandle>(h)->expr;
  } else {
    return false;
  }
  return true;
}

Expr size_of_object(nb::handle h) {
  Expr e;
  if (to_scalar_expr(h, e) && e.type() == DType::I64) {
    // Sums of what passes here do not overflow.
    constexpr int64_t kMax = int64_t{1} << 60;
    if (e.is_const() && (e.as_int() > kMax || e.as_int() < -kMax))
      throw Error({.op = "size",
                   .message = "the size is larger than any memory",
                   .expected = "at most 2^60",
                   .got = to_text(e),
                   .loc = caller_loc()});
    return e;
  }
  if (!PyFloat_Check(h.ptr()) && !PyBool_Check(h.ptr()) && PyIndex_Check(h.ptr())) {
    nb::object index = nb::steal(PyNumber_Index(h.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    return Expr(integer_of(index));
  }
  type_error("a size is an int", h);
}

Shape shape_of_object(nb::handle h) {
  if (!is_sequence(h)) return {size_of_object(h)};
  Shape shape;
  for (nb::handle item : h) shape.push_back(size_of_object(item));
  return shape;
}

nb::tuple shape_object(const Shape& shape) {
  nb::list all;
  for (const auto& size : shape) all.append(size_object(size));
  return nb::tuple(all);
}

// --- operands and arguments -----------------------------------------------------------------------

bool to_operand(nb::handle h, Operand& out) {
  if (is_tensor(h)) {
    out = value_of(h);
  } else if (PyBool_Check(h.ptr())) {
    out = h.ptr() == Py_True;
  } else if (PyLong_Check(h.ptr())) {      // enumerations too
    if (const auto large = large_integer(h)) {
      out = Expr(*large);
    } else {
      out = integer_of(h);
    }
  } else if (PyFloat_Check(h.ptr())) {     // NumPy's float64 too
    out = PyFloat_AS_DOUBLE(h.ptr());
  } else if (nb::isinstance<SizeHandle>(h)) {
    out = nb::inst_ptr<SizeHandle>(h)->expr;
  } else {
    nb::object made = hooks().as_tensor(h, nb::arg("weak") = true);
    if (made.is_none()) return false;
    if (!is_tensor(made)) return to_operand(made, out);
    out = value_of(made);
  }
  return true;
}

namespace {

// The value under the current hints; from here on, the graph holds for this value only.
Scalar specialise(const Expr& e) {
  if (e.is_const()) return e.value();
  const Sizes& hints = size_context().hints;
  if (!is_bound(e, hints))
    throw Error(
        {.op = "int", .message = "the size " + to_text(e) + " has no value here", .loc = caller_loc()});
  const bool same_bits = is_float(e.type());
  const Expr now = same_bits ? bitcast(DType::I64, e) : e;
  EvalEnv env;
  env.var = [&](Symbol s) { return Scalar::from_int(DType::I64, hints.at(s)); };
  const Scalar value = eval_scalar(e, env);
  size_context().guards.push_back(
      equal(now, same_bits ? Expr(static_cast<int64_t>(value.bits)) : Expr(value)));
  return value;
}

// Lists of ints, sizes, strings or tensors; nested lists of numbers where a tensor is expected.
Arg sequence_arg(nb::handle h, const Parameter* parameter) {
  const bool wants_tensor = parameter && parameter->takes("Tensor") && !parameter->variadic;
  bool ints = true, sizes = true, strings = true, tensors = false;
  for (nb::handle item : h) {
    const bool is_int = PyLong_Check(item.ptr()) && !PyBool_Check(item.ptr());
    const bool is_index = is_int || (!is_tensor(item) && PyIndex_Check(item.ptr()));
    ints &= is_index && !nb::isinstance<SizeHandle>(item);
    sizes &= is_index || nb::isinstance<SizeHandle>(item);
    strings &= PyUnicode_Check(item.ptr());
    tensors |= is_tensor(item);
  }
  const bool structural_list = parameter && !parameter->takes("Shape") && !parameter->takes("Size") &&
                               !parameter->takes("tuple[Size, ...]");
  const bool wants_tensors = parameter && parameter->takes("tuple[Tensor, ...]");
  if (wants_tensor) return value_of(h);
  if (!wants_tensors && !tensors) {
    if (ints) {
      std::vector<int64_t> all;
      for (nb::handle item : h) all.push_back(size_of_object(item).as_int());
      return all;
    }
    if (sizes) {
      const Shape shape = shape_of_object(h);
      if (!structural_list) return Exprs(shape);
      std::vector<int64_t> all;
      for (const auto& size : shape) all.push_back(specialise(size).to_int());
      return all;
    }
    if (strings) {
      std::vector<std::string> all;
      for (nb::handle item : h) all.push_back(nb::cast<std::string>(item));
      return all;
    }
  }
  // ((before, after), ...) as NumPy writes pairs: one list.
  if (!wants_tensors && !tensors) {
    Shape flat;
    for (nb::handle item : h)
      for (const auto& size : shape_of_object(item)) flat.push_back(size);
    std::vector<int64_t> all;
    for (const auto& size : flat)
      if (size.is_const()) all.push_back(size.as_int());
    if (all.size() == flat.size()) return all;
    return Exprs(flat);
  }
  Values values;
  for (nb::handle item : h) values.push_back(value_of(item));
  return values;
}

}  // namespace

// A parameter that the graph's structure depends on takes a symbolic number's value: the trace then
// holds for that value only.
static bool structural(const Parameter* p) {
  if (!p) return false;
  for (const char* type : {"Tensor", "Size", "Shape", "tuple[Tensor, ...]"})
    if (p->takes(type)) return false;
  return true;
}

Arg to_arg(nb::handle h, const Parameter* parameter) {
  PyObject* p = h.ptr();
  if (nb::isinstance<SizeHandle>(h) && structural(parameter)) {
    const Scalar v = specialise(nb::inst_ptr<SizeHandle>(h)->expr);
    if (is_float(v.type)) return v.to_double();
    return v.to_int();
  }
  if (is_tensor(h)) return value_of(h);
  if (p == Py_None) return std::monostate{};
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_Check(p)) {
    if (parameter && parameter->takes("Tensor"))
      if (const auto large = large_integer(h)) return Expr(*large);
    return integer_of(h);
  }
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (PyUnicode_Check(p)) return nb::cast<std::string>(h);
  if (is_instance(h, hooks().dtype_class)) return dtype_of(h);
  if (nb::isinstance<SizeHandle>(h)) return nb::inst_ptr<SizeHandle>(h)->expr;
  if (is_sequence(h)) return sequence_arg(h, parameter);
  if (parameter && parameter->takes("DType")) return dtype_of(h);
  const bool number = parameter && !parameter->takes("Tensor") && !parameter->takes("tuple[Tensor, ...]");
  if (number && PyIndex_Check(p)) return size_of_object(h).as_int();
  Operand operand;
  if (!to_operand(h, operand))
    type_error((parameter ? "argument " + parameter->name : std::string("an operand")) +
                   " takes tensors, NumPy arrays and numbers",
               h);
  return std::visit([](auto&& v) -> Arg { return v; }, operand);
}

// --- Size in Python -------------------------------------------------------------------------------

namespace {

Expr as_type(const Expr& e, DType type) { return e.type() == type ? e : cast(type, e); }

// Both operands in the type that Python's numbers would have.
std::pair<Expr, Expr> matched(const Expr& a, const Expr& b) {
  const bool floats = is_float(a.type()) || is_float(b.type());
  const DType type = floats ? DType::F64 : DType::I64;
  return {as_type(a, type), as_type(b, type)};
}

template <class F>
nb::object size_binary(nb::handle x, nb::handle y, F f) {
  Expr a, b;
  if (!to_scalar_expr(x, a) || !to_scalar_expr(y, b)) return nb::borrow(Py_NotImplemented);
  const auto [l, r] = matched(a, b);
  return size_object(simplify(f(l, r)));
}

nb::object size_compare(nb::handle x, nb::handle y, Expr (*f)(const Expr&, const Expr&),
                        bool negate = false) {
  Expr a, b;
  if (!to_scalar_expr(x, a) || !to_scalar_expr(y, b)) return nb::borrow(Py_NotImplemented);
  const auto [l, r] = matched(a, b);
  const auto truth = decide(f(l, r));
  if (!truth)
    throw Error({.op = "comparison",
                 .message = "the sizes " + to_text(a) + " and " + to_text(b) +
                            " cannot be compared: no values are known",
                 .loc = caller_loc()});
  return nb::bool_(*truth != negate);
}

// x < y; what is not known is assumed, and becomes a guard.
bool assume_less(nb::handle x, nb::handle y) {
  Expr a, b;
  if (!to_scalar_expr(x, a) || !to_scalar_expr(y, b))
    throw nb::type_error("sizes are compared with sizes and numbers");
  const auto [l, r] = matched(a, b);
  return assume(l < r);
}

nb::object specialised_number(const Expr& e) {
  const Scalar v = specialise(e);
  if (is_float(v.type)) return nb::float_(v.to_double());
  return nb::int_(v.to_int());
}

Expr divide(const Expr& a, const Expr& b) { return as_type(a, DType::F64) / as_type(b, DType::F64); }

#define PTO_SIZE_BINARY(name, expr)                                                      \
  .def("__" name "__", [](nb::handle x, nb::handle y) {                                  \
    return size_binary(x, y, [](const Expr& a, const Expr& b) -> Expr { return expr; }); \
  }).def("__r" name "__", [](nb::handle y, nb::handle x) {                               \
    return size_binary(x, y, [](const Expr& a, const Expr& b) -> Expr { return expr; }); \
  })

// A number as Python's own, fixed if it is symbolic.
nb::object fixed(nb::handle x) {
  return nb::isinstance<SizeHandle>(x) ? specialised_number(nb::inst_ptr<SizeHandle>(x)->expr)
                                       : nb::borrow(x);
}

nb::object checked(PyObject* result) {
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// Small powers are products; other powers of ints are ints or floats by their sign, and fix the value.
nb::object size_power(nb::handle x, nb::handle y) {
  Expr a, b;
  if (!to_scalar_expr(x, a) || !to_scalar_expr(y, b)) return nb::borrow(Py_NotImplemented);
  if (b.is_const() && !is_float(b.type()) && b.as_int() >= 0 && b.as_int() <= 16) {
    Expr result = as_type(Expr(1), a.type());
    for (int64_t i = 0; i < b.as_int(); i++) result = result * a;
    return size_object(simplify(result));
  }
  if (!is_float(a.type()) && !is_float(b.type()))
    return checked(PyNumber_Power(fixed(x).ptr(), fixed(y).ptr(), Py_None));
  return size_object(simplify(make(Op::Pow, {as_type(a, DType::F64), as_type(b, DType::F64)})));
}

// What has no symbolic form fixes the value.
#define PTO_SIZE_FIXED(name, call)                         \
  .def("__" name "__", [](nb::handle a, nb::handle b) {    \
    const nb::object left = fixed(a), right = fixed(b);    \
    PyObject *x = left.ptr(), *y = right.ptr();            \
    return checked(call);                                  \
  }).def("__r" name "__", [](nb::handle b, nb::handle a) { \
    const nb::object left = fixed(a), right = fixed(b);    \
    PyObject *x = left.ptr(), *y = right.ptr();            \
    return checked(call);                                  \
  })

void bind_size(nb::module_& m) {
  nb::class_<SizeHandle>(
      m, "Size",
      "A symbolic number: a size of a tensor, or a Python scalar that is known at run time "
      "only. Arithmetic stays symbolic, a comparison adds a guard; int(), range(), float(), "
      "str(), hash() and bit operations fix the value.") PTO_SIZE_BINARY("add", a + b)
      PTO_SIZE_BINARY("sub", a - b) PTO_SIZE_BINARY("mul", a * b) PTO_SIZE_BINARY(
          "floordiv", floordiv(a, b)) PTO_SIZE_BINARY("mod", mod(a, b)) PTO_SIZE_BINARY("truediv",
                                                                                        divide(a, b))
          .def("__pow__", &size_power)
          .def("__rpow__", [](nb::handle y, nb::handle x) { return size_power(x, y); })
          .def("__neg__", [](const SizeHandle& s) { return size_object(simplify(make(Op::Neg, {s.expr}))); })
          .def("__abs__", [](const SizeHandle& s) { return size_object(simplify(make(Op::Abs, {s.expr}))); })
          .def("__eq__", [](nb::handle x, nb::handle y) { return size_compare(x, y, equal); })
          .def("__ne__", [](nb::handle x, nb::handle y) { return size_compare(x, y, equal, true); })
          .def("__lt__",
               [](nb::handle x, nb::handle y) {
                 return size_compare(x, y, [](const Expr& a, const Expr& b) { return a < b; });
               })
          .def("__le__",
               [](nb::handle x, nb::handle y) {
                 return size_compare(x, y, [](const Expr& a, const Expr& b) { return a <= b; });
               })
          .def("__gt__",
               [](nb::handle x, nb::handle y) {
                 return size_compare(x, y, [](const Expr& a, const Expr& b) { return b < a; });
               })
          .def("__ge__",
               [](nb::handle x, nb::handle y) {
                 return size_compare(x, y, [](const Expr& a, const Expr& b) { return b <= a; });
               })
          .def("__bool__",
               [](nb::handle x) { return nb::cast<bool>(size_compare(x, nb::int_(0), equal, true)); })
          .def("__hash__",
               [](const SizeHandle& s) { return PyObject_Hash(specialised_number(s.expr).ptr()); })
          .def("__str__", [](const SizeHandle& s) { return nb::str(specialised_number(s.expr)); })
          .def("__format__",
               [](const SizeHandle& s, nb::handle spec) {
                 return checked(PyObject_Format(specialised_number(s.expr).ptr(), spec.ptr()));
               }) PTO_SIZE_FIXED("divmod", PyNumber_Divmod(x, y))
              PTO_SIZE_FIXED("lshift", PyNumber_Lshift(x, y)) PTO_SIZE_FIXED("rshift", PyNumber_Rshift(x, y))
                  PTO_SIZE_FIXED("and", PyNumber_And(x, y)) PTO_SIZE_FIXED("or", PyNumber_Or(x, y))
                      PTO_SIZE_FIXED("xor", PyNumber_Xor(x, y))
          .def("__round__",
               [](const SizeHandle& s, nb::args digits) {
                 return nb::object(specialised_number(s.expr).attr("__round__")(*digits));
               })
          .def("__invert__",
               [](const SizeHandle& s) { return checked(PyNumber_Invert(specialised_number(s.expr).ptr())); })
          .def("__int__", [](const SizeHandle& s) { return specialise(s.expr).to_int(); })
          .def("__index__",
               [](const SizeHandle& s) {
                 if (is_float(s.expr.type())) throw nb::type_error("a float is not an index");
                 return specialise(s.expr).to_int();
               })
          .def("__float__", [](const SizeHandle& s) { return specialise(s.expr).to_double(); })
          .def("__repr__", [](const SizeHandle& s) { return to_text(s.expr); })
          .def("is_float", [](const SizeHandle& s) { return is_float(s.expr.type()); })
          .def("specialised", [](const SizeHandle& s) { return specialised_number(s.expr); });
}

}  // namespace

void bind_values(nb::module_& m) {
  bind_size(m);
  nb::class_<TensorHandle>(m, "TensorHandle", nb::is_weak_referenceable())
      .def(nb::init<>())   // empty until _assign
      .def_prop_ro(
          "dtype", [](const TensorHandle& t) { return dtype_object(t.value.dtype()); }, "The element type.")
      .def_prop_ro(
          "shape", [](const TensorHandle& t) { return shape_object(t.value.shape()); },
          "The sizes of the axes: ints, or symbolic sizes while a function is traced.")
      .def_prop_ro(
          "ndim", [](const TensorHandle& t) { return t.value.rank(); }, "The number of axes.")
      .def_prop_ro("_trace", [](const TensorHandle& t) { return t.trace; })
      .def_prop_ro("_ready", [](const TensorHandle& t) { return t.value.node->has_data(); })
      .def_prop_ro("_row", [](const TensorHandle& t) { return t.value.node->row()->name; })
      .def_prop_ro("_type_text", [](const TensorHandle& t) { return t.value.type().str(); })
      .def_prop_ro("_loc_text",
                   [](const TensorHandle& t) {
                     return t.value.node->loc().known() ? t.value.node->loc().str() : std::string();
                   })
      .def_prop_ro("_id",
                   [](const TensorHandle& t) {
                     return nb::make_tuple(reinterpret_cast<uintptr_t>(t.value.node.get()), t.value.index);
                   })
      // Points the handle at another tensor's value.
      .def("_assign",
           [](TensorHandle& t, nb::handle other) {
             if (!is_tensor(other)) type_error("a tensor is expected", other);
             t.value = tensor_handle(other).value;
             t.trace = tensor_handle(other).trace;
           })
      // A handle of its own to the same value; inside a trace, to what the trace knows it as.
      .def("_copy", [](nb::handle h) { return wrap(value_of(h)); })
      // The same, whatever is traced.
      .def("_snapshot", [](const TensorHandle& t) {
        nb::object result = wrap(t.value);
        tensor_handle(result).trace = t.trace;
        return result;
      });

  m.def("set_classes", [](nb::object tensor, nb::list dtypes, nb::object dtype_class, nb::object as_dtype,
                          nb::object as_tensor, nb::object lift, nb::object error, nb::object internal_error,
                          std::string package) {
    hooks() = Hooks{tensor, dtypes, dtype_class, as_dtype, as_tensor, lift, error, internal_error, package};
  });
  m.def("dtype_facts", [] {
    nb::list all;
    for (const DType type : all_dtypes()) {
      const DTypeInfo& i = info(type);
      all.append(nb::make_tuple(nb::str(i.numpy.data(), i.numpy.size()),
                                nb::str(i.name.data(), i.name.size()), i.bytes, i.is_float, i.is_int,
                                i.is_signed));
    }
    return all;
  });
  m.def("promote", [](nb::handle a, nb::handle b) -> nb::object {
    const auto type = promote(dtype_of(a), dtype_of(b));
    return type ? dtype_object(*type) : nb::object(nb::none());
  });
  m.def("fresh_trace", [] {
    static std::atomic<uint64_t> next{1};
    return next.fetch_add(1);
  });
  m.def("current_trace", &current_trace);
  m.def("assume_less", &assume_less);
  m.def(
      "from_scalar",
      [](nb::handle x, nb::handle dtype) {
        Operand operand;
        if (!to_operand(x, operand)) type_error("a number is expected", x);
        const AtCaller at;
        return wrap(dtype.is_none() ? to_value(operand) : to_value_of(operand, dtype_of(dtype)));
      },
      nb::arg("x"), nb::arg("dtype").none());
}

}  // namespace pto::python
