#pragma once
// The public functions: one row each. The signature is data (a Python-like text) from which the
// bindings, stubs and docs are made. Elementwise rows of the operator table appear here by
// themselves.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ops/builder.h"

namespace pto {

// An argument after binding to the signature. None is monostate.
using Arg = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Value, Expr,
                         std::vector<int64_t>, Exprs, Values, std::vector<std::string>>;

class Args {
 public:
  explicit Args(std::string function, std::map<std::string, Arg> args)
      : function_(std::move(function)), args_(std::move(args)) {}
  bool given(const std::string& name) const;       // present and not None
  Value tensor(const std::string& name) const;     // a number becomes a tensor of its default type
  Operand operand(const std::string& name) const;  // tensor or scalar
  Values tensors(const std::string& name) const;
  bool single(const std::string& name) const;      // one tensor rather than a list of them
  Values only_tensors(const std::string& name) const;   // those among what was given, for messages
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  bool boolean(const std::string& name) const;
  std::string string(const std::string& name) const;
  DType dtype(const std::string& name) const;      // a DType or its name
  Size size(const std::string& name) const;        // an integer or a symbolic size
  Shape shape(const std::string& name) const;      // one size counts as a list
  std::vector<int64_t> integers(const std::string& name) const;  // one integer counts as a list
  bool whole(const std::string& name) const;       // one integer rather than a list of them
  bool text(const std::string& name) const;        // a string rather than what else it may be
  const std::string& function() const { return function_; }      // its name, for messages

 private:
  const Arg& at(const std::string& name) const;
  [[noreturn]] void mistyped(const std::string& name, const std::string& expected) const;
  std::string function_;
  std::map<std::string, Arg> args_;
};

struct Function {
  std::string name;
  // "x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False". `dim` and
  // `keepdim` are accepted for `axis` and `keepdims` everywhere, `*operands: Tensor` takes the rest.
  // Types: Tensor, int, float, bool, str, DType, Size (int or symbolic), Shape, None, tuple[int, ...],
  // tuple[Size, ...], tuple[Tensor, ...]. A parameter "Tensor | float" takes weak Python scalars.
  std::string signature;
  std::string returns = "Tensor";   // or "tuple[Tensor, Tensor]", "tuple[Tensor, ...]"
  std::string doc;             // shapes, dtypes, errors, source of a formula
  std::function<Values(const Args&)> build;
  // NumPy reference (an expression) over the parameters by name: arrays for tensors, lists of arrays
  // for tuples of tensors. Also x0, x1, ...: all tensors in order. Domains are given for each parameter
  // that takes tensors (the last for the rest).
  TestSpec test;
  // Argument texts that the tests run, shapes standing for tensors: "x=(3,5), axis=-1"
  std::vector<std::string> cases;
  bool method = false;         // also a method of Tensor, the first parameter being the tensor
  std::vector<std::string> aliases;   // other names of the same function
};
const std::vector<const Function*>& all_functions();
const Function* find_function(std::string_view name);   // by name or alias; nullptr if there is none

struct Parameter {
  std::string name;
  std::vector<std::string> types;    // the alternatives of the annotation
  bool variadic = false;
  std::optional<Arg> fallback;       // the default
  std::string text;                  // as it stands in the signature
  bool takes(std::string_view type) const;
};
std::vector<Parameter> parse_signature(std::string_view signature);
const std::vector<Parameter>& parameters(const Function& function);

// Binds the arguments (raising the user's error for a missing, unknown or doubled one) and builds
// the result under the function's name.
Values call(const Function& function, std::vector<Arg> positional, std::map<std::string, Arg> named = {});
Values call(std::string_view name, std::vector<Arg> positional, std::map<std::string, Arg> named = {});

}  // namespace pto
