#include "ops/gradient.h"

#include <cmath>

#include "ops/control.h"

namespace pto {

Value quotient(const Value& d, const Value& x) {
  const Value infinite = scaled(d, binary("copysign", INFINITY, x));
  return where(equal(x, 0.0), infinite, div(d, x));
}

Value unfolded(const Value& folded, const Shape& shape, const std::vector<int64_t>& axes) {
  Shape kept = shape;
  for (int64_t axis : axes) kept[axis] = Size(1);
  return broadcast_to(reshape(folded, kept), shape);
}

Value zeros(const TensorType& type) { return full(type.shape, Scalar::from_double(type.dtype, 0)); }

Value shifted(const Value& x, int64_t axis, bool towards_start, double edge) {
  const Size n = x.shape()[axis];
  if (n.is_const(0)) return x;
  Exprs before(x.rank(), Size(0)), after(x.rank(), Size(0));
  (towards_start ? after : before)[axis] = Size(1);
  const Value wide = pad(x, before, after, to_value(edge, x.dtype()));
  return slice_axis(wide, axis, towards_start ? Size(1) : Size(0), towards_start ? simplify(n + Size(1)) : n);
}

Value reverse_recurrence(const Value& d, const Value& w, int64_t axis) {
  const auto front = with_first(d.rank(), {axis});
  const Value sums = permute(d, front), weights = permute(shifted(w, axis, true, 0), front);
  TensorType item = sums.type();
  item.shape.erase(item.shape.begin());
  auto body = std::make_shared<Graph>();
  body->name = "recurrence";
  const Value carry = make_input("carry", item), x = make_input("d", item), factor = make_input("w", item);
  body->inputs = {carry.node, x.node, factor.node};
  const Value next = add(x, mul(factor, carry));
  body->outputs = {next, next};
  auto attrs = std::make_shared<ScanLoopAttrs>();
  attrs->carries = 1;
  attrs->sequences = 2;
  attrs->length = {sums.shape()[0]};
  attrs->reverse = true;
  attrs->body = body;
  const NodePtr loop = make_node(row("scan_loop"), {zeros(item), sums, weights}, attrs, current_loc());
  return permute_back({loop, 1}, front);
}

Value dilated(const Value& x, int64_t axis, int64_t step) {
  if (step == 1) return x;
  const Value apart = expand(x, axis + 1);
  Exprs before(apart.rank(), Size(0)), after(apart.rank(), Size(0));
  after[axis + 1] = Size(step - 1);
  const Value wide = pad(apart, before, after, to_value(0.0, x.dtype()));
  Shape shape = x.shape();
  shape[axis] = simplify(shape[axis] * Size(step));
  return reshape(wide, shape);
}

Value embedded(const Value& x, const Shape& shape, const std::vector<int64_t>& axes) {
  const int rank = static_cast<int>(shape.size());
  std::vector<int64_t> first(x.rank(), -1), perm;
  Shape kept(rank, Size(1));
  Value same;
  for (int64_t d = 0; d < rank; d++) {
    int64_t& at = first[axes[d]];
    if (at < 0) {
      at = d;
      kept[d] = shape[d];
      perm.push_back(axes[d]);
      continue;
    }
    const Value here = equal(positions(shape[at], at, rank), positions(shape[d], d, rank));
    same = same ? logical_and(same, here) : here;
  }
  const Value spread = broadcast_to(reshape(permute(x, perm), kept), shape);
  return same ? where(broadcast_to(same, shape), spread, 0.0) : spread;
}

}  // namespace pto
