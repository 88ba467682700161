#include "ops/compose.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/index_attrs.h"
#include "ops/opaque_attrs.h"

namespace pto {

void fail(const Args& args, const std::string& message, const std::string& expected, const std::string& got,
          const std::string& label, const Values& operands) {
  ErrorInfo info{.op = args.function(), .message = message, .expected = expected, .got = got};
  for (const auto& v : operands) info.operands.push_back(v.type().str());
  info.label = label;
  info.loc = current_loc();
  throw Error(std::move(info));
}

// --- types --------------------------------------------------------------------------------------

Value floating(const Value& x) { return is_float(x.dtype()) ? x : cast(x, kDefaultFloat); }
DType floating_type(const Value& x) { return is_float(x.dtype()) ? x.dtype() : kDefaultFloat; }
Value widened(const Value& x) { return cast(x, accumulator_type(floating_type(x))); }
Value truth(const Value& x) { return x.dtype() == DType::Bool ? x : cast(x, DType::Bool); }

Value integers(const Value& x, std::string_view fn, const std::string& what) {
  if (!is_int(x.dtype()))
    throw Error({.op = std::string(fn),
                 .message = what + " must be integers",
                 .expected = "an integer type",
                 .got = x.type().str(),
                 .loc = current_loc()});
  return x;
}

// --- axes ---------------------------------------------------------------------------------------

std::vector<int64_t> all_axes(int rank) {
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int64_t> with_first(int rank, const std::vector<int64_t>& axes) {
  std::vector<int64_t> perm = axes;
  for (int64_t d = 0; d < rank; d++)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) perm.push_back(d);
  return perm;
}

Value permute_back(const Value& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t d = 0; d < perm.size(); d++) inverse[perm[d]] = static_cast<int64_t>(d);
  return permute(x, inverse);
}

std::vector<int64_t> axes_argument(const Args& args, const std::string& name, int rank) {
  if (args.given(name)) return normalise_axes(args.integers(name), rank, args.function());
  return all_axes(rank);
}

int64_t axis_argument(const Args& args, const std::string& name, int rank) {
  return normalise_axis(args.integer(name), rank, args.function());
}

Size count(const Shape& shape, const std::vector<int64_t>& axes) {
  Size n = 1;
  for (int64_t axis : axes) n = n * shape[axis];
  return simplify(n);
}

Value size_value(const Size& size, DType type) { return cast(to_value(size), type); }

Value positions(const Size& n, int64_t axis, int rank, DType type) {
  Shape shape(rank, Size(1));
  shape[axis] = n;
  return iota(shape, axis, type);
}

Value slice_axis(const Value& x, int64_t axis, const Size& start, const Size& stop, int64_t step) {
  Exprs starts(x.rank(), Size(0)), stops = x.shape();
  std::vector<int64_t> steps(x.rank(), 1);
  starts[axis] = start;
  stops[axis] = stop;
  steps[axis] = step;
  return slice(x, starts, stops, steps);
}

Value expand(const Value& x, int64_t axis) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis, Size(1));
  return reshape(x, shape);
}

Value positions_among(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape kept(shape.size(), Size(1));
  for (int64_t axis : axes) kept[axis] = shape[axis];
  return reshape(iota({count(shape, axes)}, 0, DType::I64), kept);
}

Value within_border(const Shape& shape, const Exprs& before, const Exprs& after) {
  return pad(full(shape, Scalar::from_bool(true)), before, after, full({}, Scalar::from_bool(false)));
}

// --- functions that functions use ----------------------------------------------------------------

Value sum(const Value& x, const std::vector<int64_t>& axes, bool keepdims) {
  return reduce("add", x, axes, keepdims);
}

// Halves are summed and divided in float32: their sum may overflow where their mean does not.
Value mean(const Value& x, const std::vector<int64_t>& axes, bool keepdims) {
  const Value wide = widened(x);
  const Value n = size_value(count(x.shape(), axes), wide.dtype());
  return cast(div(sum(wide, axes, keepdims), n), floating_type(x));
}

// Two passes: the deviations from the mean are squared, so that nothing cancels.
Value variance(const Value& x, const std::vector<int64_t>& axes, bool keepdims, double correction) {
  const Value wide = widened(x), deviation = sub(wide, mean(wide, axes, true));
  Value n = size_value(count(x.shape(), axes), wide.dtype());
  if (correction != 0) n = maximum(sub(n, correction), 0.0);
  return cast(div(sum(mul(deviation, deviation), axes, keepdims), n), floating_type(x));
}

Value root(const Value& sum, double order) {
  const Value none = equal(sum, 0.0), some = where(none, 1.0, sum);
  const Value y = order == 2 ? sqrt(some) : binary("power", some, 1 / order);
  return where(none, order > 0 ? 0.0 : INFINITY, y);
}

