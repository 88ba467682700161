// Elementwise rows: one operation of expr/ops.def each, and a few that are short expressions.
// TestSpec::dtypes is also the rule for the types that a row takes: the builder converts integers
// and bools to the default float for rows that take floats alone.
#include <cmath>
#include <map>
#include <numbers>

#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/movement_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

// --- types --------------------------------------------------------------------------------------

char dtype_letter(DType type) {
  if (type == DType::Bool) return 'b';
  if (is_float(type)) return 'f';
  return is_signed(type) ? 'i' : 'u';
}

std::string letters_text(const std::string& letters) {
  std::vector<std::string> kinds;
  if (letters.find('b') != std::string::npos) kinds.push_back("bool");
  if (letters.find_first_of("iu") != std::string::npos)
    kinds.push_back(letters.find('u') == std::string::npos ? "a signed integer type" : "an integer type");
  if (letters.find('f') != std::string::npos) kinds.push_back("a floating type");
  return join(kinds, " or ");
}

// The operands from number `first` have one shape and type, which the row takes.
const TensorType& check_operands(const InferArgs& in, size_t first = 0) {
  const TensorType& type = in.inputs[first];
  for (const auto& other : in.inputs) {
    bool same = other.rank() == type.rank();
    for (int d = 0; same && d < type.rank(); d++) same = sizes_agree(other.shape[d], type.shape[d]);
    if (!same) in.fail("the operands must have one shape", shape_text(type.shape), shape_text(other.shape));
  }
  for (size_t i = first + 1; i < in.inputs.size(); i++)
    if (in.inputs[i].dtype != type.dtype)
      in.fail("the operands must have one type", std::string(name(type.dtype)),
              std::string(name(in.inputs[i].dtype)));
  if (in.row.test.dtypes.find(dtype_letter(type.dtype)) == std::string::npos)
    in.fail("there is no " + in.row.name + " of " + std::string(info(type.dtype).numpy),
            letters_text(in.row.test.dtypes), std::string(info(type.dtype).numpy));
  return type;
}

std::vector<TensorType> infer_same(const InferArgs& in) { return {check_operands(in)}; }
std::vector<TensorType> infer_compare(const InferArgs& in) {
  return {{DType::Bool, check_operands(in).shape}};
}
std::vector<TensorType> infer_where(const InferArgs& in) {
  if (in.inputs[0].dtype != DType::Bool)
    in.fail("the condition must be bool", "bool", std::string(info(in.inputs[0].dtype).numpy));
  return {check_operands(in, 1)};
}
std::vector<TensorType> infer_cast(const InferArgs& in) {
  return {{static_cast<const DTypeAttrs&>(in.attrs).dtype, check_operands(in).shape}};
}
std::vector<TensorType> infer_bitcast(const InferArgs& in) {
  const DType to = static_cast<const DTypeAttrs&>(in.attrs).dtype;
  const TensorType& x = check_operands(in);
  if (to == DType::Bool || size_of(to) != size_of(x.dtype))
    in.fail("bits can be read only as a number of the same width",
            std::to_string(8 * size_of(x.dtype)) + " bits", std::string(info(to).numpy));
  return {{to, x.shape}};
}

// --- scalars ------------------------------------------------------------------------------------

template <Op op>
Expr apply(const Attrs&, const Exprs& args, const TensorType&) {
  return make(op, args);
}

// Integers are whole already.
template <Op op>
Expr apply_rounding(const Attrs&, const Exprs& args, const TensorType&) {
  return is_float(args[0].type()) ? make(op, args) : args[0];
}

Expr apply_abs(const Attrs&, const Exprs& args, const TensorType& result) {
  return is_float(result.dtype) || is_signed(result.dtype) ? make(Op::Abs, args) : args[0];
}

Expr apply_where(const Attrs&, const Exprs& args, const TensorType&) {
  return select(args[0], args[1], args[2]);
}
Expr apply_cast(const Attrs&, const Exprs& args, const TensorType& result) {
  return cast(result.dtype, args[0]);
}
Expr apply_bitcast(const Attrs&, const Exprs& args, const TensorType& result) {
  return bitcast(result.dtype, args[0]);
}

