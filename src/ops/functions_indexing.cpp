// Reading, writing, sorting and selecting by position.
#include <algorithm>
#include <numeric>

#include "ops/compose.h"
#include "ops/function_families.h"
#include "ops/index_attrs.h"
#include "ops/opaque_attrs.h"

namespace pto {
namespace {

Value index_argument(const Args& args, const char* name) {
  return integers(args.tensor(name), args.function(), name);
}

// --- reading ------------------------------------------------------------------------------------

Values build_take(const Args& args) {
  const Value x = args.tensor("x"), index = index_argument(args, "indices");
  if (!args.given("axis")) return {take(reshape(x, {Size(-1)}), index, 0)};
  return {take(x, index, axis_argument(args, "axis", x.rank()))};
}

Values build_index_select(const Args& args) {
  const Value x = args.tensor("x"), index = index_argument(args, "index");
  if (index.rank() > 1) fail(args, "the index must be a vector", "rank 0 or 1", index.type().str());
  return {take(x, reshape(index, {Size(-1)}), axis_argument(args, "axis", x.rank()))};
}

// Broadcasts all axes but one of both.
std::pair<Value, Value> aligned(const Args& args, const Value& x, const Value& index, int64_t axis) {
  if (x.rank() != index.rank())
    fail(args, "the index must have the rank of the tensor", std::to_string(x.rank()),
         std::to_string(index.rank()), "", {x, index});
  Shape a = x.shape(), b = index.shape();
  a[axis] = b[axis] = 1;
  Shape shape = broadcast_shapes({a, b}, args.function(), {x, index});
  Shape to = shape;
  to[axis] = index.shape()[axis];
  shape[axis] = x.shape()[axis];
  return {broadcast_to(x, shape), broadcast_to(index, to)};
}

Values build_take_along_axis(const Args& args) {
  const Value x = args.tensor("x"), index = index_argument(args, "indices");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  const auto [from, at] = aligned(args, x, index, axis);
  return {take_along_axis(from, at, axis)};
}

// PyTorch's gather: the other axes of the index may be shorter than the tensor's.
Values build_gather(const Args& args) {
  Value x = args.tensor("x");
  const Value index = index_argument(args, "index");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  if (x.rank() != index.rank())
    fail(args, "the index must have the rank of the tensor", std::to_string(x.rank()),
         std::to_string(index.rank()), "", {x, index});
  for (int64_t d = 0; d < x.rank(); d++)
    if (d != axis && prove_equal(x.shape()[d], index.shape()[d]) != true)
      x = slice_axis(x, d, 0, index.shape()[d]);
  return {take_along_axis(x, index, axis)};
}

Values build_embedding(const Args& args) {
  const Value index = index_argument(args, "indices"), weight = args.tensor("weight");
  if (weight.rank() != 2)
    fail(args, "the weight must be a matrix [entries, features]", "rank 2", weight.type().str());
  return {take(weight, index, 0)};
}

Values build_one_hot(const Args& args) {
  const Value x = index_argument(args, "x");
  const Size n = args.size("num_classes");
  const Value hot = equal(expand(x, x.rank()), positions(n, x.rank(), x.rank() + 1, x.dtype()));
  return {cast(hot, args.dtype("dtype"))};
}

Values build_masked_fill(const Args& args) {
  const Value x = args.tensor("x"), mask = args.tensor("mask");
  if (mask.dtype() != DType::Bool) fail(args, "the mask must be bools", "bool", mask.type().str());
  return {where(mask, to_value(args.operand("value"), x.dtype()), x)};
}

// Several index tensors, broadcast together, for as many axes. As in NumPy, their axes stand where
// the indexed axes stood if those are neighbours, else first.
struct Advanced {
  Values indices;
  std::vector<int64_t> axes;   // ascending
  int64_t at = 0;
};

Advanced advanced(const Args& args, const Value& x) {
  const Values given = args.tensors("indices");
  const auto axes = normalise_axes(args.integers("axes"), x.rank(), args.function());
  if (given.size() != axes.size() || given.empty())
    fail(args, "every index needs its axis", std::to_string(given.size()) + " axes",
         std::to_string(axes.size()));
  std::vector<Shape> shapes;
  for (const auto& index : given) shapes.push_back(integers(index, args.function(), "indices").shape());
  const Shape shape = broadcast_shapes(shapes, args.function(), given);
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return axes[a] < axes[b]; });
  Advanced result;
  for (size_t i : order) {
    result.indices.push_back(broadcast_to(given[i], shape));
    result.axes.push_back(axes[i]);
  }
  const int64_t first = result.axes.front(), last = result.axes.back();
  const bool neighbours = last - first + 1 == static_cast<int64_t>(axes.size());
  result.at = neighbours ? first : 0;
  return result;
}

