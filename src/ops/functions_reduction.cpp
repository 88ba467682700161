// Reductions and running reductions.
#include <cmath>

#include "ops/compose.h"
#include "ops/function_families.h"
#include "ops/index_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

// The type in which integers are summed and multiplied: 64 bits.
DType sum_type(DType type) {
  if (is_float(type)) return type;
  return is_int(type) && !is_signed(type) ? DType::U64 : DType::I64;
}

DType result_type(const Args& args, DType otherwise) {
  return args.given("dtype") ? args.dtype("dtype") : otherwise;
}

Values build_fold(const Args& args, const char* monoid) {
  const Value x = args.tensor("x");
  const Value typed = cast(x, result_type(args, sum_type(x.dtype())));
  return {reduce(monoid, typed, axes_argument(args, "axis", x.rank()), args.boolean("keepdims"))};
}

Values build_mean(const Args& args) {
  const Value x = args.tensor("x");
  return {mean(cast(x, result_type(args, floating_type(x))), axes_argument(args, "axis", x.rank()),
               args.boolean("keepdims"))};
}

// An extreme of nothing does not exist.
std::vector<int64_t> extreme_axes(const Args& args, const Value& x) {
  const auto axes = axes_argument(args, "axis", x.rank());
  for (int64_t axis : axes)
    if (!assume(Size(0) < x.shape()[axis]))
      fail(args, "axis " + std::to_string(axis) + " has size 0, and there is no extreme of nothing",
           "a size of at least 1", x.type().str(), std::to_string(axis), {x});
  return axes;
}

Values build_extreme(const Args& args, const char* monoid) {
  const Value x = args.tensor("x");
  return {reduce(monoid, x, extreme_axes(args, x), args.boolean("keepdims"))};
}

// One axis, or the position in the flattened tensor.
Values build_position(const Args& args, const char* monoid) {
  Value x = args.tensor("x");
  const bool keepdims = args.boolean("keepdims");
  extreme_axes(args, x);
  if (args.given("axis")) return {reduce(monoid, x, {axis_argument(args, "axis", x.rank())}, keepdims)};
  const Value flat = reduce(monoid, reshape(x, {Size(-1)}), {0}, false);
  return {keepdims ? reshape(flat, Shape(x.rank(), Size(1))) : flat};
}

double correction(const Args& args) {
  return args.given("correction") ? args.number("correction") : args.number("ddof");
}

Values build_var(const Args& args) {
  const Value x = args.tensor("x");
  return {variance(x, axes_argument(args, "axis", x.rank()), args.boolean("keepdims"), correction(args))};
}

Values build_std(const Args& args) {
  const Value x = args.tensor("x");
  const Value v =
      variance(widened(x), axes_argument(args, "axis", x.rank()), args.boolean("keepdims"), correction(args));
  return {cast(root(v, 2), floating_type(x))};
}

Values build_truth(const Args& args, const char* monoid) {
  const Value x = truth(args.tensor("x"));
  return {reduce(monoid, x, axes_argument(args, "axis", x.rank()), args.boolean("keepdims"))};
}

Values build_count_nonzero(const Args& args) {
  const Value x = cast(truth(args.tensor("x")), DType::I64);
  return {sum(x, axes_argument(args, "axis", x.rank()), args.boolean("keepdims"))};
}

// Shifted by the maximum where it is finite; an infinite maximum is the result.
Values build_logsumexp(const Args& args) {
  const Value x = args.tensor("x"), wide = widened(x);
  const auto axes = axes_argument(args, "axis", x.rank());
  const Value top = reduce("max", wide, axes, true);
  const Value shift = where(less(absolute(top), INFINITY), top, 0.0);
  const Value total = log(sum(exp(sub(wide, shift)), axes, args.boolean("keepdims")));
  const Value back = args.boolean("keepdims") ? shift : reshape(shift, total.shape());
  return {cast(add(total, back), floating_type(x))};
}

