// Functions that move elements without computing on them.
#include <algorithm>
#include <numeric>

#include "ops/compose.h"
#include "ops/function_families.h"
#include "ops/size_context.h"

namespace pto {
namespace {

// --- shapes -------------------------------------------------------------------------------------

Values build_reshape(const Args& args) { return {reshape(args.tensor("x"), args.shape("shape"))}; }

Values build_transpose(const Args& args) {
  const Value x = args.tensor("x");
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (args.given("axes")) perm = normalise_axes(args.integers("axes"), x.rank(), args.function());
  if (static_cast<int>(perm.size()) != x.rank())
    fail(args, "axes must name every axis once", std::to_string(x.rank()) + " axes",
         std::to_string(perm.size()));
  return {permute(x, perm)};
}

Values build_swapaxes(const Args& args) {
  const Value x = args.tensor("x");
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[axis_argument(args, "axis1", x.rank())], perm[axis_argument(args, "axis2", x.rank())]);
  return {permute(x, perm)};
}

Values build_moveaxis(const Args& args) {
  const Value x = args.tensor("x");
  const auto from = normalise_axes(args.integers("source"), x.rank(), args.function());
  const auto to = normalise_axes(args.integers("destination"), x.rank(), args.function());
  if (from.size() != to.size())
    fail(args, "source and destination must name equally many axes", std::to_string(from.size()),
         std::to_string(to.size()));
  std::vector<int64_t> perm(x.rank(), -1), rest;
  for (int64_t d = 0; d < x.rank(); d++)
    if (std::find(from.begin(), from.end(), d) == from.end()) rest.push_back(d);
  for (size_t i = 0; i < from.size(); i++) perm[to[i]] = from[i];
  auto next = rest.begin();
  for (auto& p : perm)
    if (p < 0) p = *next++;
  return {permute(x, perm)};
}

Values build_squeeze(const Args& args) {
  const Value x = args.tensor("x");
  const bool all = !args.given("axis");
  const auto axes = axes_argument(args, "axis", x.rank());
  Shape shape;
  for (int64_t d = 0; d < x.rank(); d++) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    const bool one = all ? x.shape()[d].is_const(1) : named && sizes_agree(x.shape()[d], 1);
    if (named && !one && !all)
      fail(args, "axis " + std::to_string(d) + " cannot be dropped", "size 1", to_text(x.shape()[d]),
           std::to_string(d), {x});
    if (!one) shape.push_back(x.shape()[d]);
  }
  return {reshape(x, shape)};
}

Values build_expand_dims(const Args& args) {
  const Value x = args.tensor("x");
  const auto given = args.integers("axis");
  const int rank = x.rank() + static_cast<int>(given.size());
  const auto axes = normalise_axes(given, rank, args.function());
  Shape shape;
  for (int64_t d = 0, from = 0; d < rank; d++)
    shape.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? Size(1) : x.shape()[from++]);
  return {reshape(x, shape)};
}

Values build_flatten(const Args& args) {
  const Value x = args.tensor("x");
  if (x.rank() == 0) return {reshape(x, {Size(1)})};
  const int64_t first = axis_argument(args, "start_axis", x.rank());
  const int64_t last = axis_argument(args, "end_axis", x.rank());
  if (first > last) fail(args, "start_axis stands after end_axis");
  const Shape& from = x.shape();
  Shape shape(from.begin(), from.begin() + first);
  shape.push_back(simplify(product({from.begin() + first, from.begin() + last + 1})));
  shape.insert(shape.end(), from.begin() + last + 1, from.end());
  return {reshape(x, shape)};
}

// -1 keeps the size that the axis has.
Values build_broadcast_to(const Args& args) {
  const Value x = args.tensor("x");
  Shape shape = args.shape("shape");
  const int64_t extra = static_cast<int64_t>(shape.size()) - x.rank();
  for (int64_t d = std::max<int64_t>(extra, 0); d < static_cast<int64_t>(shape.size()); d++)
    if (shape[d].is_const(-1)) shape[d] = x.shape()[d - extra];
  return {broadcast_to(x, shape)};
}