Value gather(const Value& x, const Advanced& by) {
  auto attrs = std::make_shared<GatherAttrs>();
  attrs->axes = by.axes;
  attrs->at = by.at;
  Values inputs{x};
  inputs.insert(inputs.end(), by.indices.begin(), by.indices.end());
  return make_value("gather", inputs, attrs, current_loc());
}

Values build_take_nd(const Args& args) {
  const Value x = args.tensor("x");
  return {gather(x, advanced(args, x))};
}

Values build_diagonal(const Args& args) {
  const Value x = args.tensor("x");
  if (x.rank() < 2) fail(args, "a diagonal needs two axes", "rank >= 2", x.type().str());
  const int64_t axis1 = axis_argument(args, "axis1", x.rank()),
                axis2 = axis_argument(args, "axis2", x.rank());
  if (axis1 == axis2) fail(args, "the axes must differ");
  const int64_t offset = args.integer("offset"), down = std::max<int64_t>(-offset, 0),
                right = std::max<int64_t>(offset, 0);
  const Size rows = x.shape()[axis1] - Size(down), columns = x.shape()[axis2] - Size(right);
  const Size n = simplify(max(min(rows, columns), Size(0)));
  const Value i = iota({n}, 0, DType::I64);
  Advanced by{{add(i, down), add(i, right)}, {axis1, axis2}, x.rank() - 2};
  if (axis1 > axis2) {
    std::swap(by.indices[0], by.indices[1]);
    std::swap(by.axes[0], by.axes[1]);
  }
  return {gather(x, by)};
}

// --- writing ------------------------------------------------------------------------------------

Values build_scatter(const Args& args, const std::string& combine) {
  const Value x = args.tensor("x"), index = index_argument(args, "index");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  const Value updates = broadcast_to(to_value(args.operand("src"), x.dtype()), index.shape());
  return {scatter(x, index, updates, axis, combine)};
}

Values build_put_along_axis(const Args& args) {
  const Value x = args.tensor("x"), index = index_argument(args, "indices");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  const auto [to, at] = aligned(args, x, index, axis);
  if (to.shape() != x.shape())
    fail(args, "the indices do not fit the tensor", shape_text(x.shape()), shape_text(index.shape()), "",
         {x, index});
  const Value values = broadcast_to(to_value(args.operand("values"), x.dtype()), at.shape());
  return {scatter(x, at, values, axis, "set")};
}

Values build_index_add(const Args& args) {
  const Value x = args.tensor("x"), index = index_argument(args, "index");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  if (index.rank() != 1) fail(args, "the index must be a vector", "rank 1", index.type().str());
  Shape shape = x.shape();
  shape[axis] = index.shape()[0];
  return {scatter(x, index, broadcast_to(args.tensor("source"), shape), axis, "add")};
}

// x with values written at the places that take_nd would read.
Values build_put_nd(const Args& args) {
  const Value x = args.tensor("x");
  const std::string combine = args.string("combine");
  const Advanced to = advanced(args, x);
  const Shape& index_shape = to.indices[0].shape();
  Shape target;
  for (int64_t d = 0; d < x.rank(); d++)
    if (std::find(to.axes.begin(), to.axes.end(), d) == to.axes.end()) target.push_back(x.shape()[d]);
  target.insert(target.begin() + to.at, index_shape.begin(), index_shape.end());
  const Value values = broadcast_to(to_value(args.operand("values"), x.dtype()), target);
  return {scatter_nd(x, to.indices, to.axes, to.at, values, combine)};
}

// --- order --------------------------------------------------------------------------------------

Values sorted(const Args& args, bool by_index) {
  Value x = args.tensor("x");
  if (!args.given("axis")) x = reshape(x, {Size(-1)});
  auto attrs = std::make_shared<SortAttrs>();
  attrs->axis = args.given("axis") ? axis_argument(args, "axis", x.rank()) : 0;
  attrs->descending = args.boolean("descending");
  attrs->by_index = by_index;
  return {make_value("sort", {x}, attrs, current_loc())};
}

Values build_topk(const Args& args) {
  const Value x = args.tensor("x");
  auto attrs = std::make_shared<TopKAttrs>();
  attrs->k = args.integer("k");
  attrs->axis = axis_argument(args, "axis", x.rank());
  attrs->largest = args.boolean("largest");
  const Value values = make_value("topk", {x}, attrs, current_loc());
  return {values, {values.node, 1}};
}

const char* const kSort = "x: Tensor, axis: int | None = -1, descending: bool = False, stable: bool = True";
const std::vector<std::string> kSortCases = {
    "x=(37,)", "x=(3,5), axis=0", "x=(3,17), descending=True", "x=(2,3), axis=None", "x=(2,0)", "x=(4,1)"};