// Zeros keep their sign, and NaN stays NaN.
Expr apply_sign(const Attrs&, const Exprs& args, const TensorType& result) {
  const Expr& x = args[0];
  const Expr zero = constant(result.dtype, 0), one = constant(result.dtype, 1);
  const Expr positive = select(zero < x, one, x);
  if (!is_float(result.dtype) && !is_signed(result.dtype)) return positive;
  return select(x < zero, constant(result.dtype, -1), positive);
}

// Powers that are products and roots: each within the accuracy of others, and with their special values.
Expr known_power(const Expr& x, const Expr& exponent) {
  const double y = exponent.value().to_double();
  auto number = [&](double n) { return Expr(Scalar::from_double(x.type(), n)); };
  auto root = [&] {   // -0 gives 0, and -inf gives inf
    const Expr infinite = equal(x, number(-INFINITY));
    return select(infinite, number(INFINITY), make(Op::Sqrt, {x + number(0)}));
  };
  if (y == 0) return number(1);
  if (y == 1) return x;
  if (y == 2) return x * x;
  if (y == 3) return x * x * x;
  if (y == 4) return (x * x) * (x * x);
  if (y == -1) return number(1) / x;
  if (y == -2) return (number(1) / x) * (number(1) / x);
  if (y == 0.5) return root();
  if (y == -0.5) return number(1) / root();
  return make(Op::Pow, {x, exponent});
}

// Integers by repeated squaring, one step for each bit of the exponent. A negative exponent gives the
// power of 1 / x rounded towards zero: 0 but for x = 1 and x = -1.
Expr apply_power(const Attrs&, const Exprs& args, const TensorType& result) {
  if (is_float(result.dtype)) return args[1].is_const() ? known_power(args[0], args[1]) : make(Op::Pow, args);
  const DType type = result.dtype;
  const Expr zero = constant(type, 0), one = constant(type, 1);
  Expr base = args[0], power = one;
  const Expr exponent = args[1];
  const int bits = 8 * size_of(type) - is_signed(type);
  for (int b = 0; b < bits; b++) {
    const Expr bit = exponent & Expr(Scalar::from_int(type, int64_t{1} << b));
    power = select(equal(bit, zero), power, power * base);
    if (b + 1 < bits) base = base * base;
  }
  if (!is_signed(type)) return power;
  const Expr x = args[0], minus_one = constant(type, -1), odd = equal(exponent & one, one);
  const Expr of_unit = select(equal(x, one), one, select(equal(x, minus_one), select(odd, x, one), zero));
  return select(exponent < zero, of_unit, power);
}

// A zero of the second operand stays zero, whatever the first is.
Expr apply_multiply_no_nan(const Attrs&, const Exprs& args, const TensorType& result) {
  return select(equal(args[1], constant(result.dtype, 0)), args[1], args[0] * args[1]);
}

Expr apply_identity(const Attrs&, const Exprs& args, const TensorType&) { return args[0]; }

// --- gradients ----------------------------------------------------------------------------------
// Of two equal operands of maximum and minimum each has a half.

const double kLog2 = std::numbers::ln2, kLog10 = std::numbers::ln10, kErf = 2 * std::numbers::inv_sqrtpi;

Value share(const Vjp& v, Value (*above)(Operand, Operand), int i) {
  const Value &x = v.x[i], &other = v.x[1 - i];
  return mul(v.d[0], where(above(x, other), 1.0, where(equal(x, other), 0.5, to_value(0.0, x.dtype()))));
}
template <int i>
Value of_maximum(const Vjp& v) {
  return share(v, greater, i);
}
template <int i>
Value of_minimum(const Vjp& v) {
  return share(v, less, i);
}

Value square(const Value& x) { return mul(x, x); }
Value of_numerator(const Vjp& v) { return quotient(v.d[0], v.x[1]); }
Value of_denominator(const Vjp& v) { return negative(scaled(v.d[0], div(v.y[0], v.x[1]))); }
Value of_modulus(const Vjp& v) { return negative(mul(v.d[0], unary("floor", div(v.x[0], v.x[1])))); }

// y x^(y-1), which is 0 for y = 0, for every x.
Value of_base(const Vjp& v) {
  const Value &x = v.x[0], &y = v.x[1];
  const Value slope = mul(y, binary("power", x, sub(y, 1.0)));
  return scaled(v.d[0], where(equal(y, 0.0), 0.0, slope));
}
// x^y log x, and 0 at x = 0.
Value of_exponent(const Vjp& v) {
  const Value &x = v.x[0], positive = where(equal(x, 0.0), 1.0, x);
  return scaled(v.d[0], scaled(log(positive), v.y[0]));
}