Values build_broadcast_arrays(const Args& args) {
  Values xs = args.tensors("xs");
  std::vector<Shape> shapes;
  for (const auto& x : xs) shapes.push_back(x.shape());
  const Shape shape = broadcast_shapes(shapes, args.function(), xs);
  for (auto& x : xs) x = broadcast_to(x, shape);
  return xs;
}

// --- joining and splitting -----------------------------------------------------------------------

// What is listed along the leading axis of a tensor.
Values rows_of(const Args& args, const Value& x) {
  if (x.rank() == 0 || !x.shape()[0].is_const())
    fail(args, "one tensor stands for its rows, whose number must be known", "a list of tensors",
         x.type().str(), "", {x});
  Values rows;
  for (int64_t i = 0; i < x.shape()[0].as_int(); i++)
    rows.push_back(reshape(slice_axis(x, 0, i, i + 1), {x.shape().begin() + 1, x.shape().end()}));
  return rows;
}

// Tensors of the type that they all promote to.
Values promoted(const Args& args, const char* name) {
  Values xs = args.single(name) ? rows_of(args, args.tensor(name)) : args.tensors(name);
  if (xs.empty()) fail(args, "there are no tensors to join", "at least one", "none");
  DType type = xs[0].dtype();
  for (const auto& x : xs) {
    const auto both = promote(type, x.dtype());
    if (!both)
      fail(args, "the types do not promote to one", "",
           std::string(pto::name(type)) + " and " + std::string(pto::name(x.dtype())), "", xs);
    type = *both;
  }
  for (auto& x : xs) x = cast(x, type);
  return xs;
}

Values build_concat(const Args& args) {
  const Values xs = promoted(args, "xs");
  if (args.given("axis")) return {concat(xs, axis_argument(args, "axis", xs[0].rank()))};
  Values flat;
  for (const auto& x : xs) flat.push_back(reshape(x, {Size(-1)}));
  return {concat(flat, 0)};
}

Values build_stack(const Args& args) {
  Values xs = promoted(args, "xs");
  const int64_t axis = axis_argument(args, "axis", xs[0].rank() + 1);
  for (auto& x : xs) {
    if (x.rank() != xs[0].rank() && x.rank() + 1 != xs[0].rank())
      fail(args, "the tensors must have one shape", "", "", "", args.tensors("xs"));
    x = expand(x, std::min<int64_t>(axis, x.rank()));
  }
  return {concat(xs, axis)};
}

Values build_hstack(const Args& args) {
  Values xs = promoted(args, "xs");
  for (auto& x : xs)
    if (x.rank() == 0) x = reshape(x, {Size(1)});
  return {concat(xs, xs[0].rank() == 1 ? 0 : 1)};
}

Values build_vstack(const Args& args) {
  Values xs = promoted(args, "xs");
  for (auto& x : xs)
    if (x.rank() < 2) x = reshape(x, {Size(1), Size(-1)});
  return {concat(xs, 0)};
}

Values pieces(const Value& x, int64_t axis, const std::vector<Size>& cuts) {
  Values parts;
  for (size_t i = 0; i + 1 < cuts.size(); i++) parts.push_back(slice_axis(x, axis, cuts[i], cuts[i + 1]));
  return parts;
}

// Of a size that is not known, its hint tells, and the answer becomes a guard.
bool not_negative(const Size& n) { return assume(Size(-1) < n); }

