// Reading at positions given by indices. Negative indices count from the end; an index outside the
// axis raises an error.
#include <algorithm>
#include <limits>

#include "base/points.h"
#include "ops/builder.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/index_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

void check_index_type(const InferArgs& in, const TensorType& index) {
  if (!is_int(index.dtype))
    in.fail("an index must be integers", "an integer type", std::string(name(index.dtype)));
}

void check_axis(const InferArgs& in, int64_t axis) {
  const int rank = in.inputs[0].rank();
  if (axis < 0 || axis >= rank)
    in.fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank), "", "",
            std::to_string(axis));
}

// Nothing can be read from an axis of size 0.
void check_not_empty(const InferArgs& in, int64_t axis, const Shape& result) {
  const Size& size = in.inputs[0].shape[axis];
  if (!assume((Expr(0) < size) | equal(product(result), 0)))
    in.fail("axis " + std::to_string(axis) + " has size 0, so that no index is within it", "", "",
            std::to_string(axis));
}

// The position along an axis of x that an element of an index means.
Expr emit_position(Emit& emit, const Node& node, const Value& index, const Exprs& at, int64_t axis) {
  const Size& size = node.inputs()[0].shape()[axis];
  Expr given = emit.element(index, at);
  if (given.type() == DType::U64)
    given = min(given, Expr(Scalar::from_int(DType::U64, std::numeric_limits<int64_t>::max())));
  Expr position = given.type() == DType::I64 ? given : cast(DType::I64, given);
  if (is_signed(given.type())) position = select(position < Expr(0), position + size, position);
  return emit.checked_index(position, size, axis, node);
}

int64_t interpret_position(const Node& node, Scalar given, int64_t axis, int64_t size) {
  const int64_t raw = given.type == DType::U64 && given.to_int() < 0 ? size : given.to_int();
  const int64_t position = raw < 0 ? raw + size : raw;
  if (position < 0 || position >= size)
    throw Error(called_name(node),
                "index " + given.str() + " is out of range for axis " + std::to_string(axis) + " of size " +
                    std::to_string(size),
                node.loc());
  return position;
}

// --- gather -------------------------------------------------------------------------------------

// The axes of x that no index replaces, in order.
std::vector<int64_t> kept_axes(const GatherAttrs& attrs, int64_t rank) {
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < rank; d++)
    if (std::find(attrs.axes.begin(), attrs.axes.end(), d) == attrs.axes.end()) kept.push_back(d);
  return kept;
}

std::vector<TensorType> infer_gather(const InferArgs& in) {
  const auto& attrs = static_cast<const GatherAttrs&>(in.attrs);
  const TensorType& x = in.inputs[0];
  if (attrs.axes.size() != in.inputs.size() - 1)
    in.fail("every index needs its axis", std::to_string(in.inputs.size() - 1) + " axes",
            std::to_string(attrs.axes.size()));
  for (size_t i = 0; i < attrs.axes.size(); i++) {
    check_axis(in, attrs.axes[i]);
    if (i > 0 && attrs.axes[i] <= attrs.axes[i - 1]) in.fail("the axes must ascend");
  }
  const TensorType& first = in.inputs[1];
  for (size_t i = 1; i < in.inputs.size(); i++) {
    check_index_type(in, in.inputs[i]);
    bool same = in.inputs[i].rank() == first.rank();
    for (int d = 0; same && d < first.rank(); d++) same = sizes_agree(in.inputs[i].shape[d], first.shape[d]);
    if (!same)
      in.fail("the indices must have one shape", shape_text(first.shape), shape_text(in.inputs[i].shape));
  }
  Shape shape;
  for (int64_t d : kept_axes(attrs, x.rank())) shape.push_back(x.shape[d]);
  if (attrs.at < 0 || attrs.at > static_cast<int64_t>(shape.size()))
    in.fail("the indices' axes cannot stand there", "0 .. " + std::to_string(shape.size()),
            std::to_string(attrs.at));
  shape.insert(shape.begin() + attrs.at, first.shape.begin(), first.shape.end());
  for (int64_t axis : attrs.axes) check_not_empty(in, axis, shape);
  return {{x.dtype, shape}};
}

// Splits a result's index into the coordinates of the indices and of the axes that x keeps.
template <class Index>
std::pair<Index, Index> split_index(const GatherAttrs& attrs, const Index& index, int index_rank) {
  Index inner(index.begin() + attrs.at, index.begin() + attrs.at + index_rank), rest = index;
  rest.erase(rest.begin() + attrs.at, rest.begin() + attrs.at + index_rank);
  return {inner, rest};
}

Expr element_gather(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<GatherAttrs>(node);
  const Value& x = node.inputs()[0];
  const auto [inner, rest] = split_index(attrs, index, node.inputs()[1].rank());
  const auto kept = kept_axes(attrs, x.rank());
  Exprs from(x.rank());
  for (size_t d = 0; d < kept.size(); d++) from[kept[d]] = rest[d];
  for (size_t i = 0; i < attrs.axes.size(); i++)
    from[attrs.axes[i]] = emit_position(emit, node, node.inputs()[i + 1], inner, attrs.axes[i]);
  return emit.element(x, from);
}