Value of_abs(const Vjp& v) { return mul(v.d[0], unary("sign", v.x[0])); }
Value of_copysign(const Vjp& v) {
  return mul(v.d[0], mul(unary("sign", v.x[0]), binary("copysign", 1.0, v.x[1])));
}

// (y, x) / (x^2 + y^2) without squares that overflow; 0 at the origin.
Value over_radius(const Vjp& v, int i) {
  const Value y = absolute(v.x[0]), x = absolute(v.x[1]), largest = maximum(x, y);
  const Value m = where(equal(largest, 0.0), 1.0, largest), a = div(v.x[0], m), b = div(v.x[1], m);
  const Value squares = add(square(a), square(b));
  return div(div(i == 0 ? a : b, where(equal(largest, 0.0), 1.0, squares)), m);
}
Value of_y(const Vjp& v) { return mul(v.d[0], over_radius(v, 1)); }
Value of_x(const Vjp& v) { return negative(mul(v.d[0], over_radius(v, 0))); }

// 1 / sqrt(1 - x^2)
Value of_asin(const Vjp& v) {
  const Value& x = v.x[0];
  return scaled(v.d[0], div(1.0, sqrt(mul(sub(1.0, x), add(x, 1.0)))));
}
Value of_erf(const Vjp& v) { return mul(v.d[0], mul(exp(negative(square(v.x[0]))), kErf)); }

Value chosen(const Vjp& v) { return where(v.x[0], v.d[0], 0.0); }
Value not_chosen(const Vjp& v) { return where(v.x[0], 0.0, v.d[0]); }

// --- rows ---------------------------------------------------------------------------------------

using Partials = std::vector<PartialRule>;
const Partials kDiscrete;

using ScalarFn = Expr (*)(const Attrs&, const Exprs&, const TensorType&);
using InferFn = std::vector<TensorType> (*)(const InferArgs&);

OpRow make_row(std::string name, int arity, ScalarFn scalar, InferFn infer, std::string doc, TestSpec test,
               Partials partials) {
  const bool discrete = partials.empty();
  return {.name = std::move(name),
          .family = Family::Elementwise,
          .min_inputs = arity,
          .max_inputs = arity,
          .doc = std::move(doc),
          .make_attrs = new_attrs<NoAttrs>,
          .infer = infer,
          .scalar = scalar,
          .partials = std::move(partials),
          .discrete = discrete,
          .test = std::move(test)};
}

