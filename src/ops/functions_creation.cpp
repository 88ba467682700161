// Tensors from sizes and numbers.
#include <cmath>

#include "ops/compose.h"
#include "ops/function_families.h"

namespace pto {
namespace {

DType dtype_or(const Args& args, DType otherwise) {
  return args.given("dtype") ? args.dtype("dtype") : otherwise;
}

Values build_full(const Args& args) {
  const Operand value = args.operand("value");
  const Value scalar = args.given("dtype") ? to_value_of(value, args.dtype("dtype")) : to_value(value);
  return {broadcast_to(scalar, args.shape("shape"))};
}

Values filled(const Args& args, double value) {
  return {full(args.shape("shape"), Scalar::from_double(dtype_or(args, kDefaultFloat), value))};
}

Values filled_like(const Args& args, double value) {
  const Value x = args.tensor("x");
  return {full(x.shape(), Scalar::from_double(dtype_or(args, x.dtype()), value))};
}

Values build_full_like(const Args& args) {
  const Value x = args.tensor("x");
  const Operand value = args.operand("value");
  const Value scalar =
      args.given("dtype") ? to_value_of(value, args.dtype("dtype")) : to_value(value, x.dtype());
  return {broadcast_to(scalar, x.shape())};
}

// start, start + step, ... up to but without stop. One bound alone is the stop.
Values build_arange(const Args& args) {
  const bool two = args.given("stop");
  const Operand first = two ? args.operand("start") : Operand(int64_t{0});
  const Operand last = args.operand(two ? "stop" : "start"), step = args.operand("step");
  bool floats = false;
  for (const auto& o : {first, last, step}) floats |= std::holds_alternative<double>(o);
  const DType type = dtype_or(args, floats ? kDefaultFloat : DType::I64);
  if (!floats) {
    const int64_t by = args.integer("step");
    if (by == 0) fail(args, "the step is 0");
    const Size from = two ? args.size("start") : Size(0), to = args.size(two ? "stop" : "start");
    const Size span = by > 0 ? ceil_div(to - from, by) : ceil_div(from - to, -by);
    const Size n = simplify(bounds(simplify(span)).lo >= 0 ? span : max(span, Expr(0)));
    if (is_int(type) && from.is_const() && n.is_const() && n.as_int() > 0)
      for (const int64_t end : {from.as_int(), from.as_int() + (n.as_int() - 1) * by}) to_value(end, type);
    Value x = iota({n}, 0, type == DType::Bool ? DType::I64 : type);
    if (by != 1) x = mul(x, by);
    if (!from.is_const(0)) x = add(x, size_value(from, x.dtype()));
    return {cast(x, type)};
  }
  const double from = two ? args.number("start") : 0, to = args.number(two ? "stop" : "start");
  const double by = args.number("step"), n = std::ceil((to - from) / by);
  if (by == 0 || !(std::abs(n) < 0x1p60))
    fail(args, "start, stop and step give no number of elements that memory could hold");
  const Value steps = iota({Size(std::max<int64_t>(0, static_cast<int64_t>(n)))}, 0, DType::F64);
  return {cast(add(mul(steps, by), from), type)};
}

Values build_linspace(const Args& args) {
  const int64_t n = args.integer("num");
  if (n < 0) fail(args, "num is negative", "num >= 0", std::to_string(n));
  const double start = args.number("start"), stop = args.number("stop");
  const bool endpoint = args.boolean("endpoint");
  const double parts = static_cast<double>(endpoint ? n - 1 : n);
  const Value i = iota({Size(n)}, 0, DType::F64);
  Value x = add(mul(i, parts > 0 ? (stop - start) / parts : 0), start);
  if (endpoint && n > 1) x = where(equal(i, parts), stop, x);
  return {cast(x, dtype_or(args, kDefaultFloat))};
}

using Comparison = Value (*)(Operand, Operand);

// How column - row compares with k, as a bool that broadcasts to [n, m].
Value diagonal_mask(const Size& n, const Size& m, const Size& k, Comparison compare, int rank = 2) {
  return compare(positions(m, rank - 1, rank), add(positions(n, rank - 2, rank), size_value(k, DType::I64)));
}

Values build_eye(const Args& args) {
  const Size n = args.size("n"), m = args.given("m") ? args.size("m") : n;
  return {
      cast(broadcast_to(diagonal_mask(n, m, args.size("k"), equal), {n, m}), dtype_or(args, kDefaultFloat))};
}

Values triangle(const Args& args, Comparison compare) {
  const Value x = args.tensor("x");
  if (x.rank() < 2) fail(args, "a triangle needs two axes", "rank >= 2", x.type().str());
  const Size &n = x.shape()[x.rank() - 2], &m = x.shape()[x.rank() - 1];
  const Value mask = diagonal_mask(n, m, args.size("k"), compare, x.rank());
  return {where(mask, x, full({}, Scalar::from_int(x.dtype(), 0)))};
}

Values build_meshgrid(const Args& args) {
  Values xs = args.tensors("xs");
  const std::string indexing = args.string("indexing");
  if (indexing != "xy" && indexing != "ij") fail(args, "unknown indexing", "xy or ij", indexing);
  const int rank = static_cast<int>(xs.size());
  auto axis_of = [&](int i) { return indexing == "xy" && rank >= 2 && i < 2 ? 1 - i : i; };
  Shape shape(rank, Size(1));
  for (int i = 0; i < rank; i++) {
    if (xs[i].rank() > 1) fail(args, "the coordinates must be vectors", "rank 0 or 1", xs[i].type().str());
    shape[axis_of(i)] = xs[i].rank() == 0 ? Size(1) : xs[i].shape()[0];
  }
  Values grids;
  for (int i = 0; i < rank; i++) {
    Shape along(rank, Size(1));
    along[axis_of(i)] = shape[axis_of(i)];
    grids.push_back(broadcast_to(reshape(xs[i], along), shape));
  }
  return grids;
}

}  // namespace

const std::vector<Function>& creation_functions() {
  static const std::vector<Function> all = {
      {.name = "zeros",
       .signature = "shape: Shape, dtype: DType = float32",
       .doc = "A tensor of zeros.",
       .build = [](const Args& a) { return filled(a, 0); },
       .test = {.numpy = "np.zeros(shape, dtype)", .exact = true},
       .cases = {"shape=(2,3)", "shape=5, dtype='int32'", "shape=()", "shape=(0,2)"}},
      {.name = "ones",
       .signature = "shape: Shape, dtype: DType = float32",
       .doc = "A tensor of ones.",
       .build = [](const Args& a) { return filled(a, 1); },
       .test = {.numpy = "np.ones(shape, dtype)", .exact = true},
       .cases = {"shape=(2,3)", "shape=5, dtype='bool'"}},
      {.name = "full",
       .signature = "shape: Shape, value: Tensor | float, dtype: DType | None = None",
       .doc = "A tensor of one value; the type is the value's unless it is given.",
       .build = build_full,
       .test = {.numpy = "np.full(shape, value, dtype)", .exact = true},
       .cases = {"shape=(2,3), value=7", "shape=(4,), value=1.5", "shape=(), value=True"}},
      {.name = "zeros_like",
       .signature = "x: Tensor, dtype: DType | None = None",
       .doc = "Zeros of the shape and type of x.",
       .build = [](const Args& a) { return filled_like(a, 0); },
       .test = {.numpy = "np.zeros_like(x, dtype)", .dtypes = "biuf", .exact = true},
       .cases = {"x=(2,3)", "x=()"}},
      {.name = "ones_like",
       .signature = "x: Tensor, dtype: DType | None = None",
       .doc = "Ones of the shape and type of x.",
       .build = [](const Args& a) { return filled_like(a, 1); },
       .test = {.numpy = "np.ones_like(x, dtype)", .dtypes = "biuf", .exact = true},
       .cases = {"x=(2,3)", "x=(0,)"}},
      {.name = "full_like",
       .signature = "x: Tensor, value: Tensor | float, dtype: DType | None = None",
       .doc = "One value in the shape and type of x.",
       .build = build_full_like,
       .test = {.numpy = "np.full_like(x, value, dtype)", .dtypes = "iuf", .exact = true},
       .cases = {"x=(2,3), value=3"}},
      {.name = "arange",
       .signature = "start: Size | float, stop: Size | float | None = None, step: int | float = 1, "
                    "dtype: DType | None = None",
       .doc = "start, start + step, ... below stop (above it for a negative step); arange(n) is 0 .. n-1. "
              "int64 if all three are integers, else float32.",
       .build = build_arange,
       .test = {.numpy = "np.arange(start, stop, step) if stop is not None else np.arange(start)"},
       .cases = {"start=5", "start=2, stop=11, step=3", "start=5, stop=-2, step=-2",
                 "start=0.0, stop=1.0, step=0.1", "start=3, stop=3", "start=0"}},
      {.name = "linspace",
       .signature =
           "start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DType | None = None",
       .doc = "num evenly spaced numbers from start to stop, which is the last unless endpoint is False.",
       .build = build_linspace,
       .test = {.numpy = "np.linspace(start, stop, num, endpoint)"},
       .cases = {"start=0.0, stop=1.0, num=7", "start=-2.0, stop=3.0, num=5, endpoint=False",
                 "start=1.0, stop=2.0, num=1", "start=1.0, stop=2.0, num=0"}},
      {.name = "eye",
       .signature = "n: Size, m: Size | None = None, k: Size = 0, dtype: DType = float32",
       .doc = "Ones on the k-th diagonal of an n x m matrix, zeros elsewhere.",
       .build = build_eye,
       .test = {.numpy = "np.eye(n, m, k)", .exact = true},
       .cases = {"n=4", "n=3, m=5, k=1", "n=3, m=2, k=-1", "n=0"}},
      {.name = "tril",
       .signature = "x: Tensor, k: Size = 0",
       .doc = "x with zeros above the k-th diagonal of its last two axes.",
       .build = [](const Args& a) { return triangle(a, less_equal); },
       .test = {.numpy = "np.tril(x, k)", .dtypes = "iuf", .exact = true},
       .cases = {"x=(4,4)", "x=(2,3,5), k=1", "x=(5,3), k=-2"},
       .method = true},
      {.name = "triu",
       .signature = "x: Tensor, k: Size = 0",
       .doc = "x with zeros below the k-th diagonal of its last two axes.",
       .build = [](const Args& a) { return triangle(a, greater_equal); },
       .test = {.numpy = "np.triu(x, k)", .dtypes = "iuf", .exact = true},
       .cases = {"x=(4,4)", "x=(2,3,5), k=1", "x=(5,3), k=-2"},
       .method = true},
      {.name = "meshgrid",
       .signature = "*xs: Tensor, indexing: str = \"xy\"",
       .returns = "tuple[Tensor, ...]",
       .doc = "Coordinates of a grid, one tensor per vector; with \"xy\" the first two axes are exchanged.",
       .build = build_meshgrid,
       .test = {.numpy = "np.meshgrid(*xs, indexing=indexing)", .dtypes = "if", .exact = true},
       .cases = {"xs=[(3,),(4,)]", "xs=[(3,),(4,),(2,)], indexing='ij'"}},
  };
  return all;
}

}  // namespace pto
