// Builders of the rows that fold and move elements.
#include <algorithm>

#include "ops/builder.h"
#include "ops/fold_attrs.h"
#include "ops/leaf_attrs.h"
#include "ops/movement_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

[[noreturn]] void fail(const char* fn, std::string message, std::string expected, std::string got,
                       const Value& x, std::string label = "") {
  throw Error({.op = fn,
               .message = std::move(message),
               .expected = std::move(expected),
               .got = std::move(got),
               .operands = {"x: " + x.type().str()},
               .label = std::move(label),
               .loc = current_loc()});
}

}  // namespace

Value reduce(std::string_view monoid, const Value& x, const std::vector<int64_t>& axes, bool keepdims) {
  const bool position = monoid == "argmax" || monoid == "argmin";
  if (axes.empty() && !position) return x;
  auto attrs = std::make_shared<ReduceAttrs>();
  attrs->monoid = monoid;
  attrs->axes = axes;
  std::sort(attrs->axes.begin(), attrs->axes.end());
  Shape kept = x.shape();
  for (int64_t axis : axes)
    if (axis >= 0 && axis < x.rank()) kept[axis] = Size(1);
  const NodePtr node = make_node(row("reduce"), {x}, std::move(attrs), current_loc());
  const Value folded{node, position ? 1 : 0};
  return keepdims ? reshape(folded, kept) : folded;
}

// --- reshape ------------------------------------------------------------------------------------

namespace {

// whole / part, if it is the same for all sizes: found at one point, then proved.
std::optional<Size> ratio(const Size& whole, const Size& part) {
  Sizes point;
  int64_t prime = 101;
  for (const Size& e : {whole, part})
    visit(e, [&](const Expr& v) {
      if (v.is_var() && point.emplace(v.symbol(), prime).second) prime += 2;
    });
  const int64_t w = eval_size(whole, point), p = eval_size(part, point);
  if (p == 0 || w % p != 0) return std::nullopt;
  const Size q(w / p);
  if (prove_equal(whole, part * q) == true) return q;
  return std::nullopt;
}

// The size that -1 stands for.
Size missing_size(const Value& x, const Shape& shape, size_t at) {
  // Sizes on both sides cancel, so that the quotient stays simple.
  Shape left = x.shape(), right;
  for (size_t d = 0; d < shape.size(); d++) {
    if (d == at) continue;
    auto same = std::find_if(left.begin(), left.end(), [&](const Size& s) {
      return !shape[d].is_const(0) && prove_equal(s, shape[d]) == true;
    });
    if (same != left.end()) {
      left.erase(same);
    } else {
      right.push_back(shape[d]);
    }
  }
  const Size whole = simplify(product(left)), part = simplify(product(right));
  if (part.is_const(1)) return whole;
  if (part.is_const(0))
    fail("reshape", "-1 can be any size beside an axis of size 0", "a size", shape_text(shape), x);
  if (const auto q = ratio(whole, part)) return *q;
  if (!assume(equal(mod(whole, part), Size(0))))
    fail("reshape", "the elements do not divide into the other sizes",
         "a shape of " + to_text(simplify(product(x.shape()))) + " elements", shape_text(shape), x);
  return simplify(floordiv(whole, part));
}

}  // namespace

Value reshape(const Value& x, const Shape& given) {
  Shape shape = given;
  int64_t at = -1;
  for (size_t d = 0; d < shape.size(); d++) {
    if (!shape[d].is_const() || shape[d].as_int() >= 0) continue;
    if (!shape[d].is_const(-1) || at >= 0)
      fail("reshape", shape[d].is_const(-1) ? "only one size can be -1" : "a size is negative",
           "sizes of at least 0", shape_text(given), x, std::to_string(d));
    at = static_cast<int64_t>(d);
  }
  if (at >= 0) shape[at] = missing_size(x, shape, static_cast<size_t>(at));
  if (shape == x.shape()) return x;
  auto attrs = std::make_shared<ShapeAttrs>();
  attrs->shape = std::move(shape);
  return make_value("reshape", {x}, std::move(attrs), current_loc());
}

Value permute(const Value& x, const std::vector<int64_t>& perm) {
  bool same = static_cast<int>(perm.size()) == x.rank();
  for (size_t d = 0; same && d < perm.size(); d++) same = perm[d] == static_cast<int64_t>(d);
  if (same) return x;
  auto attrs = std::make_shared<PermuteAttrs>();
  attrs->perm = perm;
  return make_value("permute", {x}, std::move(attrs), current_loc());
}