// A number of equal parts, or the positions at which to cut (beyond the end: empty parts).
Values build_split(const Args& args) {
  const Value x = args.tensor("x");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  const Size n = x.shape()[axis];
  std::vector<Size> cuts{Size(0)};
  if (args.whole("sections")) {
    const int64_t parts = args.integer("sections");
    if (parts < 1 || !assume(equal(mod(n, parts), Size(0))))
      fail(args, "axis " + std::to_string(axis) + " cannot be cut into equal parts",
           "a number of parts that divides " + to_text(n), std::to_string(parts), std::to_string(axis), {x});
    for (int64_t i = 1; i <= parts; i++) cuts.push_back(simplify(floordiv(n, parts) * Size(i)));
  } else {
    for (const Size& at : args.shape("sections"))
      cuts.push_back(simplify(not_negative(at) ? min(at, n) : max(n + at, Size(0))));
    cuts.push_back(n);
    for (size_t i = 1; i < cuts.size(); i++) cuts[i] = simplify(max(cuts[i - 1], cuts[i]));
  }
  return pieces(x, axis, cuts);
}

// Parts of size ceil(n / chunks); the last may be smaller, and there may be fewer. Of nothing, all parts.
Values build_chunk(const Args& args) {
  const Value x = args.tensor("x");
  const int64_t axis = axis_argument(args, "axis", x.rank()), chunks = args.integer("chunks");
  const Size n = x.shape()[axis];
  if (chunks < 1) fail(args, "chunks must be positive", "chunks >= 1", std::to_string(chunks));
  std::vector<Size> cuts{Size(0)};
  if (assume(equal(mod(n, chunks), Size(0)))) {
    for (int64_t i = 1; i < chunks; i++) cuts.push_back(simplify(floordiv(n, chunks) * Size(i)));
  } else {
    // The number of parts of a symbolic axis becomes a guard.
    const Size part = simplify(floordiv(n + Size(chunks - 1), chunks));
    int64_t count = chunks;
    while (count > 1 && !assume(equal(floordiv(n + part - Size(1), part), Size(count)))) count--;
    for (int64_t i = 1; i < count; i++) cuts.push_back(simplify(part * Size(i)));
  }
  cuts.push_back(n);
  return pieces(x, axis, cuts);
}

Values build_unbind(const Args& args) {
  const Value x = args.tensor("x");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  const Size n = x.shape()[axis];
  if (!n.is_const())
    fail(args, "the axis must have a known size", "an integer", to_text(n), std::to_string(axis), {x});
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  Values parts;
  for (int64_t i = 0; i < n.as_int(); i++) parts.push_back(reshape(slice_axis(x, axis, i, i + 1), shape));
  return parts;
}

// --- repeating, shifting, padding ----------------------------------------------------------------

Values build_tile(const Args& args) {
  Value x = args.tensor("x");
  Shape reps = args.shape("reps");
  const size_t rank = std::max<size_t>(x.rank(), reps.size());
  Shape from = x.shape();
  from.insert(from.begin(), rank - from.size(), Size(1));
  reps.insert(reps.begin(), rank - reps.size(), Size(1));
  Shape apart, repeated, result;
  for (size_t d = 0; d < rank; d++) {
    if (!not_negative(reps[d])) fail(args, "a number of repetitions is negative", "", to_text(reps[d]));
    apart.insert(apart.end(), {Size(1), from[d]});
    repeated.insert(repeated.end(), {reps[d], from[d]});
    result.push_back(simplify(reps[d] * from[d]));
  }
  return {reshape(broadcast_to(reshape(x, apart), repeated), result)};
}

Values build_repeat(const Args& args) {
  Value x = args.tensor("x");
  const Size n = args.size("repeats");
  if (!not_negative(n)) fail(args, "repeats is negative", "repeats >= 0", to_text(n));
  if (!args.given("axis")) x = reshape(x, {Size(-1)});
  const int64_t axis = args.given("axis") ? axis_argument(args, "axis", x.rank()) : 0;
  const Value apart = expand(x, axis + 1);
  Shape repeated = apart.shape(), result = x.shape();
  repeated[axis + 1] = n;
  result[axis] = simplify(result[axis] * n);
  return {reshape(broadcast_to(apart, repeated), result)};
}

