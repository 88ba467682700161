#pragma once
// Functions that C lacks, with the meanings of expr/expr.h: a program's text holds those that it uses.
#include <map>
#include <string>
#include <vector>

#include "expr/expr.h"

namespace pto::c_family {

std::string_view c_type(DType type);       // of a variable
std::string_view memory_type(DType type);  // of an element
std::string literal(Scalar value);

class Prelude {
 public:
  // Their names; each is written out once, after those that it calls.
  std::string op(Op op, DType type);       // of two operands, or as many as it has
  std::string cast(DType from, DType to);  // where C's own conversion is another
  std::string bitcast(DType from, DType to);
  std::string hreduce(Op op, DType type);  // (lanes, their number)
  std::string check();                     // (worker, number)
  const std::string& text() const { return text_; }

 private:
  std::string define(const std::string& name, const std::string& definition);
  std::string to_odd();

  std::map<std::string, bool> defined_;
  std::string text_;
};

// An operation that is one C operator or a function of the C library; empty: Prelude::op has it.
std::string c_operator(Op op, DType type);
std::string c_function(Op op, DType type);

}  // namespace pto::c_family