// --- slices -------------------------------------------------------------------------------------

Value strided(const Value& x, const Exprs& start, const Exprs& size, const std::vector<int64_t>& step) {
  const size_t rank = x.rank();
  bool whole = start.size() == rank && size.size() == rank && step.size() == rank;
  for (size_t d = 0; whole && d < rank; d++)
    whole = start[d].is_const(0) && step[d] == 1 && size[d] == x.shape()[d];
  if (whole) return x;
  auto attrs = std::make_shared<SliceAttrs>();
  attrs->start = start;
  attrs->size = size;
  attrs->step = step;
  return make_value("slice", {x}, std::move(attrs), current_loc());
}

namespace {

// A bound of a slice within 0 .. n. What is neither proved nor known in this call is clamped when
// the kernel runs.
Size clamped(const Size& bound, const Size& n) {
  const Size at = bound.is_const() && bound.as_int() < 0 ? simplify(n + bound) : bound;
  if (at == n) return at;
  const auto not_below = decide(Size(0) <= at);
  if (not_below == false) return Size(0);
  const auto not_above = decide(at <= n);
  if (not_above == false) return n;
  Size result = at;
  if (!not_below) result = max(result, Size(0));
  if (!not_above) result = min(result, n);
  return simplify(result);
}

}  // namespace

Value slice(const Value& x, const Exprs& start, const Exprs& stop, const std::vector<int64_t>& step) {
  const size_t rank = x.rank();
  if (start.size() != rank || stop.size() != rank || step.size() != rank)
    fail("slice", "every axis needs a start, a stop and a step", std::to_string(rank) + " of each",
         std::to_string(start.size()), x);
  Exprs from, size;
  for (size_t d = 0; d < rank; d++) {
    const Size& n = x.shape()[d];
    if (step[d] <= 0)
      fail("slice", "the step is not positive", "at least 1", std::to_string(step[d]), x, std::to_string(d));
    const Size first = clamped(start[d], n), last = clamped(stop[d], n);
    const Size span = simplify(ceil_div(last - first, Size(step[d])));
    const auto ordered = decide(first <= last);
    from.push_back(first);
    size.push_back(ordered == false ? Size(0) : ordered ? span : simplify(max(span, Size(0))));
    if (size.back().is_const(0)) from.back() = Size(0);
  }
  return strided(x, from, size, step);
}

Value flip(const Value& x, const std::vector<int64_t>& axes) {
  Exprs start(x.rank(), Size(0));
  std::vector<int64_t> step(x.rank(), 1);
  for (int64_t axis : axes) {
    start[axis] = simplify(x.shape()[axis] - Size(1));
    step[axis] = -1;
  }
  return strided(x, start, x.shape(), step);
}

// --- joining, padding, counting ------------------------------------------------------------------

Value concat(const Values& xs, int64_t axis) {
  PTO_CHECK(!xs.empty(), "concat", "nothing to join");
  Values parts = xs;
  while (parts.size() > 1) {
    Values joined;
    for (size_t i = 0; i < parts.size(); i += kMaxConcat) {
      const size_t end = std::min(parts.size(), i + kMaxConcat);
      auto attrs = std::make_shared<AxisAttrs>();
      attrs->axis = axis;
      const Values some(parts.begin() + static_cast<int64_t>(i), parts.begin() + static_cast<int64_t>(end));
      joined.push_back(some.size() == 1 ? some[0]
                                        : make_value("concat", some, std::move(attrs), current_loc()));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

Value pad(const Value& x, const Exprs& before, const Exprs& after, const Value& value) {
  auto zero = [](const Size& s) { return s.is_const(0); };
  if (std::all_of(before.begin(), before.end(), zero) && std::all_of(after.begin(), after.end(), zero) &&
      static_cast<int>(before.size()) == x.rank() && before.size() == after.size())
    return x;
  auto attrs = std::make_shared<PadAttrs>();
  attrs->before = before;
  attrs->after = after;
  return make_value("pad", {x, cast(value, x.dtype())}, std::move(attrs), current_loc());
}

Value iota(const Shape& shape, int64_t axis, DType type) {
  auto attrs = std::make_shared<IotaAttrs>();
  attrs->dtype = type;
  attrs->axis = axis;
  attrs->shape = shape;
  return make_value("iota", {}, std::move(attrs), current_loc());
}

}  // namespace pto