Value roll(const Value& x, int64_t axis, const Size& shift) {
  const Size n = x.shape()[axis];
  if (n.is_const(0) || shift.is_const(0)) return x;
  const Size cut = simplify(mod(Size(0) - shift, n));
  return concat({slice_axis(x, axis, cut, n), slice_axis(x, axis, 0, cut)}, axis);
}

Values build_roll(const Args& args) {
  const Value x = args.tensor("x");
  auto shifts = args.shape("shift");
  if (!args.given("axis")) {
    if (shifts.size() != 1)
      fail(args, "without an axis there is one shift", "1", std::to_string(shifts.size()));
    return {reshape(roll(reshape(x, {Size(-1)}), 0, shifts[0]), x.shape())};
  }
  Value y = x;
  const auto axes = args.integers("axis");
  if (shifts.size() == 1) shifts.resize(axes.size(), shifts[0]);
  if (shifts.size() != axes.size())
    fail(args, "every axis needs a shift", std::to_string(axes.size()), std::to_string(shifts.size()));
  for (size_t i = 0; i < axes.size(); i++)
    y = roll(y, normalise_axis(axes[i], x.rank(), args.function()), shifts[i]);
  return {y};
}

Values build_flip(const Args& args) {
  const Value x = args.tensor("x");
  return {flip(x, axes_argument(args, "axis", x.rank()))};
}

Values build_rot90(const Args& args) {
  const Value x = args.tensor("x");
  const auto axes = normalise_axes(args.integers("axes"), x.rank(), args.function());
  if (axes.size() != 2) fail(args, "a rotation has two axes", "2", std::to_string(axes.size()));
  const int64_t turns = ((args.integer("k") % 4) + 4) % 4;
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[axes[0]], perm[axes[1]]);
  if (turns == 0) return {x};
  if (turns == 2) return {flip(x, axes)};
  if (turns == 1) return {permute(flip(x, {axes[1]}), perm)};
  return {flip(permute(x, perm), {axes[1]})};
}

// The position of x that each place of a padded axis repeats.
Value padding_source(const Args& args, const std::string& mode, const Size& n, const Size& before,
                     const Size& after) {
  const Value i = sub(iota({simplify(n + before + after)}, 0, DType::I64), size_value(before, DType::I64));
  const Value size = size_value(n, DType::I64);
  if (mode == "edge") return minimum(maximum(i, int64_t{0}), sub(size, int64_t{1}));
  if (mode == "wrap") return binary("remainder", i, size);
  if (mode == "reflect") {   // x % 0 is 0: one element is its own mirror
    const Value period = mul(sub(size, int64_t{1}), int64_t{2}), m = binary("remainder", i, period);
    return where(less(m, size), m, sub(period, m));
  }
  if (mode == "symmetric") {
    const Value period = mul(size, int64_t{2}), m = binary("remainder", i, period);
    return where(less(m, size), m, sub(sub(period, int64_t{1}), m));
  }
  fail(args, "unknown mode", "constant, edge, reflect, symmetric or wrap", mode);
}

Values build_pad(const Args& args) {
  Value x = args.tensor("x");
  Shape widths = args.shape("pad_width");
  const int rank = x.rank();
  if (widths.size() == 1) widths.assign(2 * rank, widths[0]);
  if (widths.size() == 2 && rank != 1) {
    const auto pair = widths;
    widths.clear();
    for (int d = 0; d < rank; d++) widths.insert(widths.end(), pair.begin(), pair.end());
  }
  if (static_cast<int>(widths.size()) != 2 * rank)
    fail(args, "pad_width needs a pair (before, after) for each axis", std::to_string(rank) + " pairs",
         std::to_string(widths.size()) + " numbers");
  for (const Size& w : widths)
    if (!not_negative(w)) fail(args, "a width is negative", "widths >= 0", to_text(w));
  const std::string mode = args.string("mode");
  if (mode == "constant") {
    Exprs before, after;
    for (int d = 0; d < rank; d++) {
      before.push_back(widths[2 * d]);
      after.push_back(widths[2 * d + 1]);
    }
    return {pad(x, before, after, to_value(args.operand("value"), x.dtype()))};
  }
  for (int d = 0; d < rank; d++)
    if (!widths[2 * d].is_const(0) || !widths[2 * d + 1].is_const(0))
      x = take(x, padding_source(args, mode, x.shape()[d], widths[2 * d], widths[2 * d + 1]), d);
  return {x};
}

