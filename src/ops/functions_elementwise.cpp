// Elementwise functions that no single row is.
#include <algorithm>
#include <cmath>

#include "ops/compose.h"
#include "ops/function_families.h"

namespace pto {
namespace {

// f on widened(x), cast to the composite's type.
template <class F>
Values on_widened(const Args& args, F f) {
  const Value x = args.tensor("x");
  return {cast(f(widened(x)), floating_type(x))};
}

Values build_relu(const Args& args) { return {maximum(args.tensor("x"), int64_t{0})}; }

Values build_gelu(const Args& args) {
  const std::string kind = args.string("approximate");
  if (kind != "none" && kind != "tanh") fail(args, "unknown approximation", "none or tanh", kind);
  return on_widened(args, [&](const Value& x) {
    if (kind == "none") return mul(mul(x, 0.5), add(unary("erf", mul(x, std::sqrt(0.5))), 1.0));
    const Value inner = add(x, mul(mul(mul(x, x), x), 0.044715));
    return mul(mul(x, 0.5), add(tanh(mul(inner, std::sqrt(2 / M_PI))), 1.0));
  });
}

Values build_softplus(const Args& args) {
  const double beta = args.number("beta");
  return on_widened(args, [&](const Value& x) {
    if (beta == 1) return softplus(x);
    return div(softplus(mul(x, beta)), beta);
  });
}

// A bound beyond an integer type's range becomes the end of the range.
Operand bound(const Operand& bound, DType type) {
  const auto* given = std::get_if<int64_t>(&bound);
  if (!given || !is_int(type)) return bound;
  const int bits = 8 * size_of(type) - is_signed(type);
  const int64_t high = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  const int64_t low = !is_signed(type) ? 0 : -high - 1;
  return std::clamp(*given, low, high);
}

Values build_clip(const Args& args) {
  Value x = args.tensor("x");
  if (!args.given("min") && !args.given("max")) fail(args, "clip needs min or max");
  // The upper bound is applied last: it wins where the bounds cross.
  if (args.given("min")) x = maximum(x, bound(args.operand("min"), x.dtype()));
  if (args.given("max")) x = minimum(x, bound(args.operand("max"), x.dtype()));
  return {x};
}

Values build_logical(const Args& args, const char* row) {
  const Value x = truth(args.tensor("x")), y = truth(args.tensor("y"));
  return {binary(row, x, y)};
}

Values build_isclose(const Args& args) {
  const Value a = args.tensor("x"), b = args.tensor("y");
  const Value d = floating(sub(a, b)), x = cast(a, d.dtype()), y = cast(b, d.dtype());
  const Value finite = logical_and(less(absolute(x), INFINITY), less(absolute(y), INFINITY));
  const Value near =
      less_equal(absolute(sub(x, y)), add(mul(absolute(y), args.number("rtol")), args.number("atol")));
  Value close = logical_or(logical_and(finite, near), equal(x, y));
  if (args.boolean("equal_nan"))
    close = logical_or(close, logical_and(binary("not_equal", x, x), binary("not_equal", y, y)));
  return {close};
}

Values build_logaddexp(const Args& args) {
  const Value difference = floating(sub(args.operand("x"), args.operand("y")));
  const DType type = difference.dtype();
  const Value x = widened(cast(args.tensor("x"), type)), y = widened(cast(args.tensor("y"), type));
  // Equal operands are not subtracted: they may be infinite.
  const Value apart = where(equal(x, y), 0.0, absolute(sub(x, y)));
  return {cast(add(maximum(x, y), log1p(exp(negative(apart)))), type)};
}

Values build_nan_to_num(const Args& args) {
  const Value x = args.tensor("x");
  if (!is_float(x.dtype())) return {x};
  double largest = 0;
  switch (x.dtype()) {
    case DType::F16: largest = 65504; break;
    case DType::BF16: largest = 0x1.fep127; break;
    case DType::F32: largest = 0x1.fffffep127; break;
    default: largest = 0x1.fffffffffffffp1023;
  }
  const double upper = args.given("posinf") ? args.number("posinf") : largest;
  const double lower = args.given("neginf") ? args.number("neginf") : -largest;
  Value y = where(binary("not_equal", x, x), args.number("nan"), x);
  y = where(equal(x, INFINITY), upper, y);
  return {where(equal(x, -INFINITY), lower, y)};
}

Values build_elu(const Args& args) {
  return on_widened(args, [&](const Value& x) {
    const Value below = mul(unary("expm1", minimum(x, 0.0)), args.number("alpha"));
    return where(less(x, 0.0), below, x);
  });
}

Values build_lerp(const Args& args) {
  const Value x = args.tensor("x"), y = args.tensor("y");
  return {add(x, mul(args.operand("weight"), sub(y, x)))};
}

Values build_hypot(const Args& args) {
  const Value both = floating(add(args.operand("x"), args.operand("y")));
  const Value x = absolute(cast(args.tensor("x"), both.dtype()));
  const Value y = absolute(cast(args.tensor("y"), both.dtype()));
  // Scaled by the larger, so that the squares neither overflow nor vanish.
  const Value large = maximum(x, y), small = minimum(x, y);
  const Value plain = logical_or(equal(large, 0.0), equal(large, INFINITY));
  const Value ratio = where(plain, 0.0, div(small, large));
  // An infinite side is longer than any other, also than one that is not known.
  const Value infinite = logical_or(equal(x, INFINITY), equal(y, INFINITY));
  return {where(infinite, INFINITY, mul(large, sqrt(add(mul(ratio, ratio), 1.0))))};
}

// Written for |x|, where nothing cancels; the sign is put back.
template <class F>
Values odd(const Args& args, F f) {
  return on_widened(args, [&](const Value& x) { return binary("copysign", f(absolute(x)), x); });
}

// log(x + sqrt(x^2 + 1)); beyond `large` the square may overflow, and x^2 + 1 is x^2.
Values build_asinh(const Args& args) {
  return odd(args, [](const Value& x) {
    const double large = x.dtype() == DType::F64 ? 0x1p30 : 0x1p14;
    const Value s = minimum(x, large), square = mul(s, s);
    const Value near = log1p(add(s, div(square, add(sqrt(add(square, 1.0)), 1.0))));
    return where(less(x, large), near, add(log(x), std::log(2.0)));
  });
}

// log(x + sqrt(x^2 - 1)), by the distance from 1.
Values build_acosh(const Args& args) {
  return on_widened(args, [](const Value& x) {
    const double large = x.dtype() == DType::F64 ? 0x1p30 : 0x1p14;
    const Value t = sub(minimum(x, large), 1.0);
    const Value near = log1p(add(t, sqrt(add(mul(t, 2.0), mul(t, t)))));
    return where(greater(x, large), add(log(x), std::log(2.0)), near);
  });
}

// log((1 + x) / (1 - x)) / 2.
Values build_atanh(const Args& args) {
  return odd(args, [](const Value& x) { return mul(log1p(div(mul(x, 2.0), sub(1.0, x))), 0.5); });
}

std::vector<Function> activations() {
  return {
      {.name = "relu",
       .signature = "x: Tensor",
       .doc = "max(x, 0).",
       .build = build_relu,
       .test = {.numpy = "np.maximum(x, 0)", .dtypes = "if", .exact = true},
       .cases = {"x=(37,)", "x=(2,3)"}},
      {.name = "gelu",
       .signature = "x: Tensor, approximate: str = \"none\"",
       .doc = "x * Phi(x), Phi the normal distribution function; \"tanh\" approximates it.",
       .build = build_gelu,
       .test = {.numpy = "ref.gelu(x, approximate)", .domains = {"small"}, .ulp = 8, .atol = 1e-6},
       .cases = {"x=(37,)", "x=(3,5), approximate='tanh'"}},
      {.name = "silu",
       .signature = "x: Tensor",
       .doc = "x * sigmoid(x).",
       .build =
           [](const Args& a) { return on_widened(a, [](const Value& x) { return mul(x, sigmoid(x)); }); },
       .test = {.numpy = "x / (1 + np.exp(-x))", .domains = {"small"}, .ulp = 8},
       .cases = {"x=(37,)"},
       .aliases = {"swish"}},
      {.name = "sigmoid",
       .signature = "x: Tensor",
       .doc = "1 / (1 + exp(-x)).",
       .build = [](const Args& a) -> Values { return {sigmoid(a.tensor("x"))}; },
       .test = {.numpy = "1 / (1 + np.exp(-x))", .ulp = 4},
       .cases = {"x=(37,)", "x=()"},
       .method = true},
      {.name = "log_sigmoid",
       .signature = "x: Tensor",
       .doc = "log(sigmoid(x)).",
       .build =
           [](const Args& a) {
             return on_widened(a, [](const Value& x) { return negative(softplus(negative(x))); });
           },
       .test = {.numpy = "-np.logaddexp(0, -x)", .ulp = 8},
       .cases = {"x=(37,)"}},
      {.name = "softplus",
       .signature = "x: Tensor, beta: float = 1.0",
       .doc = "log(1 + exp(beta x)) / beta.",
       .build = build_softplus,
       .test = {.numpy = "np.logaddexp(0, beta * x) / beta", .ulp = 8},
       .cases = {"x=(37,)", "x=(5,), beta=2.0"}},
      {.name = "leaky_relu",
       .signature = "x: Tensor, negative_slope: float = 0.01",
       .doc = "x where it is positive, negative_slope * x elsewhere.",
       .build = [](const Args& a) -> Values {
         const Value x = floating(a.tensor("x"));
         return {where(less(x, 0.0), mul(x, a.number("negative_slope")), x)};
       },
       .test = {.numpy = "np.where(x < 0, negative_slope * x, x)"},
       .cases = {"x=(37,)", "x=(5,), negative_slope=0.2"}},
      {.name = "elu",
       .signature = "x: Tensor, alpha: float = 1.0",
       .doc = "x where it is positive, alpha (exp(x) - 1) elsewhere.",
       .build = build_elu,
       .test = {.numpy = "np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)", .ulp = 4},
       .cases = {"x=(37,)", "x=(5,), alpha=0.5"}},
      {.name = "relu6",
       .signature = "x: Tensor",
       .doc = "x within 0 .. 6.",
       .build = [](const Args& a) -> Values {
         return {minimum(maximum(a.tensor("x"), int64_t{0}), int64_t{6})};
       },
       .test = {.numpy = "np.clip(x, 0, 6)", .domains = {"small"}, .exact = true},
       .cases = {"x=(37,)"}},
      {.name = "hardsigmoid",
       .signature = "x: Tensor",
       .doc = "x / 6 + 1/2 within 0 .. 1.",
       .build =
           [](const Args& a) {
             return on_widened(
                 a, [](const Value& x) { return div(minimum(maximum(add(x, 3.0), 0.0), 6.0), 6.0); });
           },
       .test = {.numpy = "np.clip(x + 3, 0, 6) / 6", .domains = {"small"}, .atol = 1e-7},
       .cases = {"x=(37,)"}},
      {.name = "hardswish",
       .signature = "x: Tensor",
       .doc = "x * hardsigmoid(x).",
       .build =
           [](const Args& a) {
             return on_widened(
                 a, [](const Value& x) { return mul(x, div(minimum(maximum(add(x, 3.0), 0.0), 6.0), 6.0)); });
           },
       .test = {.numpy = "x * np.clip(x + 3, 0, 6) / 6", .domains = {"small"}, .atol = 1e-6},
       .cases = {"x=(37,)"}},
      {.name = "mish",
       .signature = "x: Tensor",
       .doc = "x * tanh(softplus(x)).",
       .build =
           [](const Args& a) {
             return on_widened(a, [](const Value& x) { return mul(x, tanh(softplus(x))); });
           },
       .test = {.numpy = "x * np.tanh(np.logaddexp(0, x))", .domains = {"small"}, .ulp = 16},
       .cases = {"x=(37,)"}},
      {.name = "softsign",
       .signature = "x: Tensor",
       .doc = "x / (1 + |x|).",
       .build =
           [](const Args& a) {
             return on_widened(a, [](const Value& x) { return div(x, add(absolute(x), 1.0)); });
           },
       .test = {.numpy = "x / (1 + np.abs(x))"},
       .cases = {"x=(37,)"}},
  };
}

std::vector<Function> arithmetic() {
  return {
      {.name = "clip",
       .signature = "x: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None",
       .doc = "x within min .. max; NaN stays NaN, and max wins where min > max.",
       .build = build_clip,
       .test = {.numpy = "np.clip(x, min, max)", .domains = {"small"}, .dtypes = "if", .exact = true},
       .cases = {"x=(37,), min=-1, max=2", "x=(5,), min=1", "x=(5,), max=1", "x=(5,3), min=(3,), max=(5,1)"},
       .method = true,
       .aliases = {"clamp"}},
      {.name = "square",
       .signature = "x: Tensor",
       .doc = "x * x.",
       .build = [](const Args& a) -> Values { return {mul(a.tensor("x"), a.tensor("x"))}; },
       .test = {.numpy = "x * x", .domains = {"small"}, .dtypes = "iuf", .ulp = 1},
       .cases = {"x=(37,)"},
       .method = true},
      {.name = "rsqrt",
       .signature = "x: Tensor",
       .doc = "1 / sqrt(x).",
       .build = [](const Args& a) { return on_widened(a, [](const Value& x) { return div(1.0, sqrt(x)); }); },
       .test = {.numpy = "1 / np.sqrt(x)", .domains = {"positive"}},
       .cases = {"x=(37,)"},
       .method = true},
      {.name = "reciprocal",
       .signature = "x: Tensor",
       .doc = "1 / x.",
       .build = [](const Args& a) -> Values { return {div(1.0, floating(a.tensor("x")))}; },
       .test = {.numpy = "1 / x", .domains = {"nonzero"}, .ulp = 1},
       .cases = {"x=(37,)"},
       .method = true},
      {.name = "logaddexp",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "log(exp(x) + exp(y)), without overflow.",
       .build = build_logaddexp,
       .test = {.numpy = "np.logaddexp(x, y)", .ulp = 8, .atol = 1e-6},
       .cases = {"x=(37,), y=(37,)", "x=(3,1), y=(4,)"}},
      {.name = "hypot",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "sqrt(x*x + y*y), without overflow.",
       .build = build_hypot,
       .test = {.numpy = "np.hypot(x, y)", .ulp = 4},
       .cases = {"x=(37,), y=(37,)"}},
      {.name = "lerp",
       .signature = "x: Tensor, y: Tensor, weight: Tensor | float",
       .doc = "x + weight * (y - x).",
       .build = build_lerp,
       .test = {.numpy = "x + weight * (y - x)", .domains = {"unit"}, .ulp = 4, .atol = 1e-6},
       .cases = {"x=(37,), y=(37,), weight=0.25", "x=(5,), y=(5,), weight=(5,)"}},
      {.name = "asinh",
       .signature = "x: Tensor",
       .doc = "The inverse of sinh.",
       .build = build_asinh,
       .test = {.numpy = "np.arcsinh(x)", .ulp = 8},
       .cases = {"x=(37,)"},
       .aliases = {"arcsinh"}},
      {.name = "acosh",
       .signature = "x: Tensor",
       .doc = "The inverse of cosh; NaN below 1.",
       .build = build_acosh,
       .test = {.numpy = "np.arccosh(x)", .domains = {"positive"}, .ulp = 8, .atol = 1e-6},
       .cases = {"x=(37,)"},
       .aliases = {"arccosh"}},
      {.name = "atanh",
       .signature = "x: Tensor",
       .doc = "The inverse of tanh; infinite at -1 and 1, NaN beyond.",
       .build = build_atanh,
       .test = {.numpy = "np.arctanh(x)", .domains = {"unit"}, .ulp = 8, .atol = 1e-6},
       .cases = {"x=(37,)"},
       .aliases = {"arctanh"}},
      {.name = "deg2rad",
       .signature = "x: Tensor",
       .doc = "Degrees to radians.",
       .build = [](const Args& a) -> Values { return {mul(floating(a.tensor("x")), M_PI / 180)}; },
       .test = {.numpy = "np.deg2rad(x)"},
       .cases = {"x=(7,)"}},
      {.name = "rad2deg",
       .signature = "x: Tensor",
       .doc = "Radians to degrees.",
       .build = [](const Args& a) -> Values { return {mul(floating(a.tensor("x")), 180 / M_PI)}; },
       .test = {.numpy = "np.rad2deg(x)"},
       .cases = {"x=(7,)"}},
      {.name = "nan_to_num",
       .signature = "x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None",
       .doc = "x with NaN and the infinities replaced (the infinities by the largest finite values).",
       .build = build_nan_to_num,
       .test = {.numpy = "np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)",
                .domains = {"special"},
                .exact = true},
       .cases = {"x=(37,), posinf=1.0, neginf=-1.0"}},
  };
}

std::vector<Function> comparisons() {
  return {
      {.name = "greater",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "Is x greater than y?",
       .build = [](const Args& a) -> Values { return {greater(a.operand("x"), a.operand("y"))}; },
       .test = {.numpy = "np.greater(x, y)", .domains = {"digits"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,), y=(37,)", "x=(3,1), y=(4,)"},
       .method = true},
      {.name = "greater_equal",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "Is x greater than or equal to y?",
       .build = [](const Args& a) -> Values { return {greater_equal(a.operand("x"), a.operand("y"))}; },
       .test = {.numpy = "np.greater_equal(x, y)", .domains = {"digits"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,), y=(37,)", "x=(3,1), y=(4,)"},
       .method = true},
      {.name = "logical_and",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "Are both different from zero?",
       .build = [](const Args& a) { return build_logical(a, "bitwise_and"); },
       .test = {.numpy = "np.logical_and(x, y)", .domains = {"digits"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,), y=(37,)", "x=(3,1), y=(4,)"}},
      {.name = "logical_or",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "Is either different from zero?",
       .build = [](const Args& a) { return build_logical(a, "bitwise_or"); },
       .test = {.numpy = "np.logical_or(x, y)", .domains = {"digits"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,), y=(37,)"}},
      {.name = "logical_xor",
       .signature = "x: Tensor | float, y: Tensor | float",
       .doc = "Is exactly one of them different from zero?",
       .build = [](const Args& a) { return build_logical(a, "bitwise_xor"); },
       .test = {.numpy = "np.logical_xor(x, y)", .domains = {"digits"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,), y=(37,)"}},
      {.name = "logical_not",
       .signature = "x: Tensor",
       .doc = "Is it zero?",
       .build = [](const Args& a) -> Values { return {logical_not(truth(a.tensor("x")))}; },
       .test = {.numpy = "np.logical_not(x)", .domains = {"digits"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,)"}},
      {.name = "isclose",
       .signature = "x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False",
       .doc = "Is |x - y| <= atol + rtol |y|? Equal infinities are close.",
       .build = build_isclose,
       .test = {.numpy = "np.isclose(x, y, rtol, atol, equal_nan)", .domains = {"special"}, .exact = true},
       .cases = {"x=(37,), y=(37,)", "x=(37,), y=(37,), equal_nan=True", "x=(37,), y=(37,), atol=0.5"}},
      {.name = "isinf",
       .signature = "x: Tensor",
       .doc = "Is it infinite?",
       .build = [](const Args& a) -> Values { return {equal(absolute(floating(a.tensor("x"))), INFINITY)}; },
       .test = {.numpy = "np.isinf(x)", .domains = {"special"}, .exact = true},
       .cases = {"x=(37,)"}},
      {.name = "isfinite",
       .signature = "x: Tensor",
       .doc = "Is it neither infinite nor NaN?",
       .build = [](const Args& a) -> Values { return {less(absolute(floating(a.tensor("x"))), INFINITY)}; },
       .test = {.numpy = "np.isfinite(x)", .domains = {"special"}, .exact = true},
       .cases = {"x=(37,)"}},
      {.name = "isnan",
       .signature = "x: Tensor",
       .doc = "Is it NaN?",
       .build = [](const Args& a) -> Values {
         const Value x = floating(a.tensor("x"));
         return {binary("not_equal", x, x)};
       },
       .test = {.numpy = "np.isnan(x)", .domains = {"special"}, .exact = true},
       .cases = {"x=(37,)"}},
      {.name = "astype",
       .signature = "x: Tensor, dtype: DType",
       .doc = "x converted: to the nearest value, ties to even; float to integer truncates towards zero and "
              "saturates, NaN gives 0; integers wrap; to bool, is it different from zero?",
       .build = [](const Args& a) -> Values { return {cast(a.tensor("x"), a.dtype("dtype"))}; },
       .test = {.numpy = "ref.cast(x, dtype)", .domains = {"small"}, .dtypes = "biuf", .exact = true},
       .cases = {"x=(37,), dtype='float32'", "x=(37,), dtype='int32'", "x=(37,), dtype='uint8'",
                 "x=(5,), dtype='bool'", "x=(5,), dtype='bfloat16'", "x=(5,), dtype='float64'"},
       .method = true,
       .aliases = {"cast"}},
  };
}

}  // namespace

const std::vector<Function>& elementwise_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> v = activations();
    for (const auto& part : {arithmetic(), comparisons()}) v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

}  // namespace pto
