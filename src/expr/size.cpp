#include "expr/size.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "expr/eval.h"
#include "expr/polynomial.h"

namespace pto {

std::optional<bool> prove_equal(const Size& a, const Size& b) {
  if (a == b) return true;
  if (a.is_const() && b.is_const()) return false;
  const Polynomial d = polynomial_of(simplify(a - b));
  if (d.is_constant()) return d.constant == 0;
  int64_t divisor = 0;
  for (const auto& t : d.terms) divisor = std::gcd(divisor, t.scale);
  if (divisor > 1 && d.constant % divisor != 0) return false;
  const Interval i = bounds(d);
  if (i.lo > 0 || i.hi < 0) return false;
  return std::nullopt;
}

std::optional<bool> prove_less(const Expr& a, const Expr& b) {
  if (a.is_const() && b.is_const()) return a.as_int() < b.as_int();
  const Interval i = bounds(simplify(b - a));
  if (i.lo >= 1) return true;
  if (i.hi <= 0) return false;
  return std::nullopt;
}

Size product(const Shape& shape) {
  Size n(1);
  for (const auto& d : shape) n = n * d;
  return simplify(n);
}

std::vector<Size> row_major_strides(const Shape& shape) {
  std::vector<Size> strides(shape.size(), Size(1));
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = simplify(strides[d] * shape[d]);
  return strides;
}

Size linear_index(const Exprs& indices, const Shape& shape) {
  PTO_CHECK(indices.size() == shape.size(), "expr/size", "an index of the wrong rank");
  const auto strides = row_major_strides(shape);
  Size at(0);
  for (size_t d = 0; d < shape.size(); d++) at = at + indices[d] * strides[d];
  return simplify(at);
}

Exprs delinearise(const Expr& index, const Shape& shape) {
  Exprs out(shape.size());
  Expr rest = simplify(index);
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = d == 0 ? rest : simplify(mod(rest, shape[d]));
    if (d > 0) rest = simplify(floordiv(rest, shape[d]));
  }
  return out;
}

Size ceil_div(const Size& a, const Size& b) { return simplify(floordiv(a + (b - Size(1)), b)); }

int64_t eval_size(const Size& size, const Sizes& values) {
  const auto value = [&](Symbol name) {
    const auto it = values.find(name);
    PTO_CHECK(it != values.end(), "expr/size", "unbound size " + name.str());
    return Scalar::from_int(DType::I64, it->second);
  };
  if (size.is_const()) return size.as_int();
  if (size.is_var()) return value(size.symbol()).to_int();
  EvalEnv env;
  env.var = value;
  return eval_scalar(size, env).to_int();
}

namespace {

// The size in floats, which show what int64 cannot hold; NaN for what sizes are not made of.
double approximate(const Expr& e, const Sizes& values) {
  const auto arg = [&](int i) { return approximate(e.arg(i), values); };
  switch (e.op()) {
    case Op::Const: return static_cast<double>(e.as_int());
    case Op::Var: return static_cast<double>(values.at(e.symbol()));
    case Op::Add: return arg(0) + arg(1);
    case Op::Sub: return arg(0) - arg(1);
    case Op::Mul: return arg(0) * arg(1);
    case Op::FloorDiv: return std::floor(arg(0) / arg(1));
    case Op::Min: return std::min(arg(0), arg(1));
    case Op::Max: return std::max(arg(0), arg(1));
    default: return std::nan("");
  }
}

// A size that int64 cannot hold is the user's error.
void check_size(const Size& size, const Sizes& values) {
  if (!(std::abs(approximate(size, values)) >= 0x1p63)) return;
  std::string where;
  for (const auto& [symbol, n] : values)
    if (uses_var(size, symbol))
      where += (where.empty() ? "" : ", ") + symbol.str() + " = " + std::to_string(n);
  throw Error(
      {.op = "size", .message = "the size " + to_text(size) + " does not fit in 64 bits", .got = where});
}

}  // namespace

std::vector<int64_t> eval_shape(const Shape& shape, const Sizes& values) {
  std::vector<int64_t> out;
  out.reserve(shape.size());
  for (const auto& d : shape) {
    out.push_back(eval_size(d, values));
    if (!d.is_const() && !d.is_var()) check_size(d, values);
  }
  return out;
}

bool is_bound(const Expr& e, const Sizes& values) {
  bool all = true;
  visit(e, [&](const Expr& part) { all = all && (!part.is_var() || values.count(part.symbol())); });
  return all;
}

namespace {

// A size with one unknown symbol that grows or falls with it by a constant determines it: 2*B + 1.
bool solve(const Size& size, int64_t actual, Sizes& values) {
  Symbol unknown;
  bool one = true;
  visit(size, [&](const Expr& part) {
    if (!part.is_var() || values.count(part.symbol())) return;
    one = one && (unknown.empty() || unknown == part.symbol());
    unknown = part.symbol();
  });
  if (!one || unknown.empty()) return false;
  auto at = [&](int64_t value) {
    Sizes tried = values;
    tried[unknown] = value;
    return eval_size(size, tried);
  };
  const int64_t zero = at(0), slope = at(1) - zero;
  if (slope == 0 || (actual - zero) % slope != 0) return false;
  const int64_t value = (actual - zero) / slope;
  if (value < 0 || at(value) != actual) return false;
  values[unknown] = value;
  return true;
}

}  // namespace

std::optional<ShapeMismatch> solve_sizes(const std::vector<ShapeMatch>& matches, Sizes& values) {
  for (const auto& [declared, actual] : matches)
    for (size_t d = 0; d < declared.size(); d++)
      if (declared[d].is_var()) values.emplace(declared[d].symbol(), actual[d]);
  // Symbols that occur in sums and products only come after those that stand alone.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [declared, actual] : matches)
      for (size_t d = 0; d < declared.size(); d++)
        changed = changed || (!is_bound(declared[d], values) && solve(declared[d], actual[d], values));
  }
  for (size_t i = 0; i < matches.size(); i++) {
    const auto& [declared, actual] = matches[i];
    for (size_t d = 0; d < declared.size(); d++)
      if (!is_bound(declared[d], values) || eval_size(declared[d], values) != actual[d])
        return ShapeMismatch{i, d};
  }
  return std::nullopt;
}

bool is_static(const Size& size) { return size.is_const(); }

// Products without spaces: the commas part what stands in the list.
std::string shape_text(const Shape& shape) {
  std::string out = "[";
  for (size_t d = 0; d < shape.size(); d++) out += (d ? ", " : "") + shape[d].str();
  for (size_t at; (at = out.find(" * ")) != std::string::npos;) out.replace(at, 3, "*");
  return out + "]";
}

Shape parse_shape(Lexer& in) {
  Shape shape;
  in.expect("[");
  while (!in.accept("]")) {
    if (!shape.empty()) in.expect(",");
    shape.push_back(parse_expr(in, [](Symbol) { return DType::I64; }));
  }
  return shape;
}

}  // namespace pto