std::vector<Function> shape_functions() {
  return {
      {.name = "reshape",
       .signature = "x: Tensor, shape: Shape",
       .doc = "The same elements in row-major order in another shape; one size may be -1.",
       .build = build_reshape,
       .test = {.numpy = "np.reshape(x, shape)", .dtypes = "biuf", .exact = true},
       .cases = {"x=(6,4), shape=(3,8)", "x=(6,4), shape=(2,-1,2)", "x=(), shape=(1,1)",
                 "x=(0,3), shape=(3,0)", "x=(24,), shape=-1"},
       .method = true},
      {.name = "transpose",
       .signature = "x: Tensor, axes: tuple[int, ...] | None = None",
       .doc = "The axes in another order (reversed by default).",
       .build = build_transpose,
       .test = {.numpy = "np.transpose(x, axes)", .dtypes = "biuf", .exact = true},
       .cases = {"x=(3,5)", "x=(2,3,4), axes=(1,0,2)", "x=(2,3,4), axes=(-1,0,1)", "x=()", "x=(17,33)"},
       .method = true,
       .aliases = {"permute", "permute_dims"}},
      {.name = "swapaxes",
       .signature = "x: Tensor, axis1: int, axis2: int",
       .doc = "Two axes exchanged.",
       .build = build_swapaxes,
       .test = {.numpy = "np.swapaxes(x, axis1, axis2)", .dtypes = "f", .exact = true},
       .cases = {"x=(2,3,4), axis1=0, axis2=-1"},
       .method = true},
      {.name = "moveaxis",
       .signature = "x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]",
       .doc = "Axes moved to other places; the rest keep their order.",
       .build = build_moveaxis,
       .test = {.numpy = "np.moveaxis(x, source, destination)", .dtypes = "f", .exact = true},
       .cases = {"x=(2,3,4), source=0, destination=-1", "x=(2,3,4,5), source=(0,1), destination=(2,0)"},
       .method = true},
      {.name = "squeeze",
       .signature = "x: Tensor, axis: int | tuple[int, ...] | None = None",
       .doc = "Without axes of size 1 (all of them by default). An error if a named axis has another size.",
       .build = build_squeeze,
       .test = {.numpy = "np.squeeze(x, axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(1,3,1)", "x=(1,3,1), axis=0", "x=(1,3,1), axis=(0,-1)"},
       .method = true},
      {.name = "expand_dims",
       .signature = "x: Tensor, axis: int | tuple[int, ...]",
       .doc = "With new axes of size 1 at these places of the result.",
       .build = build_expand_dims,
       .test = {.numpy = "np.expand_dims(x, axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(3,5), axis=0", "x=(3,5), axis=-1", "x=(3,5), axis=(0,2)"},
       .aliases = {"unsqueeze"}},
      {.name = "flatten",
       .signature = "x: Tensor, start_axis: int = 0, end_axis: int = -1",
       .doc = "The axes from start_axis to end_axis as one.",
       .build = build_flatten,
       .test = {.numpy = "ref.flatten(x, start_axis, end_axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(2,3,4)", "x=(2,3,4), start_axis=1", "x=()"},
       .method = true},
      {.name = "ravel",
       .signature = "x: Tensor",
       .doc = "All elements in row-major order.",
       .build = [](const Args& a) -> Values { return {reshape(a.tensor("x"), {Size(-1)})}; },
       .test = {.numpy = "np.ravel(x)", .dtypes = "f", .exact = true},
       .cases = {"x=(2,3,4)", "x=()"},
       .method = true},
      {.name = "broadcast_to",
       .signature = "x: Tensor, shape: Shape",
       .doc = "x repeated to a larger shape by NumPy's rule; -1 keeps a size.",
       .build = build_broadcast_to,
       .test = {.numpy = "np.broadcast_to(x, shape)", .dtypes = "f", .exact = true},
       .cases = {"x=(3,1), shape=(2,3,5)", "x=(), shape=(4,)", "x=(1,), shape=(0,)"},
       .method = true,
       .aliases = {"expand"}},
      {.name = "broadcast_arrays",
       .signature = "*xs: Tensor",
       .returns = "tuple[Tensor, ...]",
       .doc = "All tensors in the shape to which they broadcast together.",
       .build = build_broadcast_arrays,
       .test = {.numpy = "np.broadcast_arrays(*xs)", .dtypes = "f", .exact = true},
       .cases = {"xs=[(3,1),(4,)]"}},
  };
}

