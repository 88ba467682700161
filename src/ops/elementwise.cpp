// Elementwise rows: one operation of expr/ops.def each, and a few that are short expressions.
// TestSpec::dtypes is also the rule for the types that a row takes: the builder converts integers
// and bools to the default float for rows that take floats alone.
#include <map>

#include "ops/families.h"
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

// Integers by repeated squaring, one step for each bit of the exponent. A negative exponent gives the
// power of 1 / x rounded towards zero: 0 but for x = 1 and x = -1.
Expr apply_power(const Attrs&, const Exprs& args, const TensorType& result) {
  if (is_float(result.dtype)) return make(Op::Pow, args);
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

// --- rows ---------------------------------------------------------------------------------------

using ScalarFn = Expr (*)(const Attrs&, const Exprs&, const TensorType&);
using InferFn = std::vector<TensorType> (*)(const InferArgs&);

OpRow make_row(std::string name, int arity, ScalarFn scalar, InferFn infer, std::string doc, TestSpec test) {
  return {.name = std::move(name),
          .family = Family::Elementwise,
          .min_inputs = arity,
          .max_inputs = arity,
          .doc = std::move(doc),
          .make_attrs = new_attrs<NoAttrs>,
          .infer = infer,
          .scalar = scalar,
          .test = std::move(test)};
}

std::vector<OpRow> arithmetic_rows() {
  auto binary = [](std::string name, ScalarFn scalar, std::string doc, TestSpec test) {
    return make_row(std::move(name), 2, scalar, infer_same, std::move(doc), std::move(test));
  };
  auto unary = [](std::string name, ScalarFn scalar, std::string doc, TestSpec test) {
    return make_row(std::move(name), 1, scalar, infer_same, std::move(doc), std::move(test));
  };
  return {
      binary("add", apply<Op::Add>, "x + y; of bools, or.",
             {.numpy = "np.add(x0, x1)", .dtypes = "biuf", .exact = true}),
      binary("subtract", apply<Op::Sub>, "x - y.",
             {.numpy = "np.subtract(x0, x1)", .dtypes = "iuf", .exact = true}),
      binary("multiply", apply<Op::Mul>, "x * y; of bools, and.",
             {.numpy = "np.multiply(x0, x1)", .dtypes = "biuf", .exact = true}),
      binary("divide", apply<Op::Div>, "x / y, as floating numbers.",
             {.numpy = "np.divide(x0, x1)", .domains = {"real", "nonzero"}, .ulp = 1}),
      binary("floor_divide", apply<Op::FloorDiv>, "The floor of x / y; x // 0 is 0 for integers.",
             {.numpy = "np.floor(np.divide(x0, x1)) if x0.dtype.kind == 'f' else np.floor_divide(x0, x1)",
              .domains = {"real", "nonzero"},
              .dtypes = "iuf",
              .exact = true}),
      binary(
          "remainder", apply<Op::Mod>,
          "x - y * floor(x / y), with the sign of y, a zero too; x % 0 is 0 for integers.",
          {.numpy = "np.remainder(x0, x1)", .domains = {"real", "nonzero"}, .dtypes = "iuf", .atol = 1e-6}),
      binary("power", apply_power,
             "x to the power y. Integers wrap; of them a negative power is rounded towards 0.",
             {.numpy = "ref.power(x0, x1)", .domains = {"positive", "small"}, .dtypes = "iuf", .ulp = 4}),
      binary("maximum", apply<Op::Max>, "The greater of x and y; NaN if either is NaN.",
             {.numpy = "np.maximum(x0, x1)", .dtypes = "biuf", .exact = true}),
      binary("minimum", apply<Op::Min>, "The lesser of x and y; NaN if either is NaN.",
             {.numpy = "np.minimum(x0, x1)", .dtypes = "biuf", .exact = true}),
      binary("copysign", apply<Op::CopySign>, "|x| with the sign of y.",
             {.numpy = "np.copysign(x0, x1)", .exact = true}),
      unary("negative", apply<Op::Neg>, "-x; integers wrap.",
            {.numpy = "np.negative(x0)", .dtypes = "iuf", .exact = true}),
      unary("abs", apply_abs, "|x|; the least integer is its own.",
            {.numpy = "np.abs(x0)", .dtypes = "iuf", .exact = true}),
      unary("sign", apply_sign, "-1, 0 or 1, as x is less than, equal to or greater than 0; NaN of NaN.",
            {.numpy = "np.sign(x0)", .dtypes = "iuf", .exact = true}),
      unary("floor", apply_rounding<Op::Floor>, "The greatest whole number that is not above x.",
            {.numpy = "np.floor(x0)", .dtypes = "iuf", .exact = true}),
      unary("ceil", apply_rounding<Op::Ceil>, "The least whole number that is not below x.",
            {.numpy = "np.ceil(x0)", .dtypes = "iuf", .exact = true}),
      unary("trunc", apply_rounding<Op::Trunc>, "x without its fraction.",
            {.numpy = "np.trunc(x0)", .dtypes = "iuf", .exact = true}),
      unary("round", apply_rounding<Op::Round>, "The nearest whole number; the even one of two.",
            {.numpy = "np.round(x0)", .dtypes = "iuf", .exact = true}),
      unary("sqrt", apply<Op::Sqrt>, "The square root; NaN below 0.",
            {.numpy = "np.sqrt(x0)", .domains = {"positive"}, .ulp = 1}),
  };
}

std::vector<OpRow> bit_rows() {
  auto binary = [](std::string name, ScalarFn scalar, std::string doc, TestSpec test) {
    test.exact = true;
    return make_row(std::move(name), 2, scalar, infer_same, std::move(doc), std::move(test));
  };
  auto compare = [](std::string name, ScalarFn scalar, std::string doc) {
    const std::string numpy = "np." + name + "(x0, x1)";
    return make_row(name, 2, scalar, infer_compare, std::move(doc),
                    {.numpy = numpy, .domains = {"digits"}, .dtypes = "biuf", .exact = true});
  };
  return {
      binary("bitwise_and", apply<Op::And>, "Bits set in both; of bools, and.",
             {.numpy = "np.bitwise_and(x0, x1)", .dtypes = "biu"}),
      binary("bitwise_or", apply<Op::Or>, "Bits set in either; of bools, or.",
             {.numpy = "np.bitwise_or(x0, x1)", .dtypes = "biu"}),
      binary("bitwise_xor", apply<Op::Xor>, "Bits set in exactly one; of bools, are they different?",
             {.numpy = "np.bitwise_xor(x0, x1)", .dtypes = "biu"}),
      make_row("bitwise_not", 1, apply<Op::Not>, infer_same, "All bits reversed; of bools, not.",
               {.numpy = "np.bitwise_not(x0)", .dtypes = "biu", .exact = true}),
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
  auto of = [](std::string name, ScalarFn scalar, std::string doc, std::string domain = "real",
               std::string numpy = "", double ulp = 2) {
    if (numpy.empty()) numpy = "np." + name + "(x0)";
    return make_row(std::move(name), 1, scalar, infer_same, std::move(doc),
                    {.numpy = std::move(numpy), .domains = {std::move(domain)}, .ulp = ulp});
  };
  std::vector<OpRow> rows = {
      of("exp", apply<Op::Exp>, "e to the power x.", "small"),
      of("exp2", apply<Op::Exp2>, "2 to the power x.", "small"),
      of("expm1", apply<Op::Expm1>, "exp(x) - 1, accurate near 0.", "small"),
      of("log", apply<Op::Log>, "The natural logarithm; -inf of 0, NaN below.", "positive"),
      of("log2", apply<Op::Log2>, "The logarithm to base 2.", "positive"),
      of("log10", apply<Op::Log10>, "The logarithm to base 10.", "positive"),
      of("log1p", apply<Op::Log1p>, "log(1 + x), accurate near 0.", "positive"),
      of("sin", apply<Op::Sin>, "The sine of x in radians."),
      of("cos", apply<Op::Cos>, "The cosine of x in radians."),
      of("tan", apply<Op::Tan>, "The tangent of x in radians.", "real", "", 4),
      of("asin", apply<Op::Asin>, "The angle in -pi/2 .. pi/2 whose sine is x.", "unit", "np.arcsin(x0)", 4),
      of("acos", apply<Op::Acos>, "The angle in 0 .. pi whose cosine is x.", "unit", "np.arccos(x0)", 4),
      of("atan", apply<Op::Atan>, "The angle in -pi/2 .. pi/2 whose tangent is x.", "real", "np.arctan(x0)",
         4),
      of("sinh", apply<Op::Sinh>, "The hyperbolic sine.", "small", "", 4),
      of("cosh", apply<Op::Cosh>, "The hyperbolic cosine.", "small", "", 4),
      of("tanh", apply<Op::Tanh>, "The hyperbolic tangent."),
      of("erf", apply<Op::Erf>, "The error function.", "real", "ref.erf(x0)"),
      of("erfc", apply<Op::Erfc>, "1 - erf(x), accurate for large x.", "small", "ref.erfc(x0)", 4),
  };
  rows.push_back(make_row("atan2", 2, apply<Op::Atan2>, infer_same,
                          "The angle in -pi .. pi of the point (y, x).",
                          {.numpy = "np.arctan2(x0, x1)", .ulp = 4}));
  return rows;
}

std::vector<OpRow> choice_rows() {
  std::vector<OpRow> rows = {
      make_row("where", 3, apply_where, infer_where, "x where the condition holds, y elsewhere.",
               {.numpy = "np.where(x0, x1, x2)",
                .domains = {"bool", "real", "real"},
                .dtypes = "biuf",
                .exact = true}),
      make_row("cast", 1, apply_cast, infer_cast,
               "x converted: rounds to nearest even, float to integer truncates and saturates, NaN gives 0.",
               {.numpy = "ref.cast(x0, dtype)", .domains = {"small"}, .dtypes = "biuf", .exact = true}),
      make_row("bitcast", 1, apply_bitcast, infer_bitcast,
               "The same bits read as another type of the same width.",
               {.numpy = "ref.bitcast(x0, dtype)", .dtypes = "iuf", .exact = true}),
  };
  rows[1].make_attrs = rows[2].make_attrs = new_attrs<DTypeAttrs>;
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