std::vector<OpRow> arithmetic_rows() {
  auto binary = [](std::string name, ScalarFn scalar, std::string doc, TestSpec test, Partials partials) {
    return make_row(std::move(name), 2, scalar, infer_same, std::move(doc), std::move(test),
                    std::move(partials));
  };
  auto unary = [](std::string name, ScalarFn scalar, std::string doc, TestSpec test, Partials partials) {
    return make_row(std::move(name), 1, scalar, infer_same, std::move(doc), std::move(test),
                    std::move(partials));
  };
  return {
      binary("add", apply<Op::Add>, "x + y; of bools, or.",
             {.numpy = "np.add(x0, x1)", .dtypes = "biuf", .exact = true}, {pass, pass}),
      binary("subtract", apply<Op::Sub>, "x - y.",
             {.numpy = "np.subtract(x0, x1)", .dtypes = "iuf", .exact = true}, {pass, pass_negative}),
      binary("multiply", apply<Op::Mul>, "x * y; of bools, and.",
             {.numpy = "np.multiply(x0, x1)", .dtypes = "biuf", .exact = true},
             {[](const Vjp& v) { return mul(v.d[0], v.x[1]); },
              [](const Vjp& v) { return mul(v.d[0], v.x[0]); }}),
      binary("divide", apply<Op::Div>, "x / y, as floating numbers.",
             {.numpy = "np.divide(x0, x1)", .domains = {"real", "nonzero"}, .ulp = 1},
             {of_numerator, of_denominator}),
      binary("floor_divide", apply<Op::FloorDiv>, "The floor of x / y; x // 0 is 0 for integers.",
             {.numpy = "np.floor(np.divide(x0, x1)) if x0.dtype.kind == 'f' else np.floor_divide(x0, x1)",
              .domains = {"real", "nonzero"},
              .dtypes = "iuf",
              .exact = true},
             kDiscrete),
      binary("remainder", apply<Op::Mod>,
             "x - y * floor(x / y), with the sign of y, a zero too; x % 0 is 0 for integers.",
             {.numpy = "np.remainder(x0, x1)", .domains = {"real", "nonzero"}, .dtypes = "iuf", .atol = 1e-6},
             {pass, of_modulus}),
      binary("power", apply_power,
             "x to the power y. Integers wrap; of them a negative power is rounded towards 0.",
             {.numpy = "ref.power(x0, x1)", .domains = {"positive", "small"}, .dtypes = "iuf", .ulp = 4},
             {of_base, of_exponent}),
      binary("maximum", apply<Op::Max>, "The greater of x and y; NaN if either is NaN.",
             {.numpy = "np.maximum(x0, x1)", .dtypes = "biuf", .exact = true},
             {of_maximum<0>, of_maximum<1>}),
      binary("minimum", apply<Op::Min>, "The lesser of x and y; NaN if either is NaN.",
             {.numpy = "np.minimum(x0, x1)", .dtypes = "biuf", .exact = true},
             {of_minimum<0>, of_minimum<1>}),
      binary("copysign", apply<Op::CopySign>, "|x| with the sign of y.",
             {.numpy = "np.copysign(x0, x1)", .exact = true}, {of_copysign, nullptr}),
      unary("negative", apply<Op::Neg>, "-x; integers wrap.",
            {.numpy = "np.negative(x0)", .dtypes = "iuf", .exact = true}, {pass_negative}),
      unary("abs", apply_abs, "|x|; the least integer is its own.",
            {.numpy = "np.abs(x0)", .dtypes = "iuf", .exact = true}, {of_abs}),
      unary("sign", apply_sign, "-1, 0 or 1, as x is less than, equal to or greater than 0; NaN of NaN.",
            {.numpy = "np.sign(x0)", .dtypes = "iuf", .exact = true}, kDiscrete),
      unary("floor", apply_rounding<Op::Floor>, "The greatest whole number that is not above x.",
            {.numpy = "np.floor(x0)", .dtypes = "iuf", .exact = true}, kDiscrete),
      unary("ceil", apply_rounding<Op::Ceil>, "The least whole number that is not below x.",
            {.numpy = "np.ceil(x0)", .dtypes = "iuf", .exact = true}, kDiscrete),
      unary("trunc", apply_rounding<Op::Trunc>, "x without its fraction.",
            {.numpy = "np.trunc(x0)", .dtypes = "iuf", .exact = true}, kDiscrete),
      unary("round", apply_rounding<Op::Round>, "The nearest whole number; the even one of two.",
            {.numpy = "np.round(x0)", .dtypes = "iuf", .exact = true}, kDiscrete),
      unary("sqrt", apply<Op::Sqrt>, "The square root; NaN below 0.",
            {.numpy = "np.sqrt(x0)", .domains = {"positive"}, .ulp = 1},
            {[](const Vjp& v) { return scaled(v.d[0], div(0.5, v.y[0])); }}),
  };
}

std::vector<OpRow> bit_rows() {
  auto binary = [](std::string name, ScalarFn scalar, std::string doc, TestSpec test) {
    test.exact = true;
    return make_row(std::move(name), 2, scalar, infer_same, std::move(doc), std::move(test), kDiscrete);
  };
  auto compare = [](std::string name, ScalarFn scalar, std::string doc) {
    const std::string numpy = "np." + name + "(x0, x1)";
    return make_row(name, 2, scalar, infer_compare, std::move(doc),
                    {.numpy = numpy, .domains = {"digits"}, .dtypes = "biuf", .exact = true}, kDiscrete);
  };
  return {
      binary("bitwise_and", apply<Op::And>, "Bits set in both; of bools, and.",
             {.numpy = "np.bitwise_and(x0, x1)", .dtypes = "biu"}),
      binary("bitwise_or", apply<Op::Or>, "Bits set in either; of bools, or.",
             {.numpy = "np.bitwise_or(x0, x1)", .dtypes = "biu"}),
      binary("bitwise_xor", apply<Op::Xor>, "Bits set in exactly one; of bools, are they different?",
             {.numpy = "np.bitwise_xor(x0, x1)", .dtypes = "biu"}),
      make_row("bitwise_not", 1, apply<Op::Not>, infer_same, "All bits reversed; of bools, not.",
               {.numpy = "np.bitwise_not(x0)", .dtypes = "biu", .exact = true}, kDiscrete),
      binary("left_shift", apply<Op::Shl>, "The bits moved up; 0 for a count of the width or more.",
             {.numpy = "np.left_shift(x0, x1)", .domains = {"real", "digits"}, .dtypes = "iu"}),
      binary("right_shift", apply<Op::Shr>,
             "The bits moved down; for a count of the width or more, 0 or the sign.",
             {.numpy = "np.right_shift(x0, x1)", .domains = {"real", "digits"}, .dtypes = "iu"}),
      compare("equal", apply<Op::Eq>, "Is x equal to y? NaN is not equal to itself."),
      compare("not_equal", apply<Op::Ne>, "Is x different from y?"),
      compare("less", apply<Op::Lt>, "Is x less than y?"),
      compare("less_equal", apply<Op::Le>, "Is x less than or equal to y?"),
  };
}