std::vector<Function> joining_functions() {
  return {
      {.name = "concat",
       .signature = "xs: tuple[Tensor, ...], axis: int | None = 0",
       .doc = "Tensors one after the other along an axis (flattened if it is None), promoted to one type.",
       .build = build_concat,
       .test = {.numpy = "np.concatenate(xs, axis)", .dtypes = "biuf", .exact = true},
       .cases = {"xs=[(2,3),(4,3)]", "xs=[(2,3),(2,1),(2,0)], axis=-1", "xs=[(2,3),(4,)], axis=None",
                 "xs=[(5,)]"},
       .aliases = {"concatenate", "cat"}},
      {.name = "stack",
       .signature = "xs: tuple[Tensor, ...], axis: int = 0",
       .doc = "Tensors of one shape along a new axis.",
       .build = build_stack,
       .test = {.numpy = "np.stack(xs, axis)", .dtypes = "f", .exact = true},
       .cases = {"xs=[(2,3),(2,3)]", "xs=[(2,3),(2,3),(2,3)], axis=-1", "xs=[(),()]"}},
      {.name = "hstack",
       .signature = "xs: tuple[Tensor, ...]",
       .doc = "Tensors side by side: along axis 1, vectors along axis 0.",
       .build = build_hstack,
       .test = {.numpy = "np.hstack(xs)", .dtypes = "f", .exact = true},
       .cases = {"xs=[(2,3),(2,1)]", "xs=[(2,),(3,)]"}},
      {.name = "vstack",
       .signature = "xs: tuple[Tensor, ...]",
       .doc = "Tensors above each other: along axis 0, vectors as rows.",
       .build = build_vstack,
       .test = {.numpy = "np.vstack(xs)", .dtypes = "f", .exact = true},
       .cases = {"xs=[(2,3),(1,3)]", "xs=[(3,),(3,)]"}},
      {.name = "split",
       .signature = "x: Tensor, sections: int | tuple[Size, ...], axis: int = 0",
       .returns = "tuple[Tensor, ...]",
       .doc = "Cut along an axis into a number of equal parts, or at the given positions.",
       .build = build_split,
       .test = {.numpy = "np.split(x, sections, axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(6,), sections=3", "x=(2,7), sections=(2,5), axis=1", "x=(4,), sections=(1,9)"},
       .method = true},
      {.name = "chunk",
       .signature = "x: Tensor, chunks: int, axis: int = 0",
       .returns = "tuple[Tensor, ...]",
       .doc = "Cut along an axis into at most `chunks` parts of equal size (the last may be smaller).",
       .build = build_chunk,
       .test = {.numpy = "ref.chunk(x, chunks, axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(7,), chunks=3", "x=(2,6), chunks=2, axis=-1"},
       .method = true},
      {.name = "unbind",
       .signature = "x: Tensor, axis: int = 0",
       .returns = "tuple[Tensor, ...]",
       .doc = "The slices along an axis, without it.",
       .build = build_unbind,
       .test = {.numpy = "[np.take(x, i, axis) for i in range(x.shape[axis])]", .dtypes = "f", .exact = true},
       .cases = {"x=(3,5)", "x=(3,2), axis=1"},
       .method = true},
  };
}