std::vector<BufferPtr> interpret_gather(const Node& node, const std::vector<BufferPtr>& inputs,
                                        const Sizes& sizes) {
  const auto& attrs = attrs_of<GatherAttrs>(node);
  const Elements x(inputs[0]);
  const auto result = make_buffer(x.dtype(), eval_shape(node.outputs()[0].shape, sizes));
  const auto kept = kept_axes(attrs, node.inputs()[0].rank());
  const int index_rank = node.inputs()[1].rank();
  for_each_point(result->shape, [&](const std::vector<int64_t>& at) {
    const auto [inner, rest] = split_index(attrs, at, index_rank);
    std::vector<int64_t> from(x.shape().size());
    for (size_t d = 0; d < kept.size(); d++) from[kept[d]] = rest[d];
    for (size_t i = 0; i < attrs.axes.size(); i++) {
      const int64_t axis = attrs.axes[i];
      from[axis] = interpret_position(node, Elements(inputs[i + 1]).get(inner), axis, x.shape()[axis]);
    }
    Elements(result).set(at, x.get(from));
  });
  return {result};
}

// --- take_along_axis ----------------------------------------------------------------------------

std::vector<TensorType> infer_along(const InferArgs& in) {
  const auto& attrs = static_cast<const AxisAttrs&>(in.attrs);
  const TensorType &x = in.inputs[0], &index = in.inputs[1];
  check_axis(in, attrs.axis);
  check_index_type(in, index);
  bool same = index.rank() == x.rank();
  for (int d = 0; same && d < x.rank(); d++)
    same = d == attrs.axis || sizes_agree(index.shape[d], x.shape[d]);
  if (!same)
    in.fail("the index must have the tensor's shape, but for axis " + std::to_string(attrs.axis),
            shape_text(x.shape), shape_text(index.shape), std::to_string(attrs.axis));
  check_not_empty(in, attrs.axis, index.shape);
  return {{x.dtype, index.shape}};
}

Expr element_along(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<AxisAttrs>(node);
  const Value& x = node.inputs()[0];
  Exprs from = index;
  from[attrs.axis] = emit_position(emit, node, node.inputs()[1], index, attrs.axis);
  return emit.element(x, from);
}

std::vector<BufferPtr> interpret_along(const Node& node, const std::vector<BufferPtr>& inputs, const Sizes&) {
  const int64_t axis = attrs_of<AxisAttrs>(node).axis;
  const Elements x(inputs[0]), index(inputs[1]);
  const auto result = make_buffer(x.dtype(), index.shape());
  for_each_point(result->shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from = at;
    from[axis] = interpret_position(node, index.get(at), axis, x.shape()[axis]);
    Elements(result).set(at, x.get(from));
  });
  return {result};
}

// --- gradients ----------------------------------------------------------------------------------
// What was read several times gets the sum.

Values gradient_gather(const Vjp& v) {
  const auto& attrs = attrs_of<GatherAttrs>(v.node);
  Values answers(v.x.size());
  answers[0] =
      scatter_nd(zeros(v.x[0].type()), {v.x.begin() + 1, v.x.end()}, attrs.axes, attrs.at, v.d[0], "add");
  return answers;
}

Values gradient_along(const Vjp& v) {
  return {scatter(zeros(v.x[0].type()), v.x[1], v.d[0], attrs_of<AxisAttrs>(v.node).axis, "add"), Value()};
}

}  // namespace

const std::vector<OpRow>& gather_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "gather",
       .family = Family::Gather,
       .min_inputs = 2,
       .max_inputs = -1,
       .doc = "x with some axes replaced by the axes of index tensors, which say where to read.",
       .make_attrs = new_attrs<GatherAttrs>,
       .infer = infer_gather,
       .element = element_gather,
       .interpret = interpret_gather,
       .gradient = gradient_gather,
       .batch = batch_gather,
       .test = {.numpy = "ref.gather(xs, axes, at)",
                .domains = {"real", "index:axes"},
                .dtypes = "biuf",
                .exact = true}},
      {.name = "take_along_axis",
       .family = Family::Gather,
       .min_inputs = 2,
       .max_inputs = 2,
       .doc = "At each place of the index, the element of x whose position along the axis it gives.",
       .make_attrs = new_attrs<AxisAttrs>,
       .infer = infer_along,
       .element = element_along,
       .interpret = interpret_along,
       .gradient = gradient_along,
       .batch = batch_take_along_axis,
       .test = {.numpy = "np.take_along_axis(x0, x1, axis)",
                .domains = {"real", "index:axis"},
                .dtypes = "biuf",
                .exact = true}},
  };
  return rows;
}

}  // namespace pto
