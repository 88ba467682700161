#include "expr/monoid.h"

#include <limits>

#include "base/error.h"

namespace pto {
namespace {

Scalar least(DType type) {
  if (is_float(type)) return Scalar::from_double(type, -std::numeric_limits<double>::infinity());
  return Scalar::from_double(type, is_signed(type) ? -0x1p63 : 0);  // saturates
}

Scalar greatest(DType type) {
  if (is_float(type)) return Scalar::from_double(type, std::numeric_limits<double>::infinity());
  return Scalar::from_double(type, 0x1p64);
}

Monoid simple(std::string name, DType type, Op op, Scalar identity) {
  const Expr a = component('a', 0, type), b = component('b', 0, type);
  return {std::move(name), {type}, {Expr(identity)}, {make(op, {a, b})}};
}

// Lanes fold interleaved elements, so equal values are told apart by their positions.
Monoid extreme_position(std::string name, DType type, bool largest) {
  const Expr a = component('a', 0, type), at_a = component('a', 1, DType::I64);
  const Expr b = component('b', 0, type), at_b = component('b', 1, DType::I64);
  Expr better = largest ? a < b : b < a, same = equal(a, b);
  if (is_float(type)) {
    const Expr a_nan = make(Op::Ne, {a, a}), b_nan = make(Op::Ne, {b, b});
    better = better | (b_nan & equal(a, a));
    same = same | (a_nan & b_nan);
  }
  const Expr later = better | (same & (at_b < at_a));
  return {std::move(name),
          {type, DType::I64},
          {Expr(largest ? least(type) : greatest(type)), Expr(std::numeric_limits<int64_t>::max())},
          {select(later, b, a), select(later, at_b, at_a)}};
}

// A side without elements contributes nothing, whatever the other side's mean is (it may be infinite).
Monoid welford(DType type) {
  const Expr mean_a = component('a', 0, type), mean_b = component('b', 0, type);
  const Expr m2_a = component('a', 1, type), m2_b = component('b', 1, type);
  const Expr n_a = component('a', 2, type), n_b = component('b', 2, type);
  const Expr zero = constant(type, 0), n = n_a + n_b;
  const Expr share = n_b / select(equal(n, zero), constant(type, 1), n);
  const Expr delta = select(equal(n_a, zero) | equal(n_b, zero), zero, mean_b - mean_a);
  return {"welford",
          {type, type, type},
          {zero, zero, zero},
          {select(equal(n_a, zero), mean_b, mean_a + delta * share),
           m2_a + m2_b + delta * delta * (n_a * share), n}};
}

}  // namespace

Expr component(char side, int index, DType type) {
  return var(std::string(1, side) + std::to_string(index), type);
}

Exprs Monoid::apply(const Exprs& a, const Exprs& b) const {
  PTO_CHECK(a.size() == types.size() && b.size() == types.size(), "expr/monoid",
            "operands do not fit the components");
  Substitution parts;
  for (int i = 0; i < size(); i++) {
    parts.emplace(component('a', i, types[i]).symbol(), a[i]);
    parts.emplace(component('b', i, types[i]).symbol(), b[i]);
  }
  Exprs out;
  for (const auto& c : combine) out.push_back(substitute(c, parts));
  return out;
}

Monoid make_monoid(std::string_view name, DType type) {
  const std::string id(name);
  if (name == "add") return simple(id, type, Op::Add, Scalar::from_int(type, 0));
  if (name == "mul") return simple(id, type, Op::Mul, Scalar::from_int(type, 1));
  if (name == "max") return simple(id, type, Op::Max, least(type));
  if (name == "min") return simple(id, type, Op::Min, greatest(type));
  if (name == "argmax" || name == "argmin") return extreme_position(id, type, name == "argmax");
  if (!is_float(type)) {
    if (name == "and") return simple(id, type, Op::And, Scalar::from_int(type, -1));
    if (name == "or") return simple(id, type, Op::Or, Scalar::from_int(type, 0));
  } else if (name == "welford") {
    return welford(type);
  }
  throw InternalError("expr/monoid", "no monoid '" + id + "' of " + std::string(pto::name(type)));
}

std::string to_text(const Monoid& monoid) {
  if (!monoid.name.empty()) return monoid.name;
  const auto list = [](const Exprs& exprs) {
    std::vector<std::string> parts;
    for (const auto& e : exprs) parts.push_back(to_text(e));
    return join(parts, ", ");
  };
  return "{" + list(monoid.init) + " | " + list(monoid.combine) + "}";
}

}  // namespace pto
