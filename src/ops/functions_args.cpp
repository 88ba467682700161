// Reading bound arguments: each accessor accepts what its parameter's type allows and raises the
// user's error for anything else.
#include "ops/functions.h"

namespace pto {
namespace {

std::string describe(const Arg& arg) {
  struct Text {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return Scalar::from_double(DType::F64, v).str(); }
    std::string operator()(const std::string& v) const { return quote(v); }
    std::string operator()(DType v) const { return std::string(info(v).numpy); }
    std::string operator()(const Value& v) const { return "a tensor " + v.type().str(); }
    std::string operator()(const Expr& v) const { return "the size " + to_text(v); }
    std::string operator()(const std::vector<int64_t>& v) const { return shape_text({v.begin(), v.end()}); }
    std::string operator()(const Exprs& v) const { return shape_text(v); }
    std::string operator()(const Values& v) const { return std::to_string(v.size()) + " tensors"; }
    std::string operator()(const std::vector<std::string>& v) const { return "[" + join(v, ", ") + "]"; }
  };
  return std::visit(Text{}, arg);
}

}  // namespace

const Arg& Args::at(const std::string& name) const {
  const auto it = args_.find(name);
  PTO_CHECK(it != args_.end(), "functions", function_ + " reads a parameter that it does not have: " + name);
  return it->second;
}

void Args::mistyped(const std::string& name, const std::string& expected) const {
  throw Error({.op = function_,
               .message = "argument " + name + " has the wrong type",
               .expected = expected,
               .got = describe(at(name)),
               .loc = current_loc()});
}

bool Args::given(const std::string& name) const { return !std::holds_alternative<std::monostate>(at(name)); }

bool Args::whole(const std::string& name) const {
  return std::holds_alternative<int64_t>(at(name)) || std::holds_alternative<Expr>(at(name));
}

bool Args::text(const std::string& name) const { return std::holds_alternative<std::string>(at(name)); }

bool Args::single(const std::string& name) const { return std::holds_alternative<Value>(at(name)); }

Value Args::tensor(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<Value>(&arg)) return *v;
  return to_value(operand(name));
}

Operand Args::operand(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<Value>(&arg)) return *v;
  if (const auto* v = std::get_if<bool>(&arg)) return *v;
  if (const auto* v = std::get_if<int64_t>(&arg)) return *v;
  if (const auto* v = std::get_if<double>(&arg)) return *v;
  if (const auto* v = std::get_if<Expr>(&arg)) return *v;
  mistyped(name, "a tensor or a number");
}

Values Args::tensors(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<Values>(&arg)) return *v;
  if (const auto* v = std::get_if<Value>(&arg)) return {*v};
  // An empty list carries no element type.
  if (const auto* v = std::get_if<std::vector<int64_t>>(&arg); v && v->empty()) return {};
  mistyped(name, "a list of tensors");
}

Values Args::only_tensors(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<Values>(&arg)) return *v;
  if (const auto* v = std::get_if<Value>(&arg)) return {*v};
  return {};
}

int64_t Args::integer(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<int64_t>(&arg)) return *v;
  if (const auto* v = std::get_if<bool>(&arg)) return *v;
  if (const auto* v = std::get_if<Expr>(&arg); v && v->is_const()) return v->as_int();
  mistyped(name, "an integer");
}

double Args::number(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<double>(&arg)) return *v;
  if (const auto* v = std::get_if<int64_t>(&arg)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<bool>(&arg)) return *v;
  mistyped(name, "a number");
}

bool Args::boolean(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<bool>(&arg)) return *v;
  if (const auto* v = std::get_if<int64_t>(&arg)) return *v != 0;
  mistyped(name, "True or False");
}

std::string Args::string(const std::string& name) const {
  if (const auto* v = std::get_if<std::string>(&at(name))) return *v;
  mistyped(name, "a string");
}

DType Args::dtype(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<DType>(&arg)) return *v;
  if (const auto* v = std::get_if<std::string>(&arg))
    if (const auto type = dtype_from_name(*v)) return *type;
  if (const auto* v = std::get_if<std::string>(&arg); v && v->starts_with("complex"))
    throw Error(
        {.op = function_, .message = "complex numbers are not supported", .got = *v, .loc = current_loc()});
  mistyped(name, "an element type");
}

Size Args::size(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<int64_t>(&arg)) return *v;
  if (const auto* v = std::get_if<Expr>(&arg)) return *v;
  mistyped(name, "a size");
}

Shape Args::shape(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<Exprs>(&arg)) return *v;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&arg)) return {v->begin(), v->end()};
  if (const auto* v = std::get_if<int64_t>(&arg)) return {Size(*v)};
  if (const auto* v = std::get_if<Expr>(&arg)) return {*v};
  mistyped(name, "a shape");
}

std::vector<int64_t> Args::integers(const std::string& name) const {
  const Arg& arg = at(name);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&arg)) return *v;
  if (const auto* v = std::get_if<Exprs>(&arg)) {
    std::vector<int64_t> all;
    for (const auto& e : *v)
      if (e.is_const()) all.push_back(e.as_int());
    if (all.size() == v->size()) return all;
  }
  if (std::holds_alternative<int64_t>(arg) || std::holds_alternative<Expr>(arg)) return {integer(name)};
  mistyped(name, "integers");
}

}  // namespace pto
