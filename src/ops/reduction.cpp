// Folds of a monoid over axes (ops/fold_attrs.h says what they mean).
#include <algorithm>
#include <optional>

#include "base/points.h"
#include "expr/eval.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/fold_attrs.h"
#include "ops/gradient.h"

namespace pto {
namespace {

using Index = std::vector<int64_t>;

bool is_position(const std::string& monoid) { return monoid == "argmax" || monoid == "argmin"; }

std::optional<Monoid> monoid_of(const std::string& monoid, DType type) {
  const std::string_view known[] = {"add", "mul", "max", "min", "and", "or", "argmax", "argmin", "welford"};
  if (std::find(std::begin(known), std::end(known), monoid) == std::end(known)) return std::nullopt;
  return make_monoid(monoid, accumulator_type(type));
}

// Component `c` of the fold has the type in which the fold computes, or the tensor's if that is a half.
DType result_type(const Monoid& monoid, int c, DType x) {
  return monoid.types[c] == accumulator_type(x) ? x : monoid.types[c];
}

// What one element contributes.
Exprs element_of(const std::string& monoid, const Monoid& m, const Expr& x, const Expr& position) {
  if (is_position(monoid)) return {x, position};
  if (monoid == "welford") return {x, constant(m.types[1], 0), constant(m.types[2], 1)};
  return {x};
}

std::vector<TensorType> infer_reduce(const InferArgs& in) {
  const auto& attrs = static_cast<const ReduceAttrs&>(in.attrs);
  const TensorType& x = in.inputs[0];
  const bool logical = attrs.monoid == "and" || attrs.monoid == "or";
  if (logical && is_float(x.dtype))
    in.fail("bits of floating numbers do not combine", "bool or an integer type",
            std::string(info(x.dtype).numpy));
  if (attrs.monoid == "welford" && !is_float(x.dtype))
    in.fail("welford is for floating types", "a floating type", std::string(info(x.dtype).numpy));
  const auto monoid = monoid_of(attrs.monoid, x.dtype);
  if (!monoid)
    in.fail("unknown monoid", "add, mul, max, min, and, or, argmax, argmin or welford", attrs.monoid);
  int64_t last = -1;
  for (int64_t axis : attrs.axes) {
    if (axis < 0 || axis >= x.rank())
      in.fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(x.rank()), "",
              "", std::to_string(axis));
    if (axis <= last) in.fail("the axes must ascend", "", shape_text({attrs.axes.begin(), attrs.axes.end()}));
    last = axis;
  }
  Shape shape;
  for (int64_t d = 0; d < x.rank(); d++)
    if (std::find(attrs.axes.begin(), attrs.axes.end(), d) == attrs.axes.end()) shape.push_back(x.shape[d]);
  std::vector<TensorType> results;
  for (int c = 0; c < monoid->size(); c++) results.push_back({result_type(*monoid, c, x.dtype), shape});
  return results;
}

// x's index from that of the result and that of the folded axes.
template <class I>
I joined(const ReduceAttrs& attrs, const I& kept, const I& folded) {
  I at;
  auto k = kept.begin();
  auto f = folded.begin();
  for (size_t d = 0; d < kept.size() + folded.size(); d++)
    at.push_back(std::find(attrs.axes.begin(), attrs.axes.end(), d) == attrs.axes.end() ? *k++ : *f++);
  return at;
}

Expr element_reduce(Emit& emit, const Node& node, int which, const Exprs& index) {
  const auto& attrs = attrs_of<ReduceAttrs>(node);
  const Value& x = node.inputs()[0];
  const Monoid monoid = *monoid_of(attrs.monoid, x.dtype());
  Shape extents;
  for (int64_t axis : attrs.axes) extents.push_back(x.shape()[axis]);
  auto body = [&](const Exprs& at) {
    const Expr position = at.empty() ? Expr(0) : at.size() == 1 ? at[0] : linear_index(at, extents);
    const Expr element = cast(monoid.types[0], emit.element(x, joined(attrs, index, at)));
    return element_of(attrs.monoid, monoid, element, position);
  };
  const Exprs folded = extents.empty() ? body({}) : emit.reduce(monoid, extents, body);
  return cast(result_type(monoid, which, x.dtype()), folded[which]);
}

// The identity, combined with each element in row-major order; the element itself if there are no axes.
std::vector<BufferPtr> interpret_reduce(const Node& node, const std::vector<BufferPtr>& inputs,
                                        const Sizes& sizes) {
  const auto& attrs = attrs_of<ReduceAttrs>(node);
  const Elements x(inputs[0]);
  const Monoid monoid = *monoid_of(attrs.monoid, x.dtype());
  Index extents;
  for (int64_t axis : attrs.axes) extents.push_back(x.shape()[axis]);
  std::vector<BufferPtr> results;
  for (const auto& type : node.outputs())
    results.push_back(make_buffer(type.dtype, eval_shape(type.shape, sizes)));
  for_each_point(results[0]->shape, [&](const Index& kept) {
    Exprs folded = monoid.init;
    int64_t position = 0;
    for_each_point(extents, [&](const Index& at) {
      const Expr element(convert(x.get(joined(attrs, kept, at)), monoid.types[0]));
      const Exprs parts = element_of(attrs.monoid, monoid, element, Expr(position++));
      folded = extents.empty() ? parts : monoid.apply(folded, parts);
      for (auto& f : folded) f = Expr(eval_scalar(f, {}));
    });
    for (size_t c = 0; c < results.size(); c++)
      Elements(results[c]).set(kept, convert(folded[c].value(), results[c]->dtype));
  });
  return results;
}

// --- gradient -----------------------------------------------------------------------------------

// The product of all elements but each, without a division: of those before it and those after it.
Value product_of_others(const Value& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < x.rank(); d++)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) perm.push_back(d);
  const size_t kept = perm.size();
  perm.insert(perm.end(), axes.begin(), axes.end());
  const Value moved = permute(x, perm);
  Shape flat(moved.shape().begin(), moved.shape().begin() + static_cast<int64_t>(kept));
  flat.push_back(count(x.shape(), axes));
  const Value row = reshape(moved, flat);
  const int64_t last = static_cast<int64_t>(kept);
  const Value before = shifted(cumulative("mul", row, last, false), last, false, 1);
  const Value after = shifted(cumulative("mul", row, last, true), last, true, 1);
  return permute_back(reshape(mul(before, after), moved.shape()), perm);
}

