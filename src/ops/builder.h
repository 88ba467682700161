#pragma once
// The functions from which graphs are made: they promote and broadcast operands, wrap negative
// axes, check, and then apply rows. Composites (softmax, layer_norm, ...) are functions over these
// and stand in one table, ops/functions.h, from which the Python and C++ front ends are made.
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/row.h"

namespace pto {

// An operand as the user gave it: a tensor, or a Python scalar, which is weak: it takes the other
// operand's type (its own default where there is none: bool, int64, float32), in which it must fit. An
// integer above int64 is a constant Expr of type uint64; any other Expr is a scalar that
// is known when the program is called: a size or an integer (i64), a float (f64) or a bool.
using Operand = std::variant<Value, bool, int64_t, double, Expr>;

// The user's location for the nodes that this thread builds; composites push their names.
class WithLoc {
 public:
  explicit WithLoc(Loc loc);
  ~WithLoc();

 private:
  Loc previous_;
};
class WithName {          // "softmax" -> path "... / softmax"
 public:
  // With `whole`, functions called within are parts of this one: the path has only its name, and so do
  // errors.
  explicit WithName(std::string_view name, bool whole = false);
  ~WithName();

 private:
  Loc previous_;
  bool outermost_whole_ = false;
};
Loc current_loc();
// The last name of a path of functions; may be empty.
std::string_view innermost(const LocInfo& loc);
// The function that the user called, if that is known.
std::string called_name(const Node& node);
// The name under which errors of a function are reported.
std::string reported_name(const std::string& function);

// Elementwise by row name, with promotion and broadcasting; `fn` is the name in messages.
Value elementwise(std::string_view row, std::vector<Operand> operands, std::string_view fn = "");
Value to_value(const Operand& operand, std::optional<DType> type = {});
// As to_value, for a type that the user names: floats become it by the rule for casts.
Value to_value_of(const Operand& operand, DType type);
Value cast(const Value& x, DType type);
Value full(const Shape& shape, Scalar value);
Value broadcast_to(const Value& x, const Shape& shape);
Shape broadcast_shapes(const std::vector<Shape>& shapes, std::string_view fn, const Values& operands = {});
int64_t normalise_axis(int64_t axis, int rank, std::string_view fn);
std::vector<int64_t> normalise_axes(const std::vector<int64_t>& axes, int rank, std::string_view fn);

inline Value add(Operand a, Operand b) { return elementwise("add", {a, b}); }
inline Value sub(Operand a, Operand b) { return elementwise("subtract", {a, b}); }
inline Value mul(Operand a, Operand b) { return elementwise("multiply", {a, b}); }
inline Value div(Operand a, Operand b) { return elementwise("divide", {a, b}); }

// The row "reduce"; of argmax and argmin the position.
Value reduce(std::string_view monoid, const Value& x, const std::vector<int64_t>& axes, bool keepdims);
Value reshape(const Value& x, const Shape& shape);   // one size may be the constant -1
Value permute(const Value& x, const std::vector<int64_t>& perm);
// Bounds as in Python, which wrap and are clamped; steps are positive.
Value slice(const Value& x, const Exprs& start, const Exprs& stop, const std::vector<int64_t>& step);
// The row "slice": size elements from start on, within the tensor; steps may be negative.
Value strided(const Value& x, const Exprs& start, const Exprs& size, const std::vector<int64_t>& step);
Value concat(const Values& xs, int64_t axis);
Value flip(const Value& x, const std::vector<int64_t>& axes);
Value pad(const Value& x, const Exprs& before, const Exprs& after, const Value& value);   // a scalar
Value iota(const Shape& shape, int64_t axis, DType type);   // each element's index along the axis
// einsum.cpp: as NumPy's, by contractions of two operands each.
Value einsum(std::string_view spec, const Values& operands);
Value matmul(const Value& a, const Value& b);

}  // namespace pto