std::vector<OpRow> math_rows() {
  auto of = [](std::string name, ScalarFn scalar, PartialRule rule, std::string doc,
               std::string domain = "real", std::string numpy = "", double ulp = 2) {
    if (numpy.empty()) numpy = "np." + name + "(x0)";
    return make_row(std::move(name), 1, scalar, infer_same, std::move(doc),
                    {.numpy = std::move(numpy), .domains = {std::move(domain)}, .ulp = ulp}, {rule});
  };
  std::vector<OpRow> rows = {
      of(
          "exp", apply<Op::Exp>, [](const Vjp& v) { return scaled(v.d[0], v.y[0]); }, "e to the power x.",
          "small"),
      of(
          "exp2", apply<Op::Exp2>, [](const Vjp& v) { return scaled(v.d[0], mul(v.y[0], kLog2)); },
          "2 to the power x.", "small"),
      of(
          "expm1", apply<Op::Expm1>, [](const Vjp& v) { return scaled(v.d[0], add(v.y[0], 1.0)); },
          "exp(x) - 1, accurate near 0.", "small"),
      of(
          "log", apply<Op::Log>, [](const Vjp& v) { return quotient(v.d[0], v.x[0]); },
          "The natural logarithm; -inf of 0, NaN below.", "positive"),
      of(
          "log2", apply<Op::Log2>, [](const Vjp& v) { return quotient(v.d[0], mul(v.x[0], kLog2)); },
          "The logarithm to base 2.", "positive"),
      of(
          "log10", apply<Op::Log10>, [](const Vjp& v) { return quotient(v.d[0], mul(v.x[0], kLog10)); },
          "The logarithm to base 10.", "positive"),
      of(
          "log1p", apply<Op::Log1p>, [](const Vjp& v) { return quotient(v.d[0], add(v.x[0], 1.0)); },
          "log(1 + x), accurate near 0.", "positive"),
      of(
          "sin", apply<Op::Sin>, [](const Vjp& v) { return scaled(v.d[0], unary("cos", v.x[0])); },
          "The sine of x in radians."),
      of(
          "cos", apply<Op::Cos>, [](const Vjp& v) { return negative(scaled(v.d[0], unary("sin", v.x[0]))); },
          "The cosine of x in radians."),
      of(
          "tan", apply<Op::Tan>, [](const Vjp& v) { return scaled(v.d[0], add(square(v.y[0]), 1.0)); },
          "The tangent of x in radians.", "real", "", 4),
      of("asin", apply<Op::Asin>, of_asin, "The angle in -pi/2 .. pi/2 whose sine is x.", "unit",
         "np.arcsin(x0)", 4),
      of(
          "acos", apply<Op::Acos>, [](const Vjp& v) { return negative(of_asin(v)); },
          "The angle in 0 .. pi whose cosine is x.", "unit", "np.arccos(x0)", 4),
      of(
          "atan", apply<Op::Atan>, [](const Vjp& v) { return div(v.d[0], add(square(v.x[0]), 1.0)); },
          "The angle in -pi/2 .. pi/2 whose tangent is x.", "real", "np.arctan(x0)", 4),
      of(
          "sinh", apply<Op::Sinh>, [](const Vjp& v) { return scaled(v.d[0], unary("cosh", v.x[0])); },
          "The hyperbolic sine.", "small", "", 4),
      of(
          "cosh", apply<Op::Cosh>, [](const Vjp& v) { return scaled(v.d[0], unary("sinh", v.x[0])); },
          "The hyperbolic cosine.", "small", "", 4),
      of(
          "tanh", apply<Op::Tanh>, [](const Vjp& v) { return mul(v.d[0], sub(1.0, square(v.y[0]))); },
          "The hyperbolic tangent."),
      of("erf", apply<Op::Erf>, of_erf, "The error function.", "real", "ref.erf(x0)"),
      of(
          "erfc", apply<Op::Erfc>, [](const Vjp& v) { return negative(of_erf(v)); },
          "1 - erf(x), accurate for large x.", "small", "ref.erfc(x0)", 4),
  };
  rows.push_back(make_row("atan2", 2, apply<Op::Atan2>, infer_same,
                          "The angle in -pi .. pi of the point (y, x).",
                          {.numpy = "np.arctan2(x0, x1)", .ulp = 4}, {of_y, of_x}));
  return rows;
}

