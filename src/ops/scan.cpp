// Running sums, products and extremes along an axis.
#include <algorithm>
#include <cmath>

#include "base/points.h"
#include "expr/eval.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/index_attrs.h"

namespace pto {
namespace {

// (maximum m, sum of exp(x - m)), so that nothing overflows. An element x stands for (x, 1), and
// (m, s) for the value m + log(s). Equal maxima are not subtracted: they may be infinite.
Monoid logaddexp_monoid(DType type) {
  const Expr a0 = component('a', 0, type), a1 = component('a', 1, type);
  const Expr b0 = component('b', 0, type), b1 = component('b', 1, type);
  const Expr m = max(a0, b0), zero = constant(type, 0);
  auto part = [&](const Expr& peak, const Expr& sum) {
    return sum * make(Op::Exp, {select(equal(peak, m), zero, peak - m)});
  };
  return {"",
          {type, type},
          {constant(type, -std::numeric_limits<double>::infinity()), zero},
          {m, part(a0, a1) + part(b0, b1)}};
}

std::vector<TensorType> infer_cumulative(const InferArgs& in) {
  const auto& attrs = static_cast<const CumulativeAttrs&>(in.attrs);
  const TensorType& x = in.inputs[0];
  const std::string_view known[] = {"add", "mul", "max", "min", "logaddexp"};
  if (std::find(std::begin(known), std::end(known), attrs.monoid) == std::end(known))
    in.fail("unknown monoid", "add, mul, max, min or logaddexp", attrs.monoid);
  if (attrs.monoid == "logaddexp" && !is_float(x.dtype))
    in.fail("logaddexp is for floating types", "a floating type", std::string(name(x.dtype)));
  if (attrs.axis < 0 || attrs.axis >= x.rank())
    in.fail("axis " + std::to_string(attrs.axis) + " is out of range for rank " + std::to_string(x.rank()),
            "", "", std::to_string(attrs.axis));
  return {x};
}

Expr element_cumulative(Emit& emit, const Node& node, int, const Exprs& index) {
  const auto& attrs = attrs_of<CumulativeAttrs>(node);
  const Value& x = node.inputs()[0];
  const DType type = x.dtype(), wide = accumulator_type(type);
  const bool logaddexp = attrs.monoid == "logaddexp";
  const Monoid monoid = logaddexp ? logaddexp_monoid(wide) : make_monoid(attrs.monoid, wide);
  const Exprs folded =
      emit.scan(monoid, x.shape()[attrs.axis], index[attrs.axis], attrs.reverse, [&](const Expr& i) -> Exprs {
        Exprs at = index;
        at[attrs.axis] = i;
        const Expr element = cast(wide, emit.element(x, at));
        if (logaddexp) return {element, constant(wide, 1)};
        return {element};
      });
  return cast(type, logaddexp ? folded[0] + make(Op::Log, {folded[1]}) : folded[0]);
}

// log(exp(a) + exp(b)) in doubles.
double logaddexp(double a, double b) {
  const double m = std::max(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::isinf(m) ? m : m + std::log(std::exp(a - m) + std::exp(b - m));
}

Scalar fold(const std::string& monoid, Scalar a, Scalar b) {
  if (monoid == "logaddexp") return Scalar::from_double(a.type, logaddexp(a.to_double(), b.to_double()));
  const Op op = monoid == "add" ? Op::Add : monoid == "mul" ? Op::Mul : monoid == "max" ? Op::Max : Op::Min;
  const Scalar operands[] = {a, b};
  return eval_op(op, operands);
}

std::vector<BufferPtr> interpret_cumulative(const Node& node, const std::vector<BufferPtr>& inputs,
                                            const Sizes&) {
  const auto& attrs = attrs_of<CumulativeAttrs>(node);
  const Elements x(inputs[0]);
  const auto result = make_buffer(x.dtype(), x.shape());
  const int64_t n = x.shape()[attrs.axis];
  const DType wide = accumulator_type(x.dtype());
  std::vector<int64_t> starts = x.shape();
  starts[attrs.axis] = 1;
  if (n == 0) return {result};
  for_each_point(starts, [&](std::vector<int64_t> at) {
    Scalar sum;
    for (int64_t step = 0; step < n; step++) {
      at[attrs.axis] = attrs.reverse ? n - 1 - step : step;
      const Scalar element = convert(x.get(at), wide);
      sum = step == 0 ? element : fold(attrs.monoid, sum, element);
      Elements(result).set(at, convert(sum, x.dtype()));
    }
  });
  return {result};
}

// --- gradient -----------------------------------------------------------------------------------

// The place of the running extreme that each place shows: the last one, of equal ones.
Value extreme_places(const Value& x, const Value& y, int64_t axis, bool reverse) {
  const Value place = broadcast_to(positions(x.shape()[axis], axis, x.rank()), x.shape());
  const Value none = size_value(reverse ? x.shape()[axis] : Size(-1), DType::I64);
  const Value fits = logical_or(equal(x, y), binary("not_equal", x, x));
  return cumulative(reverse ? "min" : "max", where(fits, place, none), axis, reverse);
}

Values gradient_cumulative(const Vjp& v) {
  const auto& attrs = attrs_of<CumulativeAttrs>(v.node);
  const int64_t axis = attrs.axis;
  const Value &x = v.x[0], &y = v.y[0], &d = v.d[0];
  if (attrs.monoid == "add") return {cumulative("add", d, axis, !attrs.reverse)};
  if (attrs.monoid == "max" || attrs.monoid == "min")
    return {scatter(zeros(x.type()), extreme_places(x, y, axis, attrs.reverse), d, axis, "add")};
  // The other two are recurrences, here from the end to the start.
  auto turn = [&](const Value& t) { return attrs.reverse ? flip(t, {axis}) : t; };
  const Value xs = turn(x), ys = turn(y), ds = turn(d);
  if (attrs.monoid == "mul")
    return {turn(mul(shifted(ys, axis, false, 1), reverse_recurrence(ds, xs, axis)))};
  auto ratio = [&](const Value& a, const Value& b) {   // e^(a - b), and 0 for a = -inf
    return where(equal(a, -INFINITY), 0.0, exp(sub(a, b)));
  };
  const Value weights = ratio(shifted(ys, axis, false, -INFINITY), ys);
  return {turn(mul(ratio(xs, ys), reverse_recurrence(ds, weights, axis)))};
}

}  // namespace

const std::vector<OpRow>& scan_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "cumulative",
       .family = Family::Scan,
       .min_inputs = 1,
       .max_inputs = 1,
       .doc = "Running sum, product, maximum, minimum or log-sum-exp along an axis.",
       .make_attrs = new_attrs<CumulativeAttrs>,
       .infer = infer_cumulative,
       .element = element_cumulative,
       .interpret = interpret_cumulative,
       .gradient = gradient_cumulative,
       .batch = batch_cumulative,
       .test = {.numpy = "ref.cumulative(x0, monoid, axis, reverse)",
                .domains = {"unit"},
                .dtypes = "iuf",
                .ulp = 64,
                .atol = 1e-5}},
  };
  return rows;
}

}  // namespace pto
