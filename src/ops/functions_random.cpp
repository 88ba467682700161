// Random numbers: functions of key, offset and position (random_attrs.h). One block of random bits
// serves one element, so that slices, shards and devices draw the same.
#include <cmath>

#include "ops/compose.h"
#include "ops/function_families.h"
#include "ops/random_attrs.h"

namespace pto {
namespace {

Value random_bits(const Args& args, const Shape& shape, DType type, int64_t pair = 0) {
  auto attrs = std::make_shared<RandomBitsAttrs>();
  attrs->dtype = type;
  attrs->shape = shape;
  attrs->pair = pair;
  auto word = [&](const char* name) { return reshape(cast(args.tensor(name), DType::U64), {}); };
  return make_value("random_bits", {word("key"), word("offset")}, attrs, current_loc());
}

std::string number_text(double x) { return std::isnan(x) ? "nan" : Scalar::from_double(DType::F64, x).str(); }

double probability(const Args& args, const std::string& name) {
  const double p = args.number(name);
  if (!(p >= 0 && p <= 1))
    fail(args, name + " is not a probability", "0 <= " + name + " <= 1", number_text(p));
  return p;
}

DType float_argument(const Args& args) {
  const DType type = args.dtype("dtype");
  if (!is_float(type)) fail(args, "the type must be floating", "a floating type", std::string(name(type)));
  return type;
}

// The leading bits of each draw, as many as the type's significand holds, over 2^bits: in [0, 1).
Value unit_uniform(const Args& args, const Shape& shape, DType type) {
  const bool wide = type == DType::F64;
  const int bits = wide ? 53 : type == DType::F32 ? 24 : type == DType::F16 ? 11 : 8;
  const Value draw = random_bits(args, shape, wide ? DType::U64 : DType::U32);
  const Value kept = binary("right_shift", draw, int64_t{(wide ? 64 : 32) - bits});
  return mul(cast(kept, type), std::ldexp(1.0, -bits));
}

Values build_random_bits(const Args& args) {
  return {random_bits(args, args.shape("shape"), args.dtype("dtype"))};
}

Values build_uniform(const Args& args) {
  const DType type = float_argument(args);
  const double low = args.number("low"), high = args.number("high");
  const Value unit = unit_uniform(args, args.shape("shape"), type);
  if (low == 0 && high == 1) return {unit};
  return {add(mul(unit, high - low), low)};
}

// Box and Muller: the radius from one uniform number in (0, 1], the angle from another.
Value standard_normal(const Args& args, const Shape& shape, DType type) {
  const bool wide = type == DType::F64;
  const DType compute = wide ? DType::F64 : DType::F32;
  Value first, second;
  if (wide) {
    first = random_bits(args, shape, DType::U64, 0);
    second = random_bits(args, shape, DType::U64, 1);
  } else {
    const Value both = random_bits(args, shape, DType::U64, 0);
    first = cast(both, DType::U32);
    second = cast(binary("right_shift", both, int64_t{32}), DType::U32);
  }
  const double scale = std::ldexp(1.0, wide ? -64 : -32);
  const Value radius = sqrt(mul(log(mul(add(cast(first, compute), 0.5), scale)), -2.0));
  const int bits = wide ? 53 : 24;
  const Value turn = mul(cast(binary("right_shift", second, int64_t{(wide ? 64 : 32) - bits}), compute),
                         std::ldexp(2 * M_PI, -bits));
  return cast(mul(radius, unary("cos", turn)), type);
}

Values build_normal(const Args& args) {
  const DType type = float_argument(args);
  const double mean = args.number("mean"), deviation = args.number("std");
  if (!(deviation >= 0)) fail(args, "the standard deviation is negative", "std >= 0", number_text(deviation));
  Value x = standard_normal(args, args.shape("shape"), type);
  if (deviation != 1) x = mul(x, deviation);
  if (mean != 0) x = add(x, mean);
  return {x};
}

// low + floor(draw * range / 2^64), from the upper 32 bits of the product's parts; a range beyond
// 32 bits takes a remainder.
Values build_randint(const Args& args) {
  const int64_t low = args.integer("low"), high = args.integer("high");
  const DType type = args.dtype("dtype");
  if (low >= high)
    fail(args, "there is no integer between low and high", "low < high",
         std::to_string(low) + " .. " + std::to_string(high));
  if (!is_int(type)) fail(args, "the type must be an integer type", "", std::string(name(type)));
  for (int64_t end : {low, high - 1})
    if (Scalar::from_int(type, end).to_int() != end)
      fail(args, "the bounds do not fit the type", std::string(name(type)), std::to_string(end));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Value draw = random_bits(args, args.shape("shape"), DType::U64);
  const Value factor = full({}, Scalar{DType::U64, range});
  Value picked;
  if (range <= uint64_t{1} << 32) {
    const Value upper = mul(binary("right_shift", draw, int64_t{32}), factor);
    const Value lower = mul(binary("bitwise_and", draw, int64_t{0xFFFFFFFF}), factor);
    picked = binary("right_shift", add(upper, binary("right_shift", lower, int64_t{32})), int64_t{32});
  } else {
    picked = binary("remainder", draw, factor);
  }
  return {cast(add(cast(picked, DType::I64), low), type)};
}

Values build_bernoulli(const Args& args) {
  const Operand given = args.operand("p");
  if (!std::holds_alternative<Value>(given) && !std::holds_alternative<Expr>(given)) probability(args, "p");
  const Value p = args.tensor("p");
  const Shape shape = args.given("shape") ? args.shape("shape") : p.shape();
  const Value unit = unit_uniform(args, shape, p.dtype() == DType::F64 ? DType::F64 : DType::F32);
  return {less(unit, broadcast_to(cast(p, unit.dtype()), shape))};
}

Values build_dropout(const Args& args) {
  const Value x = args.tensor("x");
  const double p = probability(args, "p");
  if (!args.boolean("training") || p == 0) return {x};
  const Value kept = greater_equal(unit_uniform(args, x.shape(), DType::F32), p);
  const Value scaled = mul(widened(x), p == 1 ? 0.0 : 1 / (1 - p));
  return {cast(where(kept, scaled, 0.0), floating_type(x))};
}

// By the Gumbel trick: the greatest of logit - log(-log(u)) is distributed as softmax(logits).
Values build_categorical(const Args& args) {
  const Value logits = args.tensor("logits");
  const int64_t axis = axis_argument(args, "axis", logits.rank());
  const Value draw = random_bits(args, logits.shape(), DType::U32);
  const Value unit = mul(add(cast(draw, DType::F32), 0.5), std::ldexp(1.0, -32));
  const Value noise = negative(log(negative(log(minimum(unit, 1 - 0x1p-24)))));
  return {reduce("argmax", add(cast(logits, DType::F32), noise), {axis}, false)};
}

}  // namespace

const std::vector<Function>& random_functions() {
  static const std::vector<Function> all = {
      {.name = "random_bits",
       .signature = "shape: Shape, key: Tensor, offset: Tensor, dtype: DType = uint32",
       .doc =
           "Random bits, uint32 or uint64: Philox 4x32-10 of key and offset (uint64 scalars) and the position.",
       .build = build_random_bits,
       .test = {.numpy = "ref.random_bits(key, offset, dtype, shape, 0)",
                .domains = {"uint64", "uint64"},
                .dtypes = "u",
                .exact = true},
       .cases = {"shape=(37,), key=(), offset=()", "shape=(2,3), key=(), offset=(), dtype='uint64'"}},
      {.name = "uniform",
       .signature =
           "shape: Shape, key: Tensor, offset: Tensor, low: float = 0.0, high: float = 1.0, dtype: DType = float32",
       .doc =
           "Uniform numbers in [low, high), on a grid of 2^24 points (float32; 2^53, 2^11, 2^8 for float64, "
           "float16, bfloat16).",
       .build = build_uniform,
       .test = {.numpy = "ref.uniform(shape, key, offset, low, high, dtype)",
                .domains = {"uint64", "uint64"},
                .dtypes = "u",
                .ulp = 1},
       .cases = {"shape=(37,), key=(), offset=()", "shape=(2,3), key=(), offset=(), low=-1.0, high=3.0",
                 "shape=(5,), key=(), offset=(), dtype='float64'"}},
      {.name = "normal",
       .signature =
           "shape: Shape, key: Tensor, offset: Tensor, mean: float = 0.0, std: float = 1.0, dtype: DType = float32",
       .doc = "Normal numbers, by Box and Muller's method; within 8 ulp (and 1e-6 near zero) on all devices.",
       .build = build_normal,
       .test = {.numpy = "ref.normal(shape, key, offset, mean, std, dtype)",
                .domains = {"uint64", "uint64"},
                .dtypes = "u",
                .ulp = 8,
                .atol = 2e-6},
       .cases = {"shape=(37,), key=(), offset=()", "shape=(2,3), key=(), offset=(), mean=5.0, std=2.0",
                 "shape=(5,), key=(), offset=(), dtype='float64'"}},
      {.name = "randint",
       .signature = "low: int, high: int, shape: Shape, key: Tensor, offset: Tensor, dtype: DType = int64",
       .doc = "Integers from low to high - 1, all as likely (up to 2^-32).",
       .build = build_randint,
       .test = {.numpy = "ref.randint(low, high, shape, key, offset)",
                .domains = {"uint64", "uint64"},
                .dtypes = "u",
                .exact = true},
       .cases = {"low=-3, high=10, shape=(37,), key=(), offset=()",
                 "low=0, high=1099511627776, shape=(5,), key=(), offset=()",
                 "low=0, high=256, shape=(5,), key=(), offset=(), dtype='uint8'"}},
      {.name = "bernoulli",
       .signature = "p: Tensor, key: Tensor, offset: Tensor, shape: Shape | None = None",
       .doc = "True with probability p (broadcast to the shape).",
       .build = build_bernoulli,
       .test = {.numpy = "ref.bernoulli(p, key, offset, shape, dtype)",
                .domains = {"probability", "uint64", "uint64"},
                .exact = true},
       .cases = {"p=(37,), key=(), offset=()", "p=0.25, key=(), offset=(), shape=(5,7)"}},
      {.name = "dropout",
       .signature = "x: Tensor, p: float, key: Tensor, offset: Tensor, training: bool = True",
       .doc = "Zeros with probability p, x / (1 - p) elsewhere; x itself if not training.",
       .build = build_dropout,
       .test = {.numpy = "ref.dropout(x, p, key, offset, training)",
                .domains = {"real", "uint64", "uint64"},
                .ulp = 1},
       .cases = {"x=(37,), p=0.5, key=(), offset=()", "x=(5,), p=0.5, key=(), offset=(), training=False"}},
      {.name = "categorical",
       .signature = "logits: Tensor, key: Tensor, offset: Tensor, axis: int = -1",
       .doc = "One class number per row, distributed as softmax(logits) along the axis.",
       .build = build_categorical,
       .test = {.numpy = "ref.categorical(logits, key, offset, axis)",
                .domains = {"real", "uint64", "uint64"},
                .exact = true},
       .cases = {"logits=(5,7), key=(), offset=()"}},
  };
  return all;
}

}  // namespace pto
