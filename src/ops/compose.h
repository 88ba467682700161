#pragma once
// What the functions are written with: rows by short names, types that computations use, and the
// functions that other functions need.
#include "ops/builder.h"
#include "ops/functions.h"

namespace pto {

inline Value unary(std::string_view row, Operand x) { return elementwise(row, {std::move(x)}); }
inline Value binary(std::string_view row, Operand x, Operand y) {
  return elementwise(row, {std::move(x), std::move(y)});
}
inline Value maximum(Operand x, Operand y) { return binary("maximum", std::move(x), std::move(y)); }
inline Value minimum(Operand x, Operand y) { return binary("minimum", std::move(x), std::move(y)); }
inline Value where(Operand condition, Operand x, Operand y) {
  return elementwise("where", {std::move(condition), std::move(x), std::move(y)});
}
inline Value exp(Operand x) { return unary("exp", std::move(x)); }
inline Value log(Operand x) { return unary("log", std::move(x)); }
inline Value log1p(Operand x) { return unary("log1p", std::move(x)); }
inline Value sqrt(Operand x) { return unary("sqrt", std::move(x)); }
inline Value absolute(Operand x) { return unary("abs", std::move(x)); }
inline Value negative(Operand x) { return unary("negative", std::move(x)); }
inline Value tanh(Operand x) { return unary("tanh", std::move(x)); }
inline Value equal(Operand x, Operand y) { return binary("equal", std::move(x), std::move(y)); }
inline Value less(Operand x, Operand y) { return binary("less", std::move(x), std::move(y)); }
inline Value less_equal(Operand x, Operand y) { return binary("less_equal", std::move(x), std::move(y)); }
inline Value greater(Operand x, Operand y) { return less(std::move(y), std::move(x)); }
inline Value greater_equal(Operand x, Operand y) { return less_equal(std::move(y), std::move(x)); }
inline Value logical_and(const Value& x, const Value& y) { return binary("bitwise_and", x, y); }
inline Value logical_or(const Value& x, const Value& y) { return binary("bitwise_or", x, y); }
inline Value logical_not(const Value& x) { return unary("bitwise_not", x); }

// The user's error of the function that is being built.
[[noreturn]] void fail(const Args& args, const std::string& message, const std::string& expected = "",
                       const std::string& got = "", const std::string& label = "",
                       const Values& operands = {});

// --- types --------------------------------------------------------------------------------------
inline constexpr DType kDefaultFloat = DType::F32;
Value floating(const Value& x);      // integers and bools become the default float
// Floating, halves as float32: what sums and elementary functions inside a composite compute in.
Value widened(const Value& x);
// The type of a composite's result that computed on widened(x).
DType floating_type(const Value& x);
Value truth(const Value& x);         // x != 0
Value integers(const Value& x, std::string_view fn, const std::string& what);   // checks the type

// --- axes ---------------------------------------------------------------------------------------
// Parameter `name` as normalised axes; all axes if it is None.
std::vector<int64_t> all_axes(int rank);
// A permutation: these axes in front, in their order, then the others in theirs.
std::vector<int64_t> with_first(int rank, const std::vector<int64_t>& axes);
// x as it was before permute(x, perm).
Value permute_back(const Value& x, const std::vector<int64_t>& perm);
std::vector<int64_t> axes_argument(const Args& args, const std::string& name, int rank);
int64_t axis_argument(const Args& args, const std::string& name, int rank);
// The number of elements along the axes.
Size count(const Shape& shape, const std::vector<int64_t>& axes);
// A size as a scalar of type `type`.
Value size_value(const Size& size, DType type);
// Index k of `shape` along one axis, as a tensor that broadcasts to it: shape [1, .., n, .., 1].
Value positions(const Size& n, int64_t axis, int rank, DType type = DType::I64);
Value slice_axis(const Value& x, int64_t axis, const Size& start, const Size& stop, int64_t step = 1);
Value expand(const Value& x, int64_t axis);      // a new axis of size 1 there
// Row-major positions among `axes` (ascending), as a tensor that broadcasts to the shape.
Value positions_among(const Shape& shape, const std::vector<int64_t>& axes);
// True where pad keeps the elements of a tensor of this shape, false around it.
Value within_border(const Shape& shape, const Exprs& before, const Exprs& after);

// --- functions that functions use ----------------------------------------------------------------
Value sum(const Value& x, const std::vector<int64_t>& axes, bool keepdims);     // in x's type
Value mean(const Value& x, const std::vector<int64_t>& axes, bool keepdims);
Value variance(const Value& x, const std::vector<int64_t>& axes, bool keepdims, double correction = 0);
// The root of a sum of powers; at 0 its gradient is 0.
Value root(const Value& sum, double order);
Value sigmoid(const Value& x);
Value softplus(const Value& x);
Value softmax(const Value& x, const std::vector<int64_t>& axes);
Value log_softmax(const Value& x, const std::vector<int64_t>& axes);
// Negative indices count from the end; outside the axis, an error when the kernel runs.
Value take(const Value& x, const Value& index, int64_t axis);
Value take_along_axis(const Value& x, const Value& index, int64_t axis);
Value scatter(const Value& x, const Value& index, const Value& updates, int64_t axis,
              const std::string& combine);
// x with updates combined at the places that the row gather would read by indices of one shape for the axes
// (ascending); the updates have the shape that it would give.
Value scatter_nd(const Value& x, const Values& indices, const std::vector<int64_t>& axes, int64_t at,
                 const Value& updates, const std::string& combine);
Value cumulative(std::string_view monoid, const Value& x, int64_t axis, bool reverse);

}  // namespace pto