Values build_norm(const Args& args) {
  const Value x = args.tensor("x"), wide = absolute(widened(x));
  const auto axes = axes_argument(args, "axis", x.rank());
  const bool keepdims = args.boolean("keepdims");
  const double order = args.number("ord");
  Value y;
  if (std::isinf(order))
    y = reduce(order > 0 ? "max" : "min", wide, axes, keepdims);
  else if (order == 0)
    y = cast(sum(cast(truth(wide), DType::I64), axes, keepdims), wide.dtype());
  else if (order == 1)
    y = sum(wide, axes, keepdims);
  else if (order == 2)
    y = root(sum(mul(wide, wide), axes, keepdims), 2);
  else
    y = root(sum(binary("power", wide, order), axes, keepdims), order);
  return {cast(y, floating_type(x))};
}

Values build_allclose(const Args& args) {
  const Value close = call("isclose", {args.tensor("x"), args.tensor("y")},
                           {{"rtol", args.number("rtol")},
                            {"atol", args.number("atol")},
                            {"equal_nan", args.boolean("equal_nan")}})[0];
  return {reduce("and", close, all_axes(close.rank()), false)};
}

// --- running reductions -------------------------------------------------------------------------

// Without an axis, over the flattened tensor.
Values build_cumulative(const Args& args, const char* monoid) {
  Value x = args.tensor("x");
  const bool sums = std::string_view(monoid) == "add" || std::string_view(monoid) == "mul";
  if (sums) x = cast(x, result_type(args, sum_type(x.dtype())));
  if (std::string_view(monoid) == "logaddexp") x = floating(x);
  if (!args.given("axis")) x = reshape(x, {Size(-1)});
  const int64_t axis = args.given("axis") ? axis_argument(args, "axis", x.rank()) : 0;
  return {cumulative(monoid, x, axis, args.boolean("reverse"))};
}

Values build_diff(const Args& args) {
  Value x = args.tensor("x");
  const int64_t axis = axis_argument(args, "axis", x.rank());
  for (int64_t i = 0; i < args.integer("n"); i++) {
    const Size n = x.shape()[axis];
    if (n.is_const(0)) break;
    const Value later = slice_axis(x, axis, 1, n), earlier = slice_axis(x, axis, 0, simplify(n - Size(1)));
    x = x.dtype() == DType::Bool ? binary("not_equal", later, earlier) : sub(later, earlier);
  }
  return {x};
}

const char* const kFold = "x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False";
const char* const kTypedFold =
    "x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, dtype: DType | None = None";
const char* const kVariance =
    "x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ddof: float = 0.0, "
    "correction: float | None = None";
const char* const kScan = "x: Tensor, axis: int | None = None, reverse: bool = False";
const char* const kTypedScan =
    "x: Tensor, axis: int | None = None, reverse: bool = False, dtype: DType | None = None";
const std::vector<std::string> kFoldCases = {"x=(37,)",
                                             "x=(3,5), axis=1",
                                             "x=(3,5), axis=0, keepdims=True",
                                             "x=(2,3,4,5), axis=(0,-2)",
                                             "x=()",
                                             "x=(2,1,3,1,2,2), axis=(1,4)",
                                             "x=(5,33), axis=-1"};
const std::vector<std::string> kScanCases = {"x=(37,)", "x=(3,5), axis=1", "x=(4,3,2), axis=0, reverse=True",
                                             "x=(2,3)"};