std::vector<Function> reading_functions() {
  return {
      {.name = "take",
       .signature = "x: Tensor, indices: Tensor, axis: int | None = None",
       .doc = "x at integer positions along an axis, which the axes of the indices replace; of the flattened "
              "tensor if the axis is None. Negative positions count from the end.",
       .build = build_take,
       .test = {.numpy = "np.take(x, indices, axis)",
                .domains = {"real", "index:axis"},
                .dtypes = "biuf",
                .exact = true},
       .cases = {"x=(7,), indices=(5,), axis=0", "x=(3,5), indices=(2,4), axis=1",
                 "x=(3,5), indices=(), axis=0", "x=(3,5), indices=(4,)", "x=(3,2), indices=(0,), axis=0"}},
      {.name = "take_along_axis",
       .signature = "x: Tensor, indices: Tensor, axis: int = -1",
       .doc =
           "At each place of the indices, the element of x whose position along the axis it gives; the other "
           "axes broadcast.",
       .build = build_take_along_axis,
       .test = {.numpy = "np.take_along_axis(x, indices, axis)",
                .domains = {"real", "index:axis"},
                .exact = true},
       .cases = {"x=(3,5), indices=(3,2)", "x=(3,5), indices=(4,5), axis=0",
                 "x=(3,1), indices=(1,4), axis=0"}},
      {.name = "gather",
       .signature = "x: Tensor, axis: int, index: Tensor",
       .doc =
           "PyTorch's gather: as take_along_axis, but the other axes of the index may be shorter than those "
           "of x.",
       .build = build_gather,
       .test = {.numpy = "ref.torch_gather(x, axis, index)",
                .domains = {"real", "index:axis"},
                .exact = true},
       .cases = {"x=(3,5), axis=1, index=(3,2)", "x=(3,5), axis=0, index=(4,2)"}},
      {.name = "index_select",
       .signature = "x: Tensor, axis: int, index: Tensor",
       .doc = "x at the positions of an index vector along an axis.",
       .build = build_index_select,
       .test = {.numpy = "np.take(x, index, axis)", .domains = {"real", "index:axis"}, .exact = true},
       .cases = {"x=(3,5), axis=1, index=(4,)"}},
      {.name = "take_nd",
       .signature = "x: Tensor, indices: tuple[Tensor, ...], axes: tuple[int, ...]",
       .doc = "x indexed by several integer tensors at once (NumPy's x[i, j]), one for each of `axes`.",
       .build = build_take_nd,
       .test = {.numpy = "ref.take_nd(x, indices, axes)", .domains = {"real", "index:axes"}, .exact = true},
       .cases = {"x=(3,5,4), indices=[(6,),(6,)], axes=(0,1)", "x=(3,5,4), indices=[(6,),(2,1)], axes=(0,2)",
                 "x=(3,5,4), indices=[(2,3)], axes=(1,)"}},
      {.name = "embedding",
       .signature = "indices: Tensor, weight: Tensor",
       .doc = "Rows of a matrix [entries, features]: the result is [..., features].",
       .build = build_embedding,
       .test = {.numpy = "weight[indices]", .domains = {"index:weight", "real"}, .exact = true},
       .cases = {"indices=(2,3), weight=(7,5)", "indices=(0,), weight=(7,5)"}},
      {.name = "one_hot",
       .signature = "x: Tensor, num_classes: Size, dtype: DType = int64",
       .doc = "A new last axis with 1 at the position that x gives and 0 elsewhere (all 0 if it is outside).",
       .build = build_one_hot,
       .test = {.numpy = "np.eye(num_classes)[x]",
                .domains = {"index:num_classes"},
                .dtypes = "i",
                .exact = true},
       .cases = {"x=(5,), num_classes=7", "x=(2,3), num_classes=4"}},
      {.name = "masked_fill",
       .signature = "x: Tensor, mask: Tensor, value: Tensor | float",
       .doc = "x with a value where the mask (bool, broadcast) holds.",
       .build = build_masked_fill,
       .test = {.numpy = "np.where(mask, value, x)", .domains = {"real", "bool"}, .exact = true},
       .cases = {"x=(3,5), mask=(3,5), value=2", "x=(3,5), mask=(5,), value=-1"},
       .method = true},
      {.name = "diagonal",
       .signature = "x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1",
       .doc = "The diagonal of two axes, as a new last axis.",
       .build = build_diagonal,
       .test = {.numpy = "np.diagonal(x, offset, axis1, axis2)", .exact = true},
       .cases = {"x=(4,4)", "x=(3,5), offset=1", "x=(2,3,4), offset=-1, axis1=1, axis2=2",
                 "x=(3,3), axis1=1, axis2=0"}},
  };
}