std::vector<Function> repeating_functions() {
  return {
      {.name = "tile",
       .signature = "x: Tensor, reps: Size | tuple[Size, ...]",
       .doc = "x repeated whole along each axis.",
       .build = build_tile,
       .test = {.numpy = "np.tile(x, reps)", .dtypes = "f", .exact = true},
       .cases = {"x=(3,), reps=2", "x=(2,3), reps=(2,1,2)", "x=(2,3), reps=2", "x=(3,), reps=0"},
       .method = true},
      {.name = "repeat",
       .signature = "x: Tensor, repeats: Size, axis: int | None = None",
       .doc = "Each element repeated, along an axis or of the flattened tensor (NumPy's repeat).",
       .build = build_repeat,
       .test = {.numpy = "np.repeat(x, repeats, axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(2,3), repeats=2", "x=(2,3), repeats=3, axis=1"},
       .method = true,
       .aliases = {"repeat_interleave"}},
      {.name = "roll",
       .signature = "x: Tensor, shift: Size | tuple[Size, ...], axis: int | tuple[int, ...] | None = None",
       .doc =
           "Elements moved along axes (or in the flattened tensor); those that leave come in at the other end.",
       .build = build_roll,
       .test = {.numpy = "np.roll(x, shift, axis)", .dtypes = "f", .exact = true},
       .cases = {"x=(7,), shift=2", "x=(3,5), shift=-8, axis=1", "x=(3,5), shift=(1,2), axis=(0,1)",
                 "x=(2,3), shift=1"},
       .method = true},
      {.name = "flip",
       .signature = "x: Tensor, axis: int | tuple[int, ...] | None = None",
       .doc = "Axes reversed (all by default).",
       .build = build_flip,
       .test = {.numpy = "np.flip(x, axis)", .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,)", "x=(3,5), axis=0", "x=(3,5,2), axis=(0,-1)"},
       .method = true},
      {.name = "rot90",
       .signature = "x: Tensor, k: int = 1, axes: tuple[int, ...] = (0, 1)",
       .doc = "Rotated k times by a quarter turn in the plane of two axes.",
       .build = build_rot90,
       .test = {.numpy = "np.rot90(x, k, axes)", .dtypes = "f", .exact = true},
       .cases = {"x=(3,5)", "x=(3,5), k=2", "x=(3,5,2), k=-1, axes=(1,2)"}},
      {.name = "pad",
       .signature =
           "x: Tensor, pad_width: Size | tuple[Size, ...], mode: str = \"constant\", value: Tensor | float = 0",
       .doc =
           "x with borders. pad_width holds (before, after) for each axis, one pair for all, or one number. "
           "Modes: constant, edge, reflect, symmetric, wrap.",
       .build = build_pad,
       .test = {.numpy = "ref.pad(x, pad_width, mode, value)", .dtypes = "if", .exact = true},
       .cases = {"x=(5,), pad_width=2", "x=(3,4), pad_width=(1,0,2,3), value=7", "x=(3,4), pad_width=(1,2)",
                 "x=(5,), pad_width=(3,4), mode='edge'", "x=(5,), pad_width=(3,9), mode='reflect'",
                 "x=(5,), pad_width=(3,11), mode='symmetric'", "x=(2,5), pad_width=(1,0,6,3), mode='wrap'",
                 "x=(0,), pad_width=2"}},
  };
}

}  // namespace

const std::vector<Function>& movement_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> v = shape_functions();
    for (const auto& part : {joining_functions(), repeating_functions()})
      v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

}  // namespace pto
