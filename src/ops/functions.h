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
  explicit Args(std::map<std::string, Arg> args) : args_(std::move(args)) {}
  bool given(const std::string& name) const;       // present and not None
  Value tensor(const std::string& name) const;
  Operand operand(const std::string& name) const;  // tensor or scalar
  Values tensors(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  bool boolean(const std::string& name) const;
  std::string string(const std::string& name) const;
  DType dtype(const std::string& name) const;
  Shape shape(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;  // one integer counts as a list

 private:
  std::map<std::string, Arg> args_;
};

struct Function {
  std::string name;
  // "x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False". `dim` and
  // `keepdim` are accepted for `axis` and `keepdims` everywhere.
  std::string signature;
  std::string returns;         // "Tensor", "tuple[Tensor, Tensor]"
  std::string doc;             // shapes, dtypes, errors, source of a formula
  Values (*build)(const Args&);
  TestSpec test;               // numpy reference over x0.. and keyword values of `cases`
  // Argument texts that the tests run: "x=(3,5), axis=-1"
  std::vector<std::string> cases;
  bool method = false;         // also a method of Tensor, the first parameter being the tensor
};
const std::vector<const Function*>& all_functions();
const Function* find_function(std::string_view name);

}  // namespace pto
