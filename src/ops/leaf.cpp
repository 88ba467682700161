// Rows without operands (ops/leaf_attrs.h says what they mean).
#include "ops/leaf_attrs.h"

#include "base/points.h"
#include "expr/eval.h"
#include "ops/families.h"

namespace pto {
namespace {

std::vector<TensorType> infer_input(const InferArgs& in) {
  const auto& attrs = static_cast<const InputAttrs&>(in.attrs);
  return {{attrs.dtype, attrs.shape}};
}

std::vector<TensorType> infer_data(const InferArgs& in) {
  const auto& attrs = static_cast<const DataAttrs&>(in.attrs);
  return {{attrs.dtype, {attrs.shape.begin(), attrs.shape.end()}}};
}

// --- constant -----------------------------------------------------------------------------------

std::vector<TensorType> infer_constant(const InferArgs& in) {
  const auto& value = static_cast<const ConstantAttrs&>(in.attrs).value;
  if (!value || !value->contiguous()) in.fail("a constant needs dense elements");
  return {{value->dtype, {value->shape.begin(), value->shape.end()}}};
}

std::vector<BufferPtr> interpret_constant(const Node& node, const std::vector<BufferPtr>&, const Sizes&) {
  return {attrs_of<ConstantAttrs>(node).value};
}

// --- full, size ---------------------------------------------------------------------------------

std::vector<BufferPtr> filled(const TensorType& type, const Sizes& sizes, Scalar value) {
  const auto result = make_buffer(type.dtype, eval_shape(type.shape, sizes));
  for (int64_t i = 0; i < result->elements(); i++) Elements(result).set(i, value);
  return {result};
}

std::vector<TensorType> infer_full(const InferArgs& in) {
  const auto& attrs = static_cast<const FullAttrs&>(in.attrs);
  for (size_t d = 0; d < attrs.shape.size(); d++)
    if (prove_less(attrs.shape[d], 0) == true)
      in.fail("the size of axis " + std::to_string(d) + " is negative", "at least 0", to_text(attrs.shape[d]),
              std::to_string(d));
  return {{attrs.value.type, attrs.shape}};
}

Expr element_full(Emit&, const Node& node, int, const Exprs&) {
  return Expr(attrs_of<FullAttrs>(node).value);
}

std::vector<BufferPtr> interpret_full(const Node& node, const std::vector<BufferPtr>&, const Sizes& sizes) {
  return filled(node.outputs()[0], sizes, attrs_of<FullAttrs>(node).value);
}

std::vector<TensorType> infer_size(const InferArgs& in) {
  const auto& attrs = static_cast<const SizeAttrs&>(in.attrs);
  if (attrs.value.size() != 1) in.fail("a size is one expression", "1", std::to_string(attrs.value.size()));
  return {{attrs.value[0].type(), {}}};
}

Expr element_size(Emit&, const Node& node, int, const Exprs&) { return attrs_of<SizeAttrs>(node).value[0]; }

std::vector<BufferPtr> interpret_size(const Node& node, const std::vector<BufferPtr>&, const Sizes& sizes) {
  EvalEnv env;
  env.var = [&](Symbol s) {
    const auto it = sizes.find(s);
    PTO_CHECK(it != sizes.end(), "interpret", "no value for the size " + s.str());
    return Scalar::from_int(DType::I64, it->second);
  };
  return filled(node.outputs()[0], sizes, eval_scalar(attrs_of<SizeAttrs>(node).value[0], env));
}

// --- iota ---------------------------------------------------------------------------------------

std::vector<TensorType> infer_iota(const InferArgs& in) {
  const auto& attrs = static_cast<const IotaAttrs&>(in.attrs);
  if (attrs.axis < 0 || attrs.axis >= static_cast<int64_t>(attrs.shape.size()))
    in.fail("axis " + std::to_string(attrs.axis) + " is out of range for rank " +
                std::to_string(attrs.shape.size()),
            "", "", std::to_string(attrs.axis));
  if (attrs.dtype == DType::Bool) in.fail("positions are numbers", "an integer or floating type", "bool");
  for (size_t d = 0; d < attrs.shape.size(); d++)
    if (prove_less(attrs.shape[d], 0) == true)
      in.fail("the size of axis " + std::to_string(d) + " is negative", "at least 0", to_text(attrs.shape[d]),
              std::to_string(d));
  return {{attrs.dtype, attrs.shape}};
}

Expr element_iota(Emit&, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<IotaAttrs>(node);
  return cast(attrs.dtype, index[attrs.axis]);
}

std::vector<BufferPtr> interpret_iota(const Node& node, const std::vector<BufferPtr>&, const Sizes& sizes) {
  const auto& attrs = attrs_of<IotaAttrs>(node);
  const auto result = make_buffer(attrs.dtype, eval_shape(attrs.shape, sizes));
  for_each_point(result->shape, [&](const std::vector<int64_t>& at) {
    Elements(result).set(at, convert(Scalar::from_int(DType::I64, at[attrs.axis]), attrs.dtype));
  });
  return {result};
}

}  // namespace

const std::vector<OpRow>& leaf_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "input",
       .family = Family::Leaf,
       .min_inputs = 0,
       .max_inputs = 0,
       .doc = "A tensor that the caller of the graph gives.",
       .make_attrs = new_attrs<InputAttrs>,
       .infer = infer_input},
      {.name = "data",
       .family = Family::Leaf,
       .min_inputs = 0,
       .max_inputs = 0,
       .doc = "A tensor whose elements are known when the graph is recorded.",
       .make_attrs = new_attrs<DataAttrs>,
       .infer = infer_data},
      {.name = "constant",
       .family = Family::Leaf,
       .min_inputs = 0,
       .max_inputs = 0,
       .doc = "Elements that are part of the program.",
       .make_attrs = new_attrs<ConstantAttrs>,
       .infer = infer_constant,
       .interpret = interpret_constant},
      {.name = "full",
       .family = Family::Leaf,
       .min_inputs = 0,
       .max_inputs = 0,
       .doc = "One value in a shape.",
       .make_attrs = new_attrs<FullAttrs>,
       .infer = infer_full,
       .element = element_full,
       .interpret = interpret_full,
       .test = {.numpy = "np.full(shape, value)", .domains = {}, .dtypes = "biuf", .exact = true}},
      {.name = "size",
       .family = Family::Leaf,
       .min_inputs = 0,
       .max_inputs = 0,
       .doc = "A size, or another scalar that is known when the program is called.",
       .make_attrs = new_attrs<SizeAttrs>,
       .infer = infer_size,
       .element = element_size,
       .interpret = interpret_size,
       .test = {.numpy = "np.asarray(value[0])", .domains = {}, .dtypes = "iuf", .exact = true}},
      {.name = "iota",
       .family = Family::Leaf,
       .min_inputs = 0,
       .max_inputs = 0,
       .doc = "Each element's index along an axis.",
       .make_attrs = new_attrs<IotaAttrs>,
       .infer = infer_iota,
       .element = element_iota,
       .interpret = interpret_iota,
       .test = {.numpy = "ref.iota(shape, axis, dtype)", .domains = {}, .dtypes = "iuf", .exact = true}},
  };
  return rows;
}

}  // namespace pto
