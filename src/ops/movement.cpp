// Rows that move elements without computing on them (ops/movement_attrs.h says what they mean).
#include "ops/movement_attrs.h"

#include <algorithm>

#include "base/points.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/size_context.h"

namespace pto {
namespace {

using Index = std::vector<int64_t>;

// A result whose element at each index is x's at from(index).
template <class F>
std::vector<BufferPtr> moved(const Node& node, const BufferPtr& input, const Sizes& sizes, F from) {
  const Elements x(input);
  const auto result = make_buffer(x.dtype(), eval_shape(node.outputs()[0].shape, sizes));
  for_each_point(result->shape, [&](const Index& at) { Elements(result).set(at, x.get(from(at))); });
  return {result};
}

std::string number(size_t n) { return std::to_string(n); }

// --- reshape ------------------------------------------------------------------------------------

std::vector<TensorType> infer_reshape(const InferArgs& in) {
  const auto& attrs = static_cast<const ShapeAttrs&>(in.attrs);
  const TensorType& x = in.inputs[0];
  if (!sizes_agree(simplify(product(x.shape)), simplify(product(attrs.shape))))
    in.fail("the shape must have as many elements as the tensor",
            to_text(simplify(product(x.shape))) + " elements",
            shape_text(attrs.shape) + ": " + to_text(simplify(product(attrs.shape))));
  return {{x.dtype, attrs.shape}};
}

// Axes [to, to + to_count) of the result hold the elements of axes [from, from + from_count) of x.
struct AxisGroup {
  size_t to, to_count, from, from_count;
};

// The smallest groups whose sizes are proved equal, so that an index is taken apart no further than
// it must be; what is left without a proof is one group.
std::vector<AxisGroup> axis_groups(const Shape& to, const Shape& from) {
  std::vector<AxisGroup> groups;
  size_t t = 0, f = 0, t_end = to.size(), f_end = from.size(), equal_at_end = 0;
  while (t_end > 0 && f_end > 0 && prove_equal(to[t_end - 1], from[f_end - 1]) == true) {
    t_end--, f_end--, equal_at_end++;
  }
  auto part = [](const Shape& shape, size_t first, size_t count) {
    return product({shape.begin() + first, shape.begin() + first + count});
  };
  auto next = [&]() -> AxisGroup {
    for (size_t both = 2; both < (t_end - t) + (f_end - f); both++)
      for (size_t a = 1; a < both; a++)
        if (a <= t_end - t && both - a <= f_end - f &&
            prove_equal(part(to, t, a), part(from, f, both - a)) == true)
          return {t, a, f, both - a};
    return {t, t_end - t, f, f_end - f};
  };
  while (t < t_end || f < f_end) {
    groups.push_back(next());
    t += groups.back().to_count;
    f += groups.back().from_count;
  }
  for (size_t i = 0; i < equal_at_end; i++) groups.push_back({t_end + i, 1, f_end + i, 1});
  return groups;
}

Expr element_reshape(Emit& emit, const Node& node, int, const Exprs& index) {
  const Value& x = node.inputs()[0];
  const Shape &to = node.outputs()[0].shape, &from = x.shape();
  Exprs at;
  for (const auto& g : axis_groups(to, from)) {
    if (g.to_count == 1 && g.from_count == 1) {
      at.push_back(index[g.to]);
      continue;
    }
    // An axis of size 1 has the index 0, and adds nothing to the position.
    Exprs outer;
    Shape outer_shape, inner_shape;
    for (size_t d = g.to; d < g.to + g.to_count; d++) {
      if (to[d].is_const(1)) continue;
      outer.push_back(index[d]);
      outer_shape.push_back(to[d]);
    }
    for (size_t d = g.from; d < g.from + g.from_count; d++)
      if (!from[d].is_const(1)) inner_shape.push_back(from[d]);
    Exprs inner;
    if (outer.size() == 1 && inner_shape.size() == 1)
      inner = outer;
    else if (!inner_shape.empty())
      inner = delinearise(outer.empty() ? Expr(0) : linear_index(outer, outer_shape), inner_shape);
    auto next = inner.begin();
    for (size_t d = g.from; d < g.from + g.from_count; d++)
      at.push_back(from[d].is_const(1) ? Expr(0) : *next++);
  }
  return emit.element(x, at);
}

std::vector<BufferPtr> interpret_reshape(const Node& node, const std::vector<BufferPtr>& inputs,
                                         const Sizes& sizes) {
  const Elements x(inputs[0]);
  const auto result = make_buffer(x.dtype(), eval_shape(node.outputs()[0].shape, sizes));
  for (int64_t i = 0; i < x.count(); i++) Elements(result).set(i, x.get(i));
  return {result};
}

// --- permute, diagonal --------------------------------------------------------------------------

std::vector<TensorType> infer_permute(const InferArgs& in) {
  const auto& perm = static_cast<const PermuteAttrs&>(in.attrs).perm;
  const TensorType& x = in.inputs[0];
  auto sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool once = static_cast<int>(perm.size()) == x.rank();
  for (size_t d = 0; once && d < sorted.size(); d++) once = sorted[d] == static_cast<int64_t>(d);
  if (!once)
    in.fail("perm must name every axis once", number(x.rank()) + " axes",
            shape_text({perm.begin(), perm.end()}));
  Shape shape;
  for (int64_t axis : perm) shape.push_back(x.shape[axis]);
  return {{x.dtype, shape}};
}

template <class I>
I permuted(const Node& node, const I& index) {
  const auto& perm = attrs_of<PermuteAttrs>(node).perm;
  I from(perm.size());
  for (size_t d = 0; d < perm.size(); d++) from[perm[d]] = index[d];
  return from;
}

Expr element_permute(Emit& emit, const Node& node, int, const Exprs& index) {
  return emit.element(node.inputs()[0], permuted(node, index));
}

std::vector<BufferPtr> interpret_permute(const Node& node, const std::vector<BufferPtr>& inputs,
                                         const Sizes& sizes) {
  return moved(node, inputs[0], sizes, [&](const Index& at) { return permuted(node, at); });
}

std::vector<TensorType> infer_diagonal(const InferArgs& in) {
  const auto& axes = static_cast<const DiagonalAttrs&>(in.attrs).axes;
  const TensorType& x = in.inputs[0];
  if (static_cast<int>(axes.size()) != x.rank())
    in.fail("every axis of the tensor needs one of the result", number(x.rank()) + " axes",
            number(axes.size()));
  Shape shape;
  for (int64_t axis : axes) {
    if (axis < 0) in.fail("an axis is negative", "", std::to_string(axis), std::to_string(axis));
    shape.resize(std::max<size_t>(shape.size(), axis + 1));
  }
  for (size_t d = 0; d < axes.size(); d++) {
    Size& size = shape[axes[d]];
    if (size && !sizes_agree(size, x.shape[d]))
      in.fail("the axes of a diagonal must have one size", to_text(size), to_text(x.shape[d]), number(d));
    if (!size) size = x.shape[d];
  }
  for (size_t d = 0; d < shape.size(); d++)
    if (!shape[d])
      in.fail("axis " + number(d) + " of the result is no axis of the tensor", "", "", number(d));
  return {{x.dtype, shape}};
}

template <class I>
I on_diagonal(const Node& node, const I& index) {
  I from;
  for (int64_t axis : attrs_of<DiagonalAttrs>(node).axes) from.push_back(index[axis]);
  return from;
}

Expr element_diagonal(Emit& emit, const Node& node, int, const Exprs& index) {
  return emit.element(node.inputs()[0], on_diagonal(node, index));
}

std::vector<BufferPtr> interpret_diagonal(const Node& node, const std::vector<BufferPtr>& inputs,
                                          const Sizes& sizes) {
  return moved(node, inputs[0], sizes, [&](const Index& at) { return on_diagonal(node, at); });
}

// --- broadcast ----------------------------------------------------------------------------------

bool repeated(const Size& from, const Size& to) { return from.is_const(1) && !to.is_const(1); }

std::vector<TensorType> infer_broadcast(const InferArgs& in) {
  const Shape& to = static_cast<const ShapeAttrs&>(in.attrs).shape;
  const TensorType& x = in.inputs[0];
  const int extra = static_cast<int>(to.size()) - x.rank();
  if (extra < 0) in.fail("the shape has fewer axes than the tensor", shape_text(x.shape), shape_text(to));
  for (int d = 0; d < x.rank(); d++)
    if (!repeated(x.shape[d], to[d + extra]) && !sizes_agree(x.shape[d], to[d + extra]))
      in.fail("axis " + number(d) + " has size " + to_text(x.shape[d]) + " and cannot become " +
                  to_text(to[d + extra]),
              shape_text(to), shape_text(x.shape), number(d));
  return {{x.dtype, to}};
}

template <class I>
I broadcast_source(const Node& node, const I& index) {
  const Shape &from = node.inputs()[0].shape(), &to = node.outputs()[0].shape;
  const size_t extra = to.size() - from.size();
  I at(index.begin() + extra, index.end());
  for (size_t d = 0; d < from.size(); d++)
    if (repeated(from[d], to[d + extra])) at[d] = 0;
  return at;
}

Expr element_broadcast(Emit& emit, const Node& node, int, const Exprs& index) {
  return emit.element(node.inputs()[0], broadcast_source(node, index));
}

std::vector<BufferPtr> interpret_broadcast(const Node& node, const std::vector<BufferPtr>& inputs,
                                           const Sizes& sizes) {
  return moved(node, inputs[0], sizes, [&](const Index& at) { return broadcast_source(node, at); });
}

// --- slice --------------------------------------------------------------------------------------

std::vector<TensorType> infer_slice(const InferArgs& in) {
  const auto& attrs = static_cast<const SliceAttrs&>(in.attrs);
  const TensorType& x = in.inputs[0];
  const size_t rank = x.rank();
  if (attrs.start.size() != rank || attrs.size.size() != rank || attrs.step.size() != rank)
    in.fail("every axis needs a start, a size and a step", number(rank) + " of each");
  for (size_t d = 0; d < rank; d++) {
    if (attrs.step[d] == 0) in.fail("the step of axis " + number(d) + " is 0", "", "", number(d));
    const Size first = attrs.start[d], last = simplify(first + (attrs.size[d] - 1) * Size(attrs.step[d]));
    const Size empty = attrs.size[d];
    auto outside = [&](const Size& i) {
      return prove_less(i, 0) == true || prove_less(i, x.shape[d]) == false;
    };
    if (prove_less(empty, 0) == true || (prove_less(0, empty) == true && (outside(first) || outside(last))))
      in.fail("the slice of axis " + number(d) + " leaves the tensor", "0 .. " + to_text(x.shape[d]),
              to_text(first) + " .. " + to_text(last), number(d));
  }
  return {{x.dtype, attrs.size}};
}

Expr element_slice(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<SliceAttrs>(node);
  Exprs from;
  for (size_t d = 0; d < index.size(); d++) {
    const Expr walked = attrs.step[d] == 1 ? index[d] : index[d] * Expr(attrs.step[d]);
    from.push_back(attrs.start[d].is_const(0) ? walked : walked + attrs.start[d]);
  }
  return emit.element(node.inputs()[0], from);
}

std::vector<BufferPtr> interpret_slice(const Node& node, const std::vector<BufferPtr>& inputs,
                                       const Sizes& sizes) {
  const auto& attrs = attrs_of<SliceAttrs>(node);
  const Index start = eval_shape(attrs.start, sizes);
  return moved(node, inputs[0], sizes, [&](Index at) {
    for (size_t d = 0; d < at.size(); d++) at[d] = start[d] + at[d] * attrs.step[d];
    return at;
  });
}

// --- pad ----------------------------------------------------------------------------------------

std::vector<TensorType> infer_pad(const InferArgs& in) {
  const auto& attrs = static_cast<const PadAttrs&>(in.attrs);
  const TensorType &x = in.inputs[0], &value = in.inputs[1];
  const size_t rank = x.rank();
  if (value.rank() != 0 || value.dtype != x.dtype)
    in.fail("the value must be a scalar of the tensor's type", TensorType{x.dtype, {}}.str(), value.str());
  if (attrs.before.size() != rank || attrs.after.size() != rank)
    in.fail("every axis needs a width before and after it", number(rank) + " of each");
  Shape shape;
  for (size_t d = 0; d < rank; d++) {
    for (const Size& width : {attrs.before[d], attrs.after[d]})
      if (prove_less(width, 0) == true)
        in.fail("the width at axis " + number(d) + " is negative", "at least 0", to_text(width), number(d));
    shape.push_back(simplify(attrs.before[d] + x.shape[d] + attrs.after[d]));
  }
  return {{x.dtype, shape}};
}

Expr element_pad(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<PadAttrs>(node);
  const Value& x = node.inputs()[0];
  Exprs from;
  Expr inside;
  auto require = [&](const Expr& condition) { inside = inside ? inside & condition : condition; };
  for (size_t d = 0; d < index.size(); d++) {
    const bool before = !attrs.before[d].is_const(0);
    from.push_back(before ? index[d] - attrs.before[d] : index[d]);
    if (before) require(Expr(0) <= from[d]);
    if (!attrs.after[d].is_const(0)) require(from[d] < x.shape()[d]);
  }
  if (!inside) return emit.element(x, from);
  return emit.element_if(inside, x, from, emit.element(node.inputs()[1], {}));
}

std::vector<BufferPtr> interpret_pad(const Node& node, const std::vector<BufferPtr>& inputs,
                                     const Sizes& sizes) {
  const Index before = eval_shape(attrs_of<PadAttrs>(node).before, sizes);
  const Elements x(inputs[0]), value(inputs[1]);
  const auto result = make_buffer(x.dtype(), eval_shape(node.outputs()[0].shape, sizes));
  for (int64_t i = 0; i < result->elements(); i++) Elements(result).set(i, value.get(0));
  for_each_point(x.shape(), [&](const Index& from) {
    Index at = from;
    for (size_t d = 0; d < at.size(); d++) at[d] += before[d];
    Elements(result).set(at, x.get(from));
  });
  return {result};
}

// --- concat -------------------------------------------------------------------------------------

std::vector<TensorType> infer_concat(const InferArgs& in) {
  const int64_t axis = static_cast<const AxisAttrs&>(in.attrs).axis;
  TensorType result = in.inputs[0];
  if (axis < 0 || axis >= result.rank())
    in.fail("axis " + std::to_string(axis) + " is out of range for rank " + number(result.rank()), "", "",
            std::to_string(axis));
  for (size_t i = 1; i < in.inputs.size(); i++) {
    const TensorType& x = in.inputs[i];
    if (x.dtype != result.dtype)
      in.fail("the tensors must have one type", std::string(name(result.dtype)), std::string(name(x.dtype)));
    if (x.rank() != result.rank())
      in.fail("the tensors must have one rank", number(result.rank()), number(x.rank()));
    for (int d = 0; d < x.rank(); d++)
      if (d != axis && !sizes_agree(x.shape[d], result.shape[d]))
        in.fail("tensor " + number(i) + " has another size at axis " + number(d), to_text(result.shape[d]),
                to_text(x.shape[d]), number(d));
    result.shape[axis] = simplify(result.shape[axis] + x.shape[axis]);
  }
  return {result};
}

Expr element_concat(Emit& emit, const Node& node, int, const Exprs& index) {
  const int64_t axis = attrs_of<AxisAttrs>(node).axis;
  const Values& xs = node.inputs();
  std::vector<Size> ends;
  for (const auto& x : xs)
    ends.push_back(simplify(ends.empty() ? x.shape()[axis] : ends.back() + x.shape()[axis]));
  if (xs.size() == 1) return emit.element(xs[0], index);
  const Expr& at = index[axis];
  Expr result = constant(xs[0].dtype(), 0);
  for (size_t i = xs.size(); i-- > 0;) {
    Exprs from = index;
    Expr inside = at < ends[i];
    if (i > 0) {
      from[axis] = at - ends[i - 1];
      inside = (ends[i - 1] <= at) & inside;
    }
    result = emit.element_if(inside, xs[i], from, result);
  }
  return result;
}

std::vector<BufferPtr> interpret_concat(const Node& node, const std::vector<BufferPtr>& inputs,
                                        const Sizes& sizes) {
  const int64_t axis = attrs_of<AxisAttrs>(node).axis;
  const auto result = make_buffer(inputs[0]->dtype, eval_shape(node.outputs()[0].shape, sizes));
  int64_t start = 0;
  for (const auto& input : inputs) {
    const Elements x(input);
    for_each_point(x.shape(), [&](const Index& from) {
      Index at = from;
      at[axis] += start;
      Elements(result).set(at, x.get(from));
    });
    start += x.shape()[axis];
  }
  return {result};
}

// --- gradients ----------------------------------------------------------------------------------

Values gradient_reshape(const Vjp& v) { return {reshape(v.d[0], v.x[0].shape())}; }

Values gradient_permute(const Vjp& v) { return {permute_back(v.d[0], attrs_of<PermuteAttrs>(v.node).perm)}; }

Values gradient_diagonal(const Vjp& v) {
  return {embedded(v.d[0], v.x[0].shape(), attrs_of<DiagonalAttrs>(v.node).axes)};
}

Values gradient_broadcast(const Vjp& v) {
  const Shape &from = v.x[0].shape(), &to = v.d[0].shape();
  const size_t extra = to.size() - from.size();
  std::vector<int64_t> axes;
  for (size_t d = 0; d < to.size(); d++)
    if (d < extra || (from[d - extra].is_const(1) && !to[d].is_const(1)))
      axes.push_back(static_cast<int64_t>(d));
  return {reshape(sum(v.d[0], axes, true), from)};
}

// Back where they were read, and zero elsewhere. Axes that are read backwards are turned first.
Values gradient_slice(const Vjp& v) {
  const auto& attrs = attrs_of<SliceAttrs>(v.node);
  const Value& x = v.x[0];
  std::vector<int64_t> backwards;
  Exprs before, after;
  for (int64_t d = 0; d < x.rank(); d++)
    if (attrs.step[d] < 0) backwards.push_back(d);
  Value result = backwards.empty() ? v.d[0] : flip(v.d[0], backwards);
  for (int64_t d = 0; d < x.rank(); d++) {
    const int64_t step = std::abs(attrs.step[d]);
    result = dilated(result, d, step);
    const Size &size = attrs.size[d], &n = x.shape()[d];
    const Size first =
        attrs.step[d] < 0 ? simplify(attrs.start[d] - (size - Size(1)) * Size(step)) : attrs.start[d];
    before.push_back(first);
    // The zeros after the last element read may go beyond the axis.
    after.push_back(step == 1 && attrs.step[d] > 0 ? simplify(n - first - size) : n);
  }
  result = pad(result, before, after, to_value(0.0, x.dtype()));
  return {slice(result, Exprs(x.rank(), Size(0)), x.shape(), std::vector<int64_t>(x.rank(), 1))};
}

Values gradient_pad(const Vjp& v) {
  const auto& attrs = attrs_of<PadAttrs>(v.node);
  const Value& x = v.x[0];
  Values answers(2);
  if (v.wanted[0]) answers[0] = strided(v.d[0], attrs.before, x.shape(), std::vector<int64_t>(x.rank(), 1));
  if (v.wanted[1]) {
    const Value inside = within_border(x.shape(), attrs.before, attrs.after);
    answers[1] = sum(where(inside, 0.0, v.d[0]), all_axes(x.rank()), false);
  }
  return answers;
}

Values gradient_concat(const Vjp& v) {
  const int64_t axis = attrs_of<AxisAttrs>(v.node).axis;
  Values answers;
  Exprs start(v.d[0].rank(), Size(0));
  for (const auto& x : v.x) {
    answers.push_back(strided(v.d[0], start, x.shape(), std::vector<int64_t>(x.rank(), 1)));
    start[axis] = simplify(start[axis] + x.shape()[axis]);
  }
  return answers;
}

OpRow make_row(std::string name, int min_inputs, int max_inputs, std::string doc, std::string numpy) {
  OpRow row{.name = std::move(name),
            .family = Family::Movement,
            .min_inputs = min_inputs,
            .max_inputs = max_inputs,
            .doc = std::move(doc)};
  row.test = {.numpy = std::move(numpy), .dtypes = "biuf", .exact = true};
  return row;
}

}  // namespace

const std::vector<OpRow>& movement_rows() {
  static const std::vector<OpRow> all = [] {
    std::vector<OpRow> rows;
    auto add = [&](OpRow row, auto attrs, auto infer, auto element, auto interpret, auto gradient,
                   BatchRule batch) {
      row.make_attrs = attrs;
      row.infer = infer;
      row.element = element;
      row.interpret = interpret;
      row.gradient = gradient;
      row.batch = batch;
      rows.push_back(std::move(row));
    };
    add(make_row("reshape", 1, 1, "The same elements in row-major order in another shape.",
                 "np.reshape(x0, shape)"),
        new_attrs<ShapeAttrs>, infer_reshape, element_reshape, interpret_reshape, gradient_reshape,
        batch_reshape);
    add(make_row("permute", 1, 1, "The axes in another order.", "np.transpose(x0, perm)"),
        new_attrs<PermuteAttrs>, infer_permute, element_permute, interpret_permute, gradient_permute,
        batch_permute);
    add(make_row("diagonal", 1, 1, "Several axes read at one index.", "ref.diagonal(x0, axes)"),
        new_attrs<DiagonalAttrs>, infer_diagonal, element_diagonal, interpret_diagonal, gradient_diagonal,
        batch_diagonal);
    add(make_row("broadcast", 1, 1, "Repeated to a larger shape.", "np.broadcast_to(x0, shape)"),
        new_attrs<ShapeAttrs>, infer_broadcast, element_broadcast, interpret_broadcast, gradient_broadcast,
        batch_broadcast);
    add(make_row("slice", 1, 1, "A box of elements, by steps that may be negative.",
                 "ref.strided(x0, start, size, step)"),
        new_attrs<SliceAttrs>, infer_slice, element_slice, interpret_slice, gradient_slice, batch_slice);
    add(make_row("pad", 2, 2, "The tensor with a border of one value.",
                 "np.pad(x0, np.stack([before, after], -1).astype(int), constant_values=x1)"),
        new_attrs<PadAttrs>, infer_pad, element_pad, interpret_pad, gradient_pad, batch_pad);
    add(make_row("concat", 1, kMaxConcat, "Tensors one after the other along an axis.",
                 "np.concatenate(xs, axis)"),
        new_attrs<AxisAttrs>, infer_concat, element_concat, interpret_concat, gradient_concat, batch_concat);
    return rows;
  }();
  return all;
}

}  // namespace pto