// Equal extremes share alike.
Value of_extreme(const Vjp& v, const std::vector<int64_t>& axes) {
  const Value& x = v.x[0];
  const Value chosen = cast(equal(x, unfolded(v.y[0], x.shape(), axes)), x.dtype());
  const Value each = div(v.d[0], maximum(sum(chosen, axes, false), 1.0));
  return mul(unfolded(each, x.shape(), axes), chosen);
}

Value of_position(const Vjp& v, const std::vector<int64_t>& axes) {
  const Value& x = v.x[0];
  const Value chosen = equal(positions_among(x.shape(), axes), unfolded(v.y[1], x.shape(), axes));
  return where(chosen, unfolded(v.d[0], x.shape(), axes), 0.0);
}

// The mean of x and the sum of squared deviations from it; these sum to zero.
Value of_welford(const Vjp& v, const std::vector<int64_t>& axes) {
  const Value& x = v.x[0];
  Value answer;
  if (v.d[0]) answer = unfolded(div(v.d[0], size_value(count(x.shape(), axes), x.dtype())), x.shape(), axes);
  if (v.d[1]) {
    const Value deviation = sub(x, unfolded(v.y[0], x.shape(), axes));
    const Value term = mul(mul(deviation, 2.0), unfolded(v.d[1], x.shape(), axes));
    answer = answer ? add(answer, term) : term;
  }
  return answer;
}

Values gradient_reduce(const Vjp& v) {
  const std::string& monoid = attrs_of<ReduceAttrs>(v.node).monoid;
  const std::vector<int64_t>& axes = attrs_of<ReduceAttrs>(v.node).axes;
  const Value& x = v.x[0];
  if (monoid == "welford") return {of_welford(v, axes)};
  if (!v.d[0]) return {Value()};
  if (monoid == "add") return {unfolded(v.d[0], x.shape(), axes)};
  if (monoid == "mul") return {mul(unfolded(v.d[0], x.shape(), axes), product_of_others(x, axes))};
  if (is_position(monoid)) return {of_position(v, axes)};
  return {of_extreme(v, axes)};
}

}  // namespace

const std::vector<OpRow>& reduction_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "reduce",
       .family = Family::Reduction,
       .min_inputs = 1,
       .max_inputs = 1,
       .doc =
           "Sum, product, extremes and their positions, and, or, or mean and squared deviations over axes.",
       .make_attrs = new_attrs<ReduceAttrs>,
       .infer = infer_reduce,
       .element = element_reduce,
       .interpret = interpret_reduce,
       .gradient = gradient_reduce,
       .batch = batch_reduce,
       .test = {.numpy = "ref.reduce(x0, monoid, axes)",
                .domains = {"digits"},
                .dtypes = "biuf",
                .ulp = 16,
                .atol = 1e-5}},
  };
  return rows;
}

}  // namespace pto
