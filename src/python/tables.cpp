// The tables of rows and functions as data, and calls of functions by their number.
#include "python/bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace pto::python {
namespace {

nb::dict test_spec(const TestSpec& test) {
  nb::dict d;
  d["numpy"] = test.numpy;
  d["domains"] = test.domains;
  d["dtypes"] = test.dtypes;
  d["ulp"] = test.ulp;
  d["atol"] = test.atol;
  d["exact"] = test.exact;
  return d;
}

nb::list op_table() {
  nb::list rows;
  for (const OpRow* row : all_rows()) {
    const auto family = name(row->family);
    nb::dict d;
    d["name"] = row->name;
    d["family"] = std::string(family);
    d["batched"] = row->batch != nullptr || row->is_elementwise();
    d["min_inputs"] = row->min_inputs;
    d["max_inputs"] = row->max_inputs;
    d["doc"] = row->doc;
    d["elementwise"] = row->is_elementwise();
    d["opaque"] = row->opaque;
    d["test"] = test_spec(row->test);
    rows.append(d);
  }
  return rows;
}

nb::list function_table() {
  nb::list functions;
  for (const Function* f : all_functions()) {
    nb::dict d;
    d["name"] = f->name;
    d["signature"] = f->signature;
    d["returns"] = f->returns;
    d["doc"] = f->doc;
    d["test"] = test_spec(f->test);
    d["cases"] = f->cases;
    d["method"] = f->method;
    d["aliases"] = f->aliases;
    functions.append(d);
  }
  return functions;
}

nb::object call_function(int number, nb::args args, nb::kwargs kwargs) {
  const Function& f = *all_functions().at(number);
  const AtCaller at;
  const auto& params = parameters(f);
  std::vector<Arg> positional;
  size_t i = 0;
  for (nb::handle arg : args) {
    const Parameter* p = i < params.size() ? &params[i] : nullptr;
    positional.push_back(to_arg(arg, p));
    if (p && !p->variadic) i++;
  }
  std::map<std::string, Arg> named;
  for (const auto& [key, arg] : kwargs) {
    const std::string name = nb::cast<std::string>(key);
    const std::string real = name == "dim" ? "axis" : name == "keepdim" ? "keepdims" : name;
    const Parameter* parameter = nullptr;
    for (const auto& p : params)
      if (p.name == name || (!parameter && p.name == real)) parameter = &p;
    named.emplace(name, to_arg(arg, parameter));
  }
  return wrap_all(call(f, std::move(positional), std::move(named)), f.returns == "Tensor");
}

// Operators of Tensor: NotImplemented for what they do not know.
nb::object binary_operator(const std::string& row, nb::handle x, nb::handle y, bool swapped) {
  const AtCaller at;
  Operand a, b;
  if (!to_operand(x, a) || !to_operand(y, b)) return nb::borrow(Py_NotImplemented);
  if (swapped) std::swap(a, b);
  return wrap(elementwise(row, {std::move(a), std::move(b)}, row));
}

nb::object unary_operator(const std::string& row, nb::handle x) {
  const AtCaller at;
  Operand a;
  if (!to_operand(x, a)) return nb::borrow(Py_NotImplemented);
  return wrap(elementwise(row, {std::move(a)}, row));
}

// Wrapped and clamped by the caller: x[start + i * step] for i < size.
nb::object strided_slice(nb::handle x, nb::handle start, nb::handle size, std::vector<int64_t> step) {
  const AtCaller at;
  const WithName scope("index");
  return wrap(strided(value_of(x), shape_of_object(start), shape_of_object(size), step));
}

}  // namespace

void bind_tables(nb::module_& m) {
  m.def("op_table", &op_table);
  m.def("function_table", &function_table);
  m.def("call_function", &call_function);
  m.def("binary", &binary_operator, nb::arg("row"), nb::arg("x").none(), nb::arg("y").none(),
        nb::arg("swapped"));
  m.def("unary", &unary_operator);
  m.def("slice", &strided_slice);
  m.def("cast", [](nb::handle x, nb::handle dtype) {
    const AtCaller at;
    return wrap(cast(value_of(x), dtype_of(dtype)));
  });
  m.def("matmul", [](nb::handle x, nb::handle y) {
    const AtCaller at;
    return wrap(matmul(value_of(x), value_of(y)));
  });
  m.def("einsum", [](const std::string& spec, nb::args operands) {
    const AtCaller at;
    Values values;
    for (nb::handle operand : operands) {
      Operand o;
      if (!to_operand(operand, o)) throw nb::type_error("einsum takes tensors, arrays and numbers");
      values.push_back(to_value(o));
    }
    return wrap(einsum(spec, values));
  });
}

}  // namespace pto::python
