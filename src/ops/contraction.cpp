// Sums of products of two tensors (ops/fold_attrs.h says what they mean).
#include <algorithm>
#include <map>
#include <set>

#include "base/points.h"
#include "expr/eval.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/fold_attrs.h"
#include "ops/gradient.h"
#include "ops/size_context.h"

namespace pto {
namespace {

using Index = std::vector<int64_t>;
using Labels = std::vector<std::string>;

bool has(const Labels& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The labels that are summed over: those of x first, in order.
Labels summed_labels(const ContractAttrs& attrs) {
  Labels all;
  for (const auto* labels : {&attrs.lhs, &attrs.rhs})
    for (const auto& label : *labels)
      if (!has(attrs.out, label) && !has(attrs.window, label) && !has(all, label)) all.push_back(label);
  return all;
}

using LabelSizes = std::map<std::string, Size>;

LabelSizes label_sizes(const ContractAttrs& attrs, const Shape& x, const Shape& y) {
  LabelSizes sizes;
  for (size_t d = 0; d < attrs.lhs.size(); d++)
    if (!has(attrs.window, attrs.lhs[d])) sizes.emplace(attrs.lhs[d], x[d]);
  for (size_t d = 0; d < attrs.rhs.size(); d++) sizes.emplace(attrs.rhs[d], y[d]);
  for (size_t w = 0; w < attrs.window.size(); w++) sizes.emplace(attrs.at[w], attrs.count[w]);
  return sizes;
}

// --- types --------------------------------------------------------------------------------------

void check_windows(const InferArgs& in, const ContractAttrs& attrs) {
  const size_t n = attrs.window.size();
  if (attrs.at.size() != n || attrs.tap.size() != n || attrs.stride.size() != n ||
      attrs.dilation.size() != n || attrs.before.size() != n || attrs.count.size() != n)
    in.fail("every window needs a position, a tap, a stride, a dilation, a margin and a count");
  for (size_t w = 0; w < n; w++) {
    const std::string& label = attrs.window[w];
    if (std::count(attrs.lhs.begin(), attrs.lhs.end(), label) != 1 || has(attrs.rhs, label) ||
        has(attrs.out, label))
      in.fail("a window must be one axis of the first operand alone", "", "", label);
    if (!has(attrs.out, attrs.at[w]))
      in.fail("a window's position must be in the result", "", "", attrs.at[w]);
    if (has(attrs.lhs, attrs.at[w]) || has(attrs.rhs, attrs.at[w]))
      in.fail("a window's position must not be an operand's axis", "", "", attrs.at[w]);
    if (!has(attrs.rhs, attrs.tap[w]))
      in.fail("a window's tap must be an axis of the second operand", "", "", attrs.tap[w]);
    if (attrs.stride[w] < 1)
      in.fail("a stride must be positive", "at least 1", std::to_string(attrs.stride[w]), label);
    if (attrs.dilation[w] < 1)
      in.fail("a dilation must be positive", "at least 1", std::to_string(attrs.dilation[w]), label);
    if (prove_less(attrs.count[w], 0) == true)
      in.fail("a window has a negative number of positions", "", to_text(attrs.count[w]), label);
  }
}

std::vector<TensorType> infer_contract(const InferArgs& in) {
  const auto& attrs = static_cast<const ContractAttrs&>(in.attrs);
  const TensorType &x = in.inputs[0], &y = in.inputs[1];
  if (x.dtype != y.dtype)
    in.fail("the operands must have one type", std::string(name(x.dtype)), std::string(name(y.dtype)));
  if (attrs.dtype != x.dtype && attrs.dtype != accumulator_type(x.dtype))
    in.fail("the sum has the operands' type or that in which it accumulates", std::string(name(x.dtype)),
            std::string(name(attrs.dtype)));
  const std::pair<const Labels*, const TensorType*> operands[] = {{&attrs.lhs, &x}, {&attrs.rhs, &y}};
  for (const auto& [labels, type] : operands)
    if (static_cast<int>(labels->size()) != type->rank())
      in.fail("every axis needs a label", std::to_string(type->rank()) + " labels",
              "[" + join(*labels, ", ") + "]");
  check_windows(in, attrs);
  const LabelSizes sizes = label_sizes(attrs, x.shape, y.shape);
  for (const auto& [labels, type] : operands)
    for (size_t d = 0; d < labels->size(); d++) {
      const std::string& label = (*labels)[d];
      if (has(attrs.window, label)) continue;
      const Size& size = sizes.at(label);
      if (!sizes_agree(size, type->shape[d]))
        in.fail("label " + label + " has different sizes", to_text(size), to_text(type->shape[d]), label);
    }
  Shape shape;
  std::set<std::string> seen;
  for (const auto& label : attrs.out) {
    if (!seen.insert(label).second) in.fail("label " + label + " stands twice in the result", "", "", label);
    const auto it = sizes.find(label);
    if (it == sizes.end()) in.fail("label " + label + " of the result is no operand's", "", "", label);
    shape.push_back(it->second);
  }
  return {{attrs.dtype, shape}};
}

// --- elements -----------------------------------------------------------------------------------

using LabelIndex = std::map<std::string, Expr>;

Exprs operand_index(const Labels& labels, const LabelIndex& at) {
  Exprs index;
  for (const auto& label : labels) index.push_back(at.at(label));
  return index;
}

// x's element, or 0 where a window leaves it.
Expr element_of_x(Emit& emit, const Value& x, const ContractAttrs& attrs, LabelIndex at,
                  const LabelSizes& sizes) {
  Expr inside;
  auto require = [&](const Expr& condition) { inside = inside ? inside & condition : condition; };
  for (size_t w = 0; w < attrs.window.size(); w++) {
    const Size stride = attrs.stride[w], dilation = attrs.dilation[w], before = attrs.before[w];
    const Expr position = at.at(attrs.at[w]), tap = at.at(attrs.tap[w]);
    Expr from =
        (stride.is_const(1) ? position : position * stride) + (dilation.is_const(1) ? tap : tap * dilation);
    if (!before.is_const(0)) from = from - before;
    const auto axis = std::find(attrs.lhs.begin(), attrs.lhs.end(), attrs.window[w]) - attrs.lhs.begin();
    const Size& size = x.shape()[axis];
    const Size last =
        simplify((attrs.count[w] - 1) * stride + (sizes.at(attrs.tap[w]) - 1) * dilation - before);
    if (prove_less(before, 1) != true) require(Expr(0) <= from);
    if (prove_less(last, size) != true) require(from < size);
    at[attrs.window[w]] = from;
  }
  const Exprs index = operand_index(attrs.lhs, at);
  return inside ? emit.element_if(inside, x, index, constant(x.dtype(), 0)) : emit.element(x, index);
}

Expr element_contract(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<ContractAttrs>(node);
  const Value &x = node.inputs()[0], &y = node.inputs()[1];
  const DType wide = accumulator_type(x.dtype());
  const LabelSizes sizes = label_sizes(attrs, x.shape(), y.shape());
  const Labels summed = summed_labels(attrs);
  LabelIndex outer;
  for (size_t d = 0; d < index.size(); d++) outer[attrs.out[d]] = index[d];
  Shape extents;
  for (const auto& label : summed) extents.push_back(sizes.at(label));
  auto factors = [&](const Exprs& at) -> std::pair<Expr, Expr> {
    LabelIndex all = outer;
    for (size_t d = 0; d < at.size(); d++) all[summed[d]] = at[d];
    return {cast(wide, element_of_x(emit, x, attrs, all, sizes)),
            cast(wide, emit.element(y, operand_index(attrs.rhs, all)))};
  };
  if (!summed.empty()) return cast(attrs.dtype, emit.contract(extents, wide, factors));
  const auto [a, b] = factors({});
  return cast(attrs.dtype, a * b);
}

// --- interpreter --------------------------------------------------------------------------------

Scalar multiply_add(Scalar a, Scalar b, Scalar sum) {
  const Scalar factors[] = {a, b, sum};
  if (is_float(a.type)) return eval_op(Op::Fma, factors);
  const Scalar terms[] = {eval_op(Op::Mul, factors), sum};
  return eval_op(Op::Add, terms);
}

std::vector<BufferPtr> interpret_contract(const Node& node, const std::vector<BufferPtr>& inputs,
                                          const Sizes& sizes) {
  const auto& attrs = attrs_of<ContractAttrs>(node);
  const Elements x(inputs[0]), y(inputs[1]);
  const DType wide = accumulator_type(x.dtype());
  const Labels summed = summed_labels(attrs);
  const LabelSizes symbolic = label_sizes(attrs, node.inputs()[0].shape(), node.inputs()[1].shape());
  const Index before = eval_shape(attrs.before, sizes);
  Index extents;
  for (const auto& label : summed) extents.push_back(eval_size(symbolic.at(label), sizes));
  const auto result = make_buffer(attrs.dtype, eval_shape(node.outputs()[0].shape, sizes));
  std::map<std::string, int64_t> at;
  auto index_of = [&](const Labels& labels) {
    Index index;
    for (const auto& label : labels) index.push_back(at.at(label));
    return index;
  };
  auto element_of_x = [&] {
    for (size_t w = 0; w < attrs.window.size(); w++)
      at[attrs.window[w]] =
          at.at(attrs.at[w]) * attrs.stride[w] + at.at(attrs.tap[w]) * attrs.dilation[w] - before[w];
    const Index index = index_of(attrs.lhs);
    for (size_t d = 0; d < index.size(); d++)
      if (index[d] < 0 || index[d] >= x.shape()[d]) return Scalar::from_int(wide, 0);
    return convert(x.get(index), wide);
  };
  for_each_point(result->shape, [&](const Index& outer) {
    for (size_t d = 0; d < outer.size(); d++) at[attrs.out[d]] = outer[d];
    Scalar sum = Scalar::from_int(wide, 0);
    for_each_point(extents, [&](const Index& inner) {
      for (size_t d = 0; d < inner.size(); d++) at[summed[d]] = inner[d];
      const Scalar factors[] = {element_of_x(), convert(y.get(index_of(attrs.rhs)), wide)};
      sum = summed.empty() ? eval_op(Op::Mul, factors) : multiply_add(factors[0], factors[1], sum);
    });
    Elements(result).set(outer, convert(sum, attrs.dtype));
  });
  return {result};
}

// --- gradient -----------------------------------------------------------------------------------

Labels once_each(const Labels& labels) {
  Labels all;
  for (const auto& label : labels)
    if (!has(all, label)) all.push_back(label);
  return all;
}

// A tensor at `have`, some of the labels of an operand, at all of them: repeated along those that were summed
// over alone, and on the diagonal of those that stand twice.
Value at_labels(const Value& x, const Labels& have, const Labels& labels, const Shape& shape) {
  const Labels all = once_each(labels);
  Shape kept, sizes;
  std::vector<int64_t> axes;
  for (const auto& label : all) {
    const Size& n = shape[std::find(labels.begin(), labels.end(), label) - labels.begin()];
    kept.push_back(has(have, label) ? n : Size(1));
    sizes.push_back(n);
  }
  for (const auto& label : labels) axes.push_back(std::find(all.begin(), all.end(), label) - all.begin());
  return embedded(broadcast_to(reshape(x, kept), sizes), shape, axes);
}

Labels of_both(const Labels& labels, const Labels& a, const Labels& b) {
  Labels all;
  for (const auto& label : once_each(labels))
    if (has(a, label) || has(b, label)) all.push_back(label);
  return all;
}

// The cotangent and an operand in one type: that in which the products are added, if it is the result's.
Value contracted(const Value& x, const Value& y, ContractAttrs attrs, DType type) {
  const DType common = x.dtype() == y.dtype() ? x.dtype() : accumulator_type(x.dtype());
  attrs.dtype = common;
  const Value z = make_value("contract", {cast(x, common), cast(y, common)},
                             std::make_shared<ContractAttrs>(std::move(attrs)), current_loc());
  return cast(z, type);
}

// x at h = p * stride + r * dilation - before meets d at p = (h + before - r * dilation) / stride: a window
// over d with zeros between its elements, and taps in the other order.
Value of_first(const Vjp& v) {
  const auto& attrs = attrs_of<ContractAttrs>(v.node);
  Value d = v.d[0], y = v.x[1];
  ContractAttrs back;
  back.lhs = attrs.out;
  back.rhs = attrs.rhs;
  std::vector<int64_t> turned;
  for (size_t w = 0; w < attrs.window.size(); w++) {
    const int64_t place = std::find(attrs.out.begin(), attrs.out.end(), attrs.at[w]) - attrs.out.begin();
    const int64_t tap = std::find(attrs.rhs.begin(), attrs.rhs.end(), attrs.tap[w]) - attrs.rhs.begin();
    const int64_t axis = std::find(attrs.lhs.begin(), attrs.lhs.end(), attrs.window[w]) - attrs.lhs.begin();
    d = dilated(d, place, attrs.stride[w]);
    turned.push_back(tap);
    back.window.push_back(attrs.at[w]);
    back.at.push_back(attrs.window[w]);
    back.tap.push_back(attrs.tap[w]);
    back.stride.push_back(1);
    back.dilation.push_back(attrs.dilation[w]);
    const Size reach = (y.shape()[tap] - Size(1)) * Size(attrs.dilation[w]);
    back.before.push_back(simplify(reach - attrs.before[w]));
    back.count.push_back(v.x[0].shape()[axis]);
  }
  if (!turned.empty()) y = flip(y, turned);
  Labels sources = attrs.out;
  sources.insert(sources.end(), back.at.begin(), back.at.end());
  back.out = of_both(attrs.lhs, sources, attrs.rhs);
  return at_labels(contracted(d, y, back, v.x[0].dtype()), back.out, attrs.lhs, v.x[0].shape());
}

// Each tap is a window over x whose taps are the places of the result.
Value of_second(const Vjp& v) {
  const auto& attrs = attrs_of<ContractAttrs>(v.node);
  ContractAttrs back;
  back.lhs = attrs.lhs;
  back.rhs = attrs.out;
  for (size_t w = 0; w < attrs.window.size(); w++) {
    const int64_t tap = std::find(attrs.rhs.begin(), attrs.rhs.end(), attrs.tap[w]) - attrs.rhs.begin();
    back.window.push_back(attrs.window[w]);
    back.at.push_back(attrs.tap[w]);
    back.tap.push_back(attrs.at[w]);
    back.stride.push_back(attrs.dilation[w]);
    back.dilation.push_back(attrs.stride[w]);
    back.before.push_back(attrs.before[w]);
    back.count.push_back(v.x[1].shape()[tap]);
  }
  Labels sources = attrs.out;
  sources.insert(sources.end(), attrs.tap.begin(), attrs.tap.end());
  back.out = of_both(attrs.rhs, attrs.lhs, sources);
  return at_labels(contracted(v.x[0], v.d[0], back, v.x[1].dtype()), back.out, attrs.rhs, v.x[1].shape());
}

Values gradient_contract(const Vjp& v) {
  return {v.wanted[0] ? of_first(v) : Value(), v.wanted[1] ? of_second(v) : Value()};
}

}  // namespace

const std::vector<OpRow>& contraction_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "contract",
       .family = Family::Contraction,
       .min_inputs = 2,
       .max_inputs = 2,
       .doc = "Sums of products over labelled axes, some of which may be read through windows.",
       .make_attrs = new_attrs<ContractAttrs>,
       .infer = infer_contract,
       .element = element_contract,
       .interpret = interpret_contract,
       .gradient = gradient_contract,
       .batch = batch_contract,
       .test = {.numpy =
                    "ref.contract(x0, x1, lhs, rhs, out, window, at, tap, stride, dilation, before, count)",
                .domains = {"unit"},
                .dtypes = "biuf",
                .ulp = 64,
                .atol = 1e-5}},
  };
  return rows;
}

}  // namespace pto
