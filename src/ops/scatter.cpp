// Writing at positions given by indices: an opaque row (ops/opaque_attrs.h says what it means).
#include <cstring>

#include "base/points.h"
#include "expr/eval.h"
#include "ops/builder.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/opaque_attrs.h"
#include "ops/size_context.h"

namespace pto {

bool scatter_op(std::string_view combine, Op& op) {
  const std::pair<std::string_view, Op> ops[] = {
      {"add", Op::Add}, {"mul", Op::Mul}, {"min", Op::Min}, {"max", Op::Max}};
  for (const auto& [name, o] : ops) {
    if (name != combine) continue;
    op = o;
    return true;
  }
  return false;
}

std::string scatter_message(const ScatterAttrs& attrs, const Size& extent) {
  const std::string message = "[scatter] index out of range for axis " + std::to_string(attrs.axis);
  return extent.is_const() ? message + " of size " + to_text(extent) : message;
}

namespace {

std::vector<TensorType> infer_scatter(const InferArgs& in) {
  const auto& attrs = static_cast<const ScatterAttrs&>(in.attrs);
  const TensorType &x = in.inputs[0], &index = in.inputs[1], &updates = in.inputs[2];
  Op op;
  if (attrs.combine != "set" && !scatter_op(attrs.combine, op))
    in.fail("unknown way to combine", "set, add, mul, min or max", attrs.combine);
  if (attrs.axis < 0 || attrs.axis >= x.rank())
    in.fail("axis " + std::to_string(attrs.axis) + " is out of range for rank " + std::to_string(x.rank()),
            "", "", std::to_string(attrs.axis));
  if (!is_int(index.dtype))
    in.fail("the index must be integers", "an integer type", std::string(name(index.dtype)));
  if (updates.dtype != x.dtype)
    in.fail("the updates must have the type of the tensor", std::string(name(x.dtype)),
            std::string(name(updates.dtype)));
  Shape expected = x.shape;
  const bool rows = index.rank() == 1;
  if (rows) {
    expected[attrs.axis] = index.shape[0];
  } else if (index.rank() == x.rank()) {
    expected[attrs.axis] = index.shape[attrs.axis];
  } else {
    in.fail("the index must have rank 1 or the rank of the tensor", "rank " + std::to_string(x.rank()),
            "rank " + std::to_string(index.rank()));
  }
  auto check = [&](const TensorType& type, const char* what) {
    bool same = type.rank() == x.rank();
    for (int d = 0; same && d < x.rank(); d++) same = sizes_agree(type.shape[d], expected[d]);
    if (!same)
      in.fail(std::string(what) + " must have the tensor's shape with the number of indices along axis " +
                  std::to_string(attrs.axis),
              shape_text(expected), shape_text(type.shape));
  };
  if (!rows) check(index, "the index");
  check(updates, "the updates");
  return {x};
}

std::vector<BufferPtr> interpret_scatter(const Node& node, const std::vector<BufferPtr>& inputs,
                                         const Sizes&) {
  const auto& attrs = attrs_of<ScatterAttrs>(node);
  const Elements x(inputs[0]), index(inputs[1]), updates(inputs[2]);
  const auto result = make_buffer(x.dtype(), x.shape());
  std::memcpy(result->data, inputs[0]->data, result->bytes());
  const Elements y(result);
  Op op;
  const bool set = !scatter_op(attrs.combine, op);
  for_each_point(updates.shape(), [&](const std::vector<int64_t>& at) {
    const Scalar given = index.shape().size() == 1 ? index.get(at[attrs.axis]) : index.get(at);
    const int64_t to = given.to_int(), size = x.shape()[attrs.axis];
    if (to < 0 || to >= size)
      throw Error(called_name(node),
                  "index " + given.str() + " is out of range for axis " + std::to_string(attrs.axis) +
                      " of size " + std::to_string(size),
                  node.loc());
    std::vector<int64_t> place = at;
    place[attrs.axis] = to;
    const Scalar operands[] = {y.get(place), updates.get(at)};
    y.set(place, set ? operands[1] : eval_op(op, operands));
  });
  return {result};
}

// --- gradient -----------------------------------------------------------------------------------

// A tensor of x's shape at the places of the updates.
Value at_places(const Value& x, const Vjp& v, int64_t axis) {
  return v.x[1].rank() == x.rank() ? take_along_axis(x, v.x[1], axis) : take(x, v.x[1], axis);
}

// 1 for each update that stands in the result: of those to one place, the last.
Value standing(const Vjp& v, int64_t axis) {
  const Value &index = v.x[1], &updates = v.x[2];
  const Value number = positions_among(updates.shape(), all_axes(updates.rank()));
  const Value last =
      scatter(full(v.x[0].shape(), Scalar::from_int(DType::I64, -1)), index, number, axis, "set");
  return cast(equal(at_places(last, v, axis), number), updates.dtype());
}

// Where products would be divided by zero, what the other updates of the place make of it is the slope.
Values of_products(const Vjp& v, int64_t axis) {
  const Value &x = v.x[0], &index = v.x[1], &updates = v.x[2], &d = v.d[0];
  const Value zero = equal(updates, 0.0), one = full(updates.shape(), Scalar::from_double(x.dtype(), 1));
  const Value count = scatter(zeros(x.type()), index, cast(zero, x.dtype()), axis, "add");
  const Value others = scatter(x, index, where(zero, one, updates), axis, "mul");  // of those that are not 0
  const Value ones = full(x.shape(), Scalar::from_double(x.dtype(), 1));
  const Value here = at_places(others, v, axis), zeros_here = at_places(count, v, axis);
  const Value slope = where(zero, where(equal(zeros_here, 1.0), here, 0.0),
                            where(equal(zeros_here, 0.0), div(here, where(zero, one, updates)), 0.0));
  return {mul(d, scatter(ones, index, updates, axis, "mul")), Value(), mul(at_places(d, v, axis), slope)};
}

// Equal extremes share alike.
Values of_extremes(const Vjp& v, int64_t axis) {
  const Value &x = v.x[0], &index = v.x[1], &updates = v.x[2];
  const Value own = cast(equal(x, v.y[0]), x.dtype());
  const Value theirs = cast(equal(updates, at_places(v.y[0], v, axis)), x.dtype());
  const Value each = div(v.d[0], maximum(scatter(own, index, theirs, axis, "add"), 1.0));
  return {mul(each, own), Value(), mul(at_places(each, v, axis), theirs)};
}

Values gradient_scatter(const Vjp& v) {
  const auto& attrs = attrs_of<ScatterAttrs>(v.node);
  const Value& d = v.d[0];
  if (attrs.combine == "mul") return of_products(v, attrs.axis);
  if (attrs.combine == "max" || attrs.combine == "min") return of_extremes(v, attrs.axis);
  const Value updates = v.wanted[2] ? at_places(d, v, attrs.axis) : Value();
  if (attrs.combine == "add") return {d, Value(), updates};
  const Value kept = v.wanted[0] ? scatter(d, v.x[1], zeros(v.x[2].type()), attrs.axis, "set") : Value();
  return {kept, Value(), updates ? mul(updates, standing(v, attrs.axis)) : Value()};
}

}  // namespace

const std::vector<OpRow>& scatter_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "scatter",
       .family = Family::Scatter,
       .min_inputs = 3,
       .max_inputs = 3,
       .doc = "x with updates written to (or added to, ...) the places along an axis that the index names.",
       .make_attrs = new_attrs<ScatterAttrs>,
       .infer = infer_scatter,
       .opaque = "scatter",
       .interpret = interpret_scatter,
       .gradient = gradient_scatter,
       .batch = batch_scatter,
       .test = {.numpy = "ref.scatter(x0, x1, x2, axis, combine)",
                .domains = {"real", "index:axis", "real"},
                .dtypes = "biuf",
                .atol = 1e-5}},
  };
  return rows;
}

}  // namespace pto