std::vector<Function> writing_functions() {
  return {
      {.name = "scatter",
       .signature = "x: Tensor, axis: int, index: Tensor, src: Tensor | float",
       .doc =
           "x with src (of the index's shape) written at the positions along the axis that the index gives; "
           "of two writes to one place the later in row-major order stays.",
       .build = [](const Args& a) { return build_scatter(a, "set"); },
       .test = {.numpy = "ref.scatter(x, index, src, axis, 'set')",
                .domains = {"real", "index:axis", "real"},
                .exact = true},
       .cases = {"x=(7,), axis=0, index=(4,), src=(4,)", "x=(3,5), axis=1, index=(3,2), src=(3,2)"}},
      {.name = "scatter_add",
       .signature = "x: Tensor, axis: int, index: Tensor, src: Tensor | float",
       .doc =
           "x with src added at the positions along the axis that the index gives, in row-major order; halves "
           "are summed in float32.",
       .build = [](const Args& a) { return build_scatter(a, "add"); },
       .test = {.numpy = "ref.scatter(x, index, src, axis, 'add')",
                .domains = {"real", "index:axis", "real"},
                .dtypes = "if",
                .ulp = 8,
                .atol = 1e-6},
       .cases = {"x=(7,), axis=0, index=(14,), src=(14,)", "x=(3,5), axis=0, index=(6,5), src=(6,5)"}},
      {.name = "put_along_axis",
       .signature = "x: Tensor, indices: Tensor, values: Tensor | float, axis: int",
       .doc = "x with values written where take_along_axis would read.",
       .build = build_put_along_axis,
       .test = {.numpy = "ref.put_along_axis(x, indices, values, axis)",
                .domains = {"real", "index:axis", "real"},
                .exact = true},
       .cases = {"x=(3,5), indices=(3,1), values=(3,1), axis=1"}},
      {.name = "index_add",
       .signature = "x: Tensor, axis: int, index: Tensor, source: Tensor",
       .doc = "x with slices of source added to its slices at the positions of an index vector.",
       .build = build_index_add,
       .test = {.numpy = "ref.scatter(x, index, source, axis, 'add')",
                .domains = {"real", "index:axis", "real"},
                .ulp = 8,
                .atol = 1e-6},
       .cases = {"x=(7,3), axis=0, index=(9,), source=(9,3)", "x=(3,5), axis=1, index=(2,), source=(3,2)"}},
      {.name = "put_nd",
       .signature = "x: Tensor, indices: tuple[Tensor, ...], axes: tuple[int, ...], values: Tensor | float, "
                    "combine: str = \"set\"",
       .doc = "x with values written (combine: set, add, mul, min, max) where take_nd would read.",
       .build = build_put_nd,
       .test = {.numpy = "ref.put_nd(x, indices, axes, values, combine)",
                .domains = {"real", "index:axes", "real"},
                .ulp = 8,
                .atol = 1e-6},
       .cases = {"x=(3,5,4), indices=[(6,),(6,)], axes=(0,1), values=(6,4)",
                 "x=(3,5,4), indices=[(6,),(6,)], axes=(0,2), values=(6,5), combine='add'",
                 "x=(3,5,4), indices=[(2,3)], axes=(1,), values=2.0"}},
  };
}

std::vector<Function> order_functions() {
  return {
      {.name = "sort",
       .signature = kSort,
       .doc = "The values along an axis (or of the flattened tensor) in order; always stable; NaN is the "
              "greatest.",
       .build = [](const Args& a) -> Values { return {sorted(a, false)}; },
       .test = {.numpy = "ref.sort(x, axis, descending, False)[0]", .dtypes = "biuf", .exact = true},
       .cases = kSortCases,
       .method = true},
      {.name = "argsort",
       .signature = kSort,
       .doc = "The positions (int64) that put the values along an axis in order; always stable.",
       .build = [](const Args& a) -> Values { return {sorted(a, true)}; },
       .test = {.numpy = "ref.sort(x, axis, descending, True)[0]",
                .domains = {"digits"},
                .dtypes = "iuf",
                .exact = true},
       .cases = kSortCases,
       .method = true},
      {.name = "topk",
       .signature = "x: Tensor, k: int, axis: int = -1, largest: bool = True, sorted: bool = True",
       .returns = "tuple[Tensor, Tensor]",
       .doc =
           "The k largest (or smallest) values along an axis, in order, and their positions (int64); of equal "
           "values the first come first.",
       .build = build_topk,
       .test =
           {.numpy = "ref.topk(x, k, axis, largest)", .domains = {"digits"}, .dtypes = "iuf", .exact = true},
       .cases = {"x=(37,), k=5", "x=(3,5), k=2, axis=0", "x=(3,5), k=2, largest=False", "x=(3,5), k=0",
                 "x=(4,), k=4"},
       .method = true},
  };
}

}  // namespace

const std::vector<Function>& indexing_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> v = reading_functions();
    for (const auto& part : {writing_functions(), order_functions()})
      v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

}  // namespace pto