std::vector<OpRow> choice_rows() {
  std::vector<OpRow> rows = {
      make_row("where", 3, apply_where, infer_where, "x where the condition holds, y elsewhere.",
               {.numpy = "np.where(x0, x1, x2)",
                .domains = {"bool", "real", "real"},
                .dtypes = "biuf",
                .exact = true},
               {nullptr, chosen, not_chosen}),
      make_row("cast", 1, apply_cast, infer_cast,
               "x converted: rounds to nearest even, float to integer truncates and saturates, NaN gives 0.",
               {.numpy = "ref.cast(x0, dtype)", .domains = {"small"}, .dtypes = "biuf", .exact = true},
               {[](const Vjp& v) { return cast(v.d[0], v.x[0].dtype()); }}),
      make_row("bitcast", 1, apply_bitcast, infer_bitcast,
               "The same bits read as another type of the same width.",
               {.numpy = "ref.bitcast(x0, dtype)", .dtypes = "iuf", .exact = true}, kDiscrete),
  };
  rows[1].make_attrs = rows[2].make_attrs = new_attrs<DTypeAttrs>;
  rows.push_back(make_row("variable", 1, apply_identity, infer_same, "x, as a variable of a gradient.",
                          {.numpy = "x0", .dtypes = "biuf", .exact = true}, {pass}));
  rows.push_back(make_row("stop_gradient", 1, apply_identity, infer_same,
                          "x, through which no gradient flows: a constant to whoever differentiates.",
                          {.numpy = "x0", .dtypes = "biuf", .exact = true}, kDiscrete));
  rows.push_back(make_row("multiply_no_nan", 2, apply_multiply_no_nan, infer_same,
                          "x * y, and y where y is 0, for infinite and NaN x too.",
                          {.numpy = "np.where(x1 == 0, x1, x0 * x1)", .exact = true},
                          {[](const Vjp& v) { return mul(v.d[0], v.x[1]); },
                           [](const Vjp& v) { return scaled(v.d[0], v.x[0]); }}));
  return rows;
}

// NumPy's and PyTorch's names where they are not the row's.
const std::map<std::string, std::vector<std::string>> kAliases = {
    {"subtract", {"sub"}},
    {"multiply", {"mul"}},
    {"divide", {"div", "true_divide"}},
    {"remainder", {"mod"}},
    {"power", {"pow"}},
    {"negative", {"neg"}},
    {"abs", {"absolute"}},
    {"asin", {"arcsin"}},
    {"acos", {"arccos"}},
    {"atan", {"arctan"}},
    {"atan2", {"arctan2"}},
    {"bitwise_not", {"bitwise_invert", "invert"}},
    {"left_shift", {"bitwise_left_shift"}},
    {"right_shift", {"bitwise_right_shift"}},
};

}  // namespace

const std::vector<OpRow>& elementwise_rows() {
  static const std::vector<OpRow> all = [] {
    std::vector<OpRow> rows = arithmetic_rows();
    for (const auto& part : {bit_rows(), math_rows(), choice_rows()})
      rows.insert(rows.end(), part.begin(), part.end());
    for (auto& row : rows)
      if (const auto it = kAliases.find(row.name); it != kAliases.end()) row.aliases = it->second;
    return rows;
  }();
  return all;
}

}  // namespace pto