std::vector<std::string> with(std::vector<std::string> cases, const std::vector<std::string>& more) {
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace

const std::vector<Function>& reduction_functions() {
  static const std::vector<std::string> zero = with(kFoldCases, {"x=(0,3), axis=0", "x=(0,)"});
  static const std::vector<std::string> empty = with(kFoldCases, {"x=(2,0), axis=0"});
  static const std::vector<Function> all = {
      {.name = "sum",
       .signature = kTypedFold,
       .doc = "Sum over axes (all by default). Integers and bools are summed in 64 bits, halves in float32.",
       .build = [](const Args& a) { return build_fold(a, "add"); },
       .test = {.numpy = "np.sum(x, axis, keepdims=keepdims)", .dtypes = "biuf", .ulp = 16, .atol = 1e-5},
       .cases = zero,
       .method = true},
      {.name = "prod",
       .signature = kTypedFold,
       .doc = "Product over axes (all by default), in the types in which sum adds.",
       .build = [](const Args& a) { return build_fold(a, "mul"); },
       .test =
           {.numpy = "np.prod(x, axis, keepdims=keepdims)", .domains = {"unit"}, .dtypes = "biuf", .ulp = 64},
       .cases = zero,
       .method = true},
      {.name = "mean",
       .signature = kTypedFold,
       .doc = "Mean over axes (all by default); of integers in float32; of nothing NaN.",
       .build = build_mean,
       .test = {.numpy = "np.mean(x, axis, keepdims=keepdims)", .dtypes = "iuf", .ulp = 16, .atol = 1e-6},
       .cases = zero,
       .method = true},
      {.name = "max",
       .signature = kFold,
       .doc =
           "Greatest value over axes (all by default); NaN if there is one. An error for an axis of size 0.",
       .build = [](const Args& a) { return build_extreme(a, "max"); },
       .test = {.numpy = "np.max(x, axis, keepdims=keepdims)", .dtypes = "biuf", .exact = true},
       .cases = empty,
       .method = true,
       .aliases = {"amax"}},
      {.name = "min",
       .signature = kFold,
       .doc = "Least value over axes (all by default); NaN if there is one. An error for an axis of size 0.",
       .build = [](const Args& a) { return build_extreme(a, "min"); },
       .test = {.numpy = "np.min(x, axis, keepdims=keepdims)", .dtypes = "biuf", .exact = true},
       .cases = empty,
       .method = true,
       .aliases = {"amin"}},
      {.name = "argmax",
       .signature = "x: Tensor, axis: int | None = None, keepdims: bool = False",
       .doc =
           "Position (int64) of the first greatest value along an axis, or in the flattened tensor; NaN is "
           "the greatest.",
       .build = [](const Args& a) { return build_position(a, "argmax"); },
       .test = {.numpy = "np.argmax(x, axis, keepdims=keepdims)",
                .domains = {"digits"},
                .dtypes = "iuf",
                .exact = true},
       .cases = {"x=(37,)", "x=(3,5), axis=1", "x=(3,5), axis=0, keepdims=True", "x=(4,7)",
                 "x=(2,0), axis=0"},
       .method = true},
      {.name = "argmin",
       .signature = "x: Tensor, axis: int | None = None, keepdims: bool = False",
       .doc = "Position (int64) of the first least value along an axis, or in the flattened tensor; NaN is "
              "the least.",
       .build = [](const Args& a) { return build_position(a, "argmin"); },
       .test = {.numpy = "np.argmin(x, axis, keepdims=keepdims)",
                .domains = {"digits"},
                .dtypes = "iuf",
                .exact = true},
       .cases = {"x=(37,)", "x=(3,5), axis=1", "x=(3,5), axis=0, keepdims=True", "x=(4,7)"},
       .method = true},
      {.name = "var",
       .signature = kVariance,
       .doc = "Variance over axes (all by default): the sum of squared deviations divided by n - ddof "
              "(`correction` is another name of ddof).",
       .build = build_var,
       .test = {.numpy =
                    "np.var(x, axis, keepdims=keepdims, ddof=ddof if correction is None else correction)",
                .ulp = 64,
                .atol = 1e-6},
       .cases = with(kFoldCases, {"x=(3,5), axis=1, ddof=1.0", "x=(3,5), axis=0, correction=1.0"}),
       .method = true},
      {.name = "std",
       .signature = kVariance,
       .doc = "Square root of var.",
       .build = build_std,
       .test = {.numpy =
                    "np.std(x, axis, keepdims=keepdims, ddof=ddof if correction is None else correction)",
                .ulp = 64,
                .atol = 1e-6},
       .cases = with(kFoldCases, {"x=(3,5), axis=1, ddof=1.0"}),
       .method = true},
      {.name = "all",
       .signature = kFold,
       .doc = "Are all elements different from zero?",
       .build = [](const Args& a) { return build_truth(a, "and"); },
       .test = {.numpy = "np.all(x, axis, keepdims=keepdims)",
                .domains = {"digits"},
                .dtypes = "biuf",
                .exact = true},
       .cases = zero,
       .method = true},
      {.name = "any",
       .signature = kFold,
       .doc = "Is any element different from zero?",
       .build = [](const Args& a) { return build_truth(a, "or"); },
       .test = {.numpy = "np.any(x, axis, keepdims=keepdims)",
                .domains = {"digits"},
                .dtypes = "biuf",
                .exact = true},
       .cases = zero,
       .method = true},
      {.name = "count_nonzero",
       .signature = kFold,
       .doc = "How many elements (int64) are different from zero?",
       .build = build_count_nonzero,
       .test = {.numpy = "np.count_nonzero(x, axis, keepdims=keepdims)",
                .domains = {"digits"},
                .dtypes = "biuf",
                .exact = true},
       .cases = zero},
      {.name = "logsumexp",
       .signature = kFold,
       .doc = "log(sum(exp(x))) over axes (all by default), without overflow; -inf where all are -inf.",
       .build = build_logsumexp,
       .test = {.numpy = "ref.logsumexp(x, axis, keepdims)", .ulp = 8, .atol = 1e-6},
       .cases = kFoldCases},
      {.name = "norm",
       .signature =
           "x: Tensor, ord: float = 2.0, axis: int | tuple[int, ...] | None = None, keepdims: bool = False",
       .doc =
           "The vector norm of order `ord` over axes (all by default): sum(|x|^ord)^(1/ord); inf, -inf: the "
           "greatest, the least |x|; 0: the number of nonzero elements.",
       .build = build_norm,
       .test = {.numpy = "ref.norm(x, ord, axis, keepdims)", .ulp = 64},
       .cases = {"x=(37,)", "x=(3,5), axis=1", "x=(3,5), ord=1.0, axis=0, keepdims=True", "x=(3,5), ord=inf",
                 "x=(3,5), ord=3.0, axis=(0,1)"}},
      {.name = "allclose",
       .signature = "x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False",
       .doc = "Are all elements close (isclose)?",
       .build = build_allclose,
       .test = {.numpy = "np.allclose(x, y, rtol, atol, equal_nan)", .exact = true},
       .cases = {"x=(5,), y=(5,)", "x=(5,), y=(5,), atol=100.0"}},
  };
  return all;
}

const std::vector<Function>& scan_functions() {
  static const std::vector<Function> all = {
      {.name = "cumsum",
       .signature = kTypedScan,
       .doc = "Running sum along an axis, or of the flattened tensor, in the types in which sum adds.",
       .build = [](const Args& a) { return build_cumulative(a, "add"); },
       .test =
           {.numpy = "ref.cumulative(x, 'add', axis, reverse)", .dtypes = "biuf", .ulp = 64, .atol = 1e-5},
       .cases = kScanCases,
       .method = true,
       .aliases = {"cumulative_sum"}},
      {.name = "cumprod",
       .signature = kTypedScan,
       .doc = "Running product along an axis, or of the flattened tensor.",
       .build = [](const Args& a) { return build_cumulative(a, "mul"); },
       .test = {.numpy = "ref.cumulative(x, 'mul', axis, reverse)",
                .domains = {"unit"},
                .dtypes = "iuf",
                .ulp = 64},
       .cases = kScanCases,
       .method = true,
       .aliases = {"cumulative_prod"}},
      {.name = "cummax",
       .signature = kScan,
       .doc = "Running maximum (the values) along an axis, or of the flattened tensor.",
       .build = [](const Args& a) { return build_cumulative(a, "max"); },
       .test = {.numpy = "ref.cumulative(x, 'max', axis, reverse)", .dtypes = "iuf", .exact = true},
       .cases = kScanCases},
      {.name = "cummin",
       .signature = kScan,
       .doc = "Running minimum (the values) along an axis, or of the flattened tensor.",
       .build = [](const Args& a) { return build_cumulative(a, "min"); },
       .test = {.numpy = "ref.cumulative(x, 'min', axis, reverse)", .dtypes = "iuf", .exact = true},
       .cases = kScanCases},
      {.name = "logcumsumexp",
       .signature = kScan,
       .doc = "log(cumsum(exp(x))), without overflow.",
       .build = [](const Args& a) { return build_cumulative(a, "logaddexp"); },
       .test = {.numpy = "ref.cumulative(x, 'logaddexp', axis, reverse)", .ulp = 64, .atol = 1e-5},
       .cases = kScanCases},
      {.name = "diff",
       .signature = "x: Tensor, n: int = 1, axis: int = -1",
       .doc = "Differences of neighbours along an axis, n times.",
       .build = build_diff,
       .test = {.numpy = "np.diff(x, n, axis)", .dtypes = "if", .atol = 1e-5},
       .cases = {"x=(37,)", "x=(3,5), axis=0", "x=(3,5), n=2", "x=(1,)"}},
  };
  return all;
}

}  // namespace pto
