// The C++ API (include/pto/pto.h) over the graph and its executables.
#include "base/error.h"
#include "exec/executable.h"
#include "ops/functions.h"
#include "ops/size_context.h"
#include "pto/pto.h"

namespace pto {

struct Array::Impl {
  BufferPtr buffer;
};
struct Tensor::Impl {
  Value value;
  Exprs guards;      // of all that led to it
};
struct Compiled::Impl {
  std::shared_ptr<Executable> executable;
};

struct Access {
  static const Value& value(const Tensor& t) { return t.impl_->value; }
  static const Exprs& guards(const Tensor& t) { return t.impl_->guards; }
  static Tensor make(Value value, Exprs guards) {
    return Tensor(std::make_shared<const Tensor::Impl>(Tensor::Impl{std::move(value), std::move(guards)}));
  }
};

namespace {

static_assert(static_cast<int>(Type::F64) == static_cast<int>(DType::F64) &&
              static_cast<int>(Type::F16) == static_cast<int>(DType::F16));

DType dtype_of(Type type) { return static_cast<DType>(type); }

void add_guards(Exprs& to, const Exprs& from) {
  for (const auto& g : from) {
    bool known = false;
    for (const auto& have : to) known = known || have == g;
    if (!known) to.push_back(g);
  }
}

struct ToArg {
  SizeContext& context;
  Arg operator()(const Tensor& t) const {
    add_guards(context.guards, Access::guards(t));
    return Access::value(t);
  }
  Arg operator()(const std::vector<Tensor>& ts) const {
    Values values;
    for (const auto& t : ts) values.push_back(std::get<Value>((*this)(t)));
    return values;
  }
  Arg operator()(int value) const { return static_cast<int64_t>(value); }
  Arg operator()(Type type) const { return dtype_of(type); }
  template <class T>
  Arg operator()(const T& value) const {
    return value;
  }
};

}  // namespace

// --- arrays -------------------------------------------------------------------------------------

Array::Array(Type type, std::vector<int64_t> shape) {
  for (int64_t n : shape)
    if (n < 0) throw Error("Array", "a size is negative");
  impl_ = std::make_shared<Impl>(Impl{make_buffer(dtype_of(type), std::move(shape))});
}

Array Array::of(const std::vector<float>& values, std::vector<int64_t> shape) {
  Array a(Type::F32, std::move(shape));
  if (a.size() != static_cast<int64_t>(values.size()))
    throw Error({.op = "Array",
                 .message = "the shape holds another number of elements",
                 .expected = std::to_string(a.size()),
                 .got = std::to_string(values.size())});
  std::copy(values.begin(), values.end(), a.data<float>());
  return a;
}

Array Array::borrow(Type type, std::vector<int64_t> shape, void* data) {
  auto buffer = std::make_shared<Buffer>();
  buffer->dtype = dtype_of(type);
  buffer->shape = std::move(shape);
  buffer->data = data;
  return Array(std::make_shared<Impl>(Impl{std::move(buffer)}));
}

Type Array::type() const { return static_cast<Type>(impl_->buffer->dtype); }
const std::vector<int64_t>& Array::shape() const { return impl_->buffer->shape; }
int64_t Array::size() const { return impl_->buffer->elements(); }
void* Array::data() { return impl_->buffer->data; }
const void* Array::data() const { return impl_->buffer->data; }

// --- graphs -------------------------------------------------------------------------------------

std::string Tensor::type() const { return impl_->value.type().str(); }

Tensor input(const std::string& name, Type type, const std::vector<Dim>& shape) {
  TensorType t{dtype_of(type), {}};
  for (const auto& dim : shape) {
    if (const auto* size = std::get_if<int64_t>(&dim.value()))
      t.shape.emplace_back(*size);
    else
      t.shape.push_back(var(std::get<std::string>(dim.value())));
  }
  return Access::make(make_input(name, std::move(t)), {});
}

std::vector<Tensor> op_results(const std::string& function, const std::vector<Argument>& arguments,
                               const std::vector<Named>& named) {
  SizeContext context;
  const WithSizeContext with(context);
  const ToArg to_arg{context};
  std::vector<Arg> positional;
  for (const auto& a : arguments) positional.push_back(std::visit(to_arg, a));
  std::map<std::string, Arg> by_name;
  for (const auto& n : named) by_name[n.name] = std::visit(to_arg, n.value);
  const Function* found = find_function(function);
  if (!found) throw Error(function, "there is no function of this name");
  std::vector<Tensor> results;
  for (auto& v : call(*found, std::move(positional), std::move(by_name)))
    results.push_back(Access::make(v, context.guards));
  return results;
}

Tensor op(const std::string& function, const std::vector<Argument>& arguments,
          const std::vector<Named>& named) {
  auto results = op_results(function, arguments, named);
  if (results.size() != 1)
    throw Error({.op = function,
                 .message = "the function has several results: op_results gives them",
                 .expected = "1",
                 .got = std::to_string(results.size())});
  return results[0];
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function* f : all_functions()) names.push_back(f->name);
  return names;
}

Tensor matmul(const Tensor& a, const Tensor& b) { return op("matmul", {a, b}); }
Tensor einsum(const std::string& spec, const std::vector<Tensor>& operands) {
  std::vector<Argument> arguments{spec};
  for (const auto& t : operands) arguments.emplace_back(t);
  return op("einsum", arguments);
}
Tensor operator+(const Tensor& a, const Tensor& b) { return op("add", {a, b}); }
Tensor operator-(const Tensor& a, const Tensor& b) { return op("subtract", {a, b}); }
Tensor operator*(const Tensor& a, const Tensor& b) { return op("multiply", {a, b}); }
Tensor operator/(const Tensor& a, const Tensor& b) { return op("divide", {a, b}); }
Tensor operator+(const Tensor& a, double b) { return op("add", {a, b}); }
Tensor operator-(const Tensor& a, double b) { return op("subtract", {a, b}); }
Tensor operator*(const Tensor& a, double b) { return op("multiply", {a, b}); }
Tensor operator/(const Tensor& a, double b) { return op("divide", {a, b}); }

// --- compiled graphs ----------------------------------------------------------------------------

Compiled::Compiled(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  Graph graph;
  for (const auto& t : inputs) {
    const Value& v = Access::value(t);
    if (v.node->row()->name != "input")
      throw Error({.op = "Compiled", .message = "an input is a computed value", .got = v.type().str()});
    graph.inputs.push_back(v.node);
  }
  for (const auto& t : outputs) {
    graph.outputs.push_back(Access::value(t));
    add_guards(graph.guards, Access::guards(t));
  }
  for (const auto& node : topological(graph.outputs)) {
    bool given = node->row()->name != "input";
    for (const auto& have : graph.inputs) given = given || have == node;
    if (!given)
      throw Error({.op = "Compiled",
                   .message = "the outputs need an input that is not listed",
                   .got = node->outputs()[0].str()});
  }
  impl_ = std::make_shared<Impl>(Impl{compile(graph)});
}

std::vector<Array> Compiled::operator()(const std::vector<Array>& inputs) const {
  std::vector<BufferPtr> buffers;
  for (const auto& a : inputs) buffers.push_back(a.impl_->buffer);
  std::vector<Array> results;
  for (auto& b : impl_->executable->run(buffers))
    results.push_back(Array(std::make_shared<Array::Impl>(Array::Impl{std::move(b)})));
  return results;
}

std::string Compiled::text(const std::string& level) const { return impl_->executable->text(level); }

}  // namespace pto