// e^-|x| cannot overflow, and neither tail cancels.
Value sigmoid(const Value& x) {
  const Value wide = widened(x), e = exp(negative(absolute(wide)));
  return cast(div(where(less(wide, 0.0), e, 1.0), add(e, 1.0)), floating_type(x));
}

Value softplus(const Value& x) {
  const Value wide = widened(x);
  return cast(add(maximum(wide, 0.0), log1p(exp(negative(absolute(wide))))), floating_type(x));
}

// A row that is all -inf has no distribution; it gives zeros. Its maximum is replaced by 0, so that
// its exponentials are 0, and so is its sum, by 1.
Value softmax(const Value& x, const std::vector<int64_t>& axes) {
  const Value wide = widened(x), top = reduce("max", wide, axes, true);
  const Value empty = equal(top, -INFINITY);
  const Value e = exp(sub(wide, where(empty, 0.0, top)));
  const Value total = sum(e, axes, true);
  return cast(div(e, where(empty, 1.0, total)), floating_type(x));
}

Value log_softmax(const Value& x, const std::vector<int64_t>& axes) {
  const Value wide = widened(x), top = reduce("max", wide, axes, true);
  const Value shifted = sub(wide, where(equal(absolute(top), INFINITY), 0.0, top));
  return cast(sub(shifted, log(sum(exp(shifted), axes, true))), floating_type(x));
}

Value take(const Value& x, const Value& index, int64_t axis) {
  auto attrs = std::make_shared<GatherAttrs>();
  attrs->axes = {axis};
  attrs->at = axis;
  return make_value("gather", {x, index}, attrs, current_loc());
}

Value take_along_axis(const Value& x, const Value& index, int64_t axis) {
  auto attrs = std::make_shared<AxisAttrs>();
  attrs->axis = axis;
  return make_value("take_along_axis", {x, index}, attrs, current_loc());
}

// Sums and products of halves are taken in float32 and rounded once.
Value scatter(const Value& x, const Value& index, const Value& updates, int64_t axis,
              const std::string& combine) {
  auto attrs = std::make_shared<ScatterAttrs>();
  attrs->axis = axis;
  attrs->combine = combine;
  const DType type = combine == "add" || combine == "mul" ? accumulator_type(x.dtype()) : x.dtype();
  Value position = index;
  if (is_signed(index.dtype())) {
    position = cast(index, DType::I64);
    position = where(less(position, int64_t{0}), add(position, Operand(x.shape()[axis])), position);
  }
  return cast(make_value("scatter", {cast(x, type), position, cast(updates, type)}, attrs, current_loc()),
              x.dtype());
}

namespace {

// The positions 0 .. size - 1 along an axis of x, read by an index: wrapped and checked, and an error
// names that axis.
Value checked_position(const Value& x, int64_t axis, const Value& index) {
  Shape line(axis, Size(1));
  line.push_back(x.shape()[axis]);
  return reshape(take(iota(line, axis, DType::I64), index, axis), index.shape());
}

// One index into the flattened indexed axes.
Value linear_position(const Value& x, const Values& indices, const std::vector<int64_t>& axes) {
  Value position;
  for (size_t i = 0; i < axes.size(); i++) {
    const Value p = checked_position(x, axes[i], indices[i]);
    position = i == 0 ? p : add(mul(position, Operand(x.shape()[axes[i]])), p);
  }
  return reshape(position, {Size(-1)});
}

}  // namespace

Value scatter_nd(const Value& x, const Values& indices, const std::vector<int64_t>& axes, int64_t at,
                 const Value& updates, const std::string& combine) {
  // The indexed axes first, then as one; and so the indices' axes of the updates.
  const auto perm = with_first(x.rank(), axes);
  const Value moved = permute(x, perm);
  const Shape kept(moved.shape().begin() + static_cast<int64_t>(axes.size()), moved.shape().end());
  Shape flat{count(x.shape(), axes)}, update_flat{simplify(product(indices[0].shape()))};
  flat.insert(flat.end(), kept.begin(), kept.end());
  update_flat.insert(update_flat.end(), kept.begin(), kept.end());
  std::vector<int64_t> order = all_axes(updates.rank());
  std::rotate(order.begin(), order.begin() + at, order.begin() + at + indices[0].rank());
  const Value y = scatter(reshape(moved, flat), linear_position(x, indices, axes),
                          reshape(permute(updates, order), update_flat), 0, combine);
  return permute_back(reshape(y, moved.shape()), perm);
}

Value cumulative(std::string_view monoid, const Value& x, int64_t axis, bool reverse) {
  auto attrs = std::make_shared<CumulativeAttrs>();
  attrs->monoid = monoid;
  attrs->axis = axis;
  attrs->reverse = reverse;
  return make_value("cumulative", {x}, attrs, current_loc());
}

}  // namespace pto
