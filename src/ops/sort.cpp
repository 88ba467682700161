// Sorting and selection: opaque rows (ops/opaque_attrs.h says what they mean).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/points.h"
#include "expr/eval.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/opaque_attrs.h"
#include "ops/size_context.h"

namespace pto {

bool sorts_before(Scalar a, Scalar b, bool descending) {
  if (descending) std::swap(a, b);
  if (is_float(a.type)) {
    const double x = a.to_double(), y = b.to_double();
    return std::isnan(y) ? !std::isnan(x) : x < y;
  }
  const Scalar operands[] = {a, b};
  return eval_op(Op::Lt, operands).to_bool();
}

namespace {

void check_axis(const InferArgs& in, int64_t axis) {
  const int rank = in.inputs[0].rank();
  if (axis < 0 || axis >= rank)
    in.fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank), "", "",
            std::to_string(axis));
}

std::vector<TensorType> infer_sort(const InferArgs& in) {
  const auto& attrs = static_cast<const SortAttrs&>(in.attrs);
  check_axis(in, attrs.axis);
  const TensorType positions{DType::I64, in.inputs[0].shape};
  if (attrs.by_index) return {positions};
  return {in.inputs[0], positions};
}

std::vector<TensorType> infer_topk(const InferArgs& in) {
  const auto& attrs = static_cast<const TopKAttrs&>(in.attrs);
  check_axis(in, attrs.axis);
  TensorType kept = in.inputs[0];
  Size& size = kept.shape[attrs.axis];
  if (attrs.k < 0 || !assume(Expr(attrs.k) <= size))
    in.fail("k is outside the size of axis " + std::to_string(attrs.axis), "0 <= k <= " + to_text(size),
            "k = " + std::to_string(attrs.k), std::to_string(attrs.axis));
  size = attrs.k;
  return {kept, {DType::I64, kept.shape}};
}

// Calls f(place, order) for each line along `axis`: `order` lists the line's positions as sorted,
// place(i) is the index of the line's element i.
template <class F>
void for_each_sorted_line(const BufferPtr& x, int64_t axis, bool descending, F f) {
  const Elements from(x);
  std::vector<int64_t> starts = x->shape;
  const int64_t n = starts[axis];
  starts[axis] = 1;
  for_each_point(starts, [&](std::vector<int64_t> at) {
    auto place = [&](int64_t i) -> const std::vector<int64_t>& {
      at[axis] = i;
      return at;
    };
    std::vector<Scalar> line;
    for (int64_t i = 0; i < n; i++) line.push_back(from.get(place(i)));
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return sorts_before(line[a], line[b], descending); });
    f(place, line, order);
  });
}

std::vector<BufferPtr> interpret_sorted(const BufferPtr& x, int64_t axis, bool descending, int64_t kept,
                                        bool by_index) {
  std::vector<int64_t> shape = x->shape;
  shape[axis] = kept;
  const auto positions = make_buffer(DType::I64, shape);
  const auto values = by_index ? nullptr : make_buffer(x->dtype, shape);
  for_each_sorted_line(x, axis, descending, [&](auto& place, const auto& line, const auto& order) {
    for (int64_t i = 0; i < kept; i++) {
      Elements(positions).set(place(i), Scalar::from_int(DType::I64, order[i]));
      if (values) Elements(values).set(place(i), line[order[i]]);
    }
  });
  if (by_index) return {positions};
  return {values, positions};
}

std::vector<BufferPtr> interpret_sort(const Node& node, const std::vector<BufferPtr>& inputs, const Sizes&) {
  const auto& attrs = attrs_of<SortAttrs>(node);
  return interpret_sorted(inputs[0], attrs.axis, attrs.descending, inputs[0]->shape[attrs.axis],
                          attrs.by_index);
}

std::vector<BufferPtr> interpret_topk(const Node& node, const std::vector<BufferPtr>& inputs, const Sizes&) {
  const auto& attrs = attrs_of<TopKAttrs>(node);
  if (attrs.k > inputs[0]->shape[attrs.axis])
    throw Error("topk",
                "k = " + std::to_string(attrs.k) + " is more than the size of axis " +
                    std::to_string(attrs.axis) + ", " + std::to_string(inputs[0]->shape[attrs.axis]),
                node.loc());
  return interpret_sorted(inputs[0], attrs.axis, attrs.largest, attrs.k, false);
}

// --- gradients ----------------------------------------------------------------------------------

// Back to the positions that the values came from.
Value of_values(const Vjp& v, const Value& from, int64_t axis) {
  return scatter(zeros(v.x[0].type()), from, v.d[0], axis, "add");
}

Values gradient_sort(const Vjp& v) {
  auto attrs = std::make_shared<SortAttrs>(attrs_of<SortAttrs>(v.node));
  attrs->by_index = true;
  return {of_values(v, make_value("sort", {v.x[0]}, attrs, current_loc()), attrs->axis)};
}

Values gradient_topk(const Vjp& v) { return {of_values(v, v.y[1], attrs_of<TopKAttrs>(v.node).axis)}; }

}  // namespace

const std::vector<OpRow>& sort_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "sort",
       .family = Family::Sort,
       .min_inputs = 1,
       .max_inputs = 1,
       .doc = "Values along an axis in order, and the positions they came from; stable, NaN the greatest.",
       .make_attrs = new_attrs<SortAttrs>,
       .infer = infer_sort,
       .opaque = "sort",
       .interpret = interpret_sort,
       .gradient = gradient_sort,
       .batch = batch_sort,
       .test = {.numpy = "ref.sort(x0, axis, descending, by_index)", .dtypes = "biuf", .exact = true}},
      {.name = "topk",
       .family = Family::Sort,
       .min_inputs = 1,
       .max_inputs = 1,
       .doc = "The k largest or smallest values along an axis, in order, and their positions.",
       .make_attrs = new_attrs<TopKAttrs>,
       .infer = infer_topk,
       .opaque = "topk",
       .interpret = interpret_topk,
       .gradient = gradient_topk,
       .batch = batch_topk,
       .test = {.numpy = "ref.topk(x0, k, axis, largest)", .dtypes = "biuf", .exact = true}},
  };
  return rows;
}

}  // namespace pto
