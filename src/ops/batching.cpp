#include "ops/batching.h"

#include <algorithm>

#include "ops/compose.h"
#include "ops/fold_attrs.h"
#include "ops/foreign.h"
#include "ops/index_attrs.h"
#include "ops/movement_attrs.h"
#include "ops/opaque_attrs.h"
#include "ops/random_attrs.h"

namespace pto {
namespace {

// Operand `i` with the axis, whether it came with it or not.
Value operand(const Batch& b, size_t i) { return b.batched[i] ? b.x[i] : with_batch(b.x[i], b.size); }
Values operands(const Batch& b) {
  Values all;
  for (size_t i = 0; i < b.x.size(); i++) all.push_back(operand(b, i));
  return all;
}

template <class T>
std::shared_ptr<T> copied(const Batch& b) {
  return std::make_shared<T>(attrs_of<T>(b.node));
}

Values applied(const Batch& b, Values operands, AttrsPtr attrs) {
  return results_of(make_node(*b.node.row(), std::move(operands), std::move(attrs), b.node.loc()));
}

template <class T, class First>
void prepend(std::vector<T>& all, First first) {
  all.insert(all.begin(), T(first));
}

// The axes, each one further back.
std::vector<int64_t> shifted(std::vector<int64_t> axes) {
  for (auto& axis : axes) axis++;
  return axes;
}

// Axis `from` moved to the front.
Value to_front(const Value& x, int64_t from) { return permute(x, with_first(x.rank(), {from})); }

template <class T>
Values along_axis(const Batch& b) {
  auto attrs = copied<T>(b);
  attrs->axis++;
  return applied(b, operands(b), attrs);
}

}  // namespace

Value with_batch(const Value& x, const Size& size) {
  Shape shape = x.shape();
  prepend(shape, size);
  return broadcast_to(x, shape);
}

Value over_axes(const Value& x, int rank) {
  Shape shape = x.shape();
  shape.resize(shape.size() + static_cast<size_t>(rank), Size(1));
  return reshape(x, shape);
}

Values batch_elementwise(const Batch& b) { return applied(b, operands(b), b.node.attrs()); }

// --- movement -----------------------------------------------------------------------------------

Values batch_reshape(const Batch& b) {
  auto attrs = copied<ShapeAttrs>(b);
  prepend(attrs->shape, b.size);
  return applied(b, b.x, attrs);
}

Values batch_permute(const Batch& b) {
  auto attrs = copied<PermuteAttrs>(b);
  attrs->perm = shifted(attrs->perm);
  prepend(attrs->perm, 0);
  return applied(b, b.x, attrs);
}

Values batch_diagonal(const Batch& b) {
  auto attrs = copied<DiagonalAttrs>(b);
  attrs->axes = shifted(attrs->axes);
  prepend(attrs->axes, 0);
  return applied(b, b.x, attrs);
}

Values batch_broadcast(const Batch& b) {
  auto attrs = copied<ShapeAttrs>(b);
  // New axes of the result stand behind the batch's.
  Shape from = b.x[0].shape();
  from.insert(from.begin() + 1, attrs->shape.size() + 1 - from.size(), Size(1));
  prepend(attrs->shape, b.size);
  return applied(b, {reshape(b.x[0], from)}, attrs);
}

Values batch_slice(const Batch& b) {
  auto attrs = copied<SliceAttrs>(b);
  prepend(attrs->start, 0);
  prepend(attrs->size, b.size);
  prepend(attrs->step, 1);
  return applied(b, b.x, attrs);
}

Values batch_pad(const Batch& b) {
  auto attrs = copied<PadAttrs>(b);
  prepend(attrs->before, 0);
  prepend(attrs->after, 0);
  if (!b.batched[1]) return applied(b, b.x, attrs);
  // The row's value is one scalar: where it differs over the batch, it is put around afterwards.
  const auto& unbatched = attrs_of<PadAttrs>(b.node);
  const Value& x = b.node.inputs()[0];
  const Value zero = full({}, Scalar::from_int(x.dtype(), 0));
  const Value inside = within_border(x.shape(), unbatched.before, unbatched.after);
  const Value padded = applied(b, {operand(b, 0), zero}, attrs)[0];
  return {where(inside, padded, over_axes(b.x[1], x.rank()))};
}

Values batch_concat(const Batch& b) { return along_axis<AxisAttrs>(b); }

// --- folds --------------------------------------------------------------------------------------

Values batch_reduce(const Batch& b) {
  auto attrs = copied<ReduceAttrs>(b);
  attrs->axes = shifted(attrs->axes);
  return applied(b, b.x, attrs);
}

Values batch_contract(const Batch& b) {
  auto attrs = copied<ContractAttrs>(b);
  // A label that none of the row's axes has.
  auto used = [&](const std::string& label) {
    for (const auto* labels : {&attrs->lhs, &attrs->rhs, &attrs->out})
      if (std::find(labels->begin(), labels->end(), label) != labels->end()) return true;
    return false;
  };
  std::string label = "n0";
  for (int i = 1; used(label); i++) label = "n" + std::to_string(i);
  if (b.batched[0]) prepend(attrs->lhs, label);
  if (b.batched[1]) prepend(attrs->rhs, label);
  prepend(attrs->out, label);
  return applied(b, b.x, attrs);
}

Values batch_cumulative(const Batch& b) { return along_axis<CumulativeAttrs>(b); }

// --- indices ------------------------------------------------------------------------------------

Values batch_gather(const Batch& b) {
  auto attrs = copied<GatherAttrs>(b);
  const bool indexed = std::find(b.batched.begin() + 1, b.batched.end(), true) != b.batched.end();
  if (b.batched[0]) attrs->axes = shifted(attrs->axes);
  if (!indexed) {
    attrs->at++;
    return applied(b, b.x, attrs);
  }
  Values all = operands(b);
  all[0] = b.x[0];
  // Each element of the batch reads its own part of x.
  if (b.batched[0]) {
    prepend(attrs->axes, 0);
    all.insert(all.begin() + 1, iota(all[1].shape(), 0, DType::I64));
  }
  const int64_t at = attrs->at;
  return {to_front(applied(b, all, attrs)[0], at)};
}

Values batch_take_along_axis(const Batch& b) { return along_axis<AxisAttrs>(b); }

Values batch_scatter(const Batch& b) {
  auto attrs = copied<ScatterAttrs>(b);
  const int rank = b.node.inputs()[0].rank();
  const bool rows = b.node.inputs()[1].rank() == 1;
  const Value updates = operand(b, 2);
  Value index = b.x[1];
  if (rows && b.batched[1] && rank > 1) {
    // Indices of whole rows: one for each element, as they differ over the batch.
    Shape shape(static_cast<size_t>(rank) + 1, Size(1));
    shape[0] = b.size;
    shape[static_cast<size_t>(attrs->axis) + 1] = index.shape()[1];
    index = broadcast_to(reshape(index, shape), updates.shape());
  } else if (!rows) {
    index = operand(b, 1);
  }
  attrs->axis++;
  return applied(b, {operand(b, 0), index, updates}, attrs);
}

Values batch_sort(const Batch& b) { return along_axis<SortAttrs>(b); }
Values batch_topk(const Batch& b) { return along_axis<TopKAttrs>(b); }

// --- random bits, foreign calls -----------------------------------------------------------------

Values batch_random_bits(const Batch& b) {
  auto attrs = copied<RandomBitsAttrs>(b);
  if (b.batched[0] || b.batched[1]) {
    prepend(attrs->shape, b.size);
    attrs->keys++;
    return applied(b, operands(b), attrs);
  }
  // One draw for the whole batch, of which each element has its part.
  const int64_t at = attrs->keys;
  attrs->shape.insert(attrs->shape.begin() + at, b.size);
  return {to_front(applied(b, b.x, attrs)[0], at)};
}

Values batch_foreign(const Batch& b) {
  const auto& attrs = attrs_of<ForeignAttrs>(b.node);
  if (!attrs.batch)
    throw Error({.op = "vmap",
                 .message = "the foreign function " + attrs.name + " has no batching rule",
                 .expected = "pypto.foreign(..., vmap=rule)",
                 .loc = b.node.loc()});
  return attrs.batch(b);
}

}  // namespace pto
