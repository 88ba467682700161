// Batching rules of the rows that hold graphs.
#include "autodiff/batch.h"
#include "autodiff/batch_mask.h"
#include "ops/batching.h"
#include "ops/compose.h"
#include "ops/control.h"

namespace pto {
namespace {

using Flags = std::vector<bool>;

Values inputs_of(const Graph& graph) {
  Values all;
  for (const auto& input : graph.inputs) all.push_back({input, 0});
  return all;
}

Value batched_if(bool wanted, const Value& x, bool batched, const Size& size) {
  return wanted && !batched ? with_batch(x, size) : x;
}

// A nested graph in the making: the same inputs, those of `flags` with the batch's axis.
struct Nested {
  Batched operands;
  Value mask;   // a further input, where the walk around has one or the loop makes one
};

Value batched_input(const Value& input, bool batched, const Size& size) {
  TensorType type = input.type();
  if (batched) type.shape.insert(type.shape.begin(), size);
  return make_input(attrs_of<InputAttrs>(*input.node).name, type, input.node->loc());
}

Value mask_input(const Size& size) { return make_input("counts", {DType::Bool, {size}}); }

Nested nested(const Graph& graph, const Flags& flags, const Size& size, bool masked) {
  Nested n;
  n.operands.batched = flags;
  for (size_t i = 0; i < graph.inputs.size(); i++)
    n.operands.values.push_back(batched_input({graph.inputs[i], 0}, flags[i], size));
  if (masked) n.mask = mask_input(size);
  return n;
}

GraphAttr finished(const Graph& like, const Nested& n, Values outputs, bool mask_first) {
  auto graph = std::make_shared<Graph>();
  graph->name = like.name;
  for (const auto& v : n.operands.values) graph->inputs.push_back(v.node);
  if (n.mask) graph->inputs.insert(mask_first ? graph->inputs.begin() : graph->inputs.end(), n.mask.node);
  graph->outputs = std::move(outputs);
  return graph;
}

Value masked(const Value& mask, const Value& other) { return mask ? logical_and(mask, other) : other; }

// x where `condition`, else y, for each element of the batch.
Value selected(const Value& condition, const Value& x, const Value& y, int rank) {
  return where(over_axes(condition, rank), x, y);
}

GraphAttr batched_branch(const GraphAttr& branch, const Flags& flags, const Size& size) {
  const Nested n = nested(*branch, flags, size, static_cast<bool>(batch_mask()));
  const Batched out = batch(branch->outputs, inputs_of(*branch), n.operands, size, n.mask);
  Values outputs;
  for (size_t i = 0; i < out.values.size(); i++)
    outputs.push_back(batched_if(true, out.values[i], out.batched[i], size));
  return finished(*branch, n, outputs, false);
}

}  // namespace

Values batch_cond(const Batch& b) {
  const auto& attrs = attrs_of<CondAttrs>(b.node);
  const Batched operands{{b.x.begin() + 1, b.x.end()}, {b.batched.begin() + 1, b.batched.end()}};
  const Value mask = batch_mask();
  if (!b.batched[0]) {
    auto batched = std::make_shared<CondAttrs>();
    batched->then = batched_branch(attrs.then, operands.batched, b.size);
    batched->orelse = batched_branch(attrs.orelse, operands.batched, b.size);
    Values all = b.x;
    if (mask) all.push_back(mask);
    return results_of(make_node(*b.node.row(), std::move(all), batched, b.node.loc()));
  }
  // Both branches, and for each element the one that it takes.
  const Value taken = b.x[0];
  const Batched then =
      batch(attrs.then->outputs, inputs_of(*attrs.then), operands, b.size, masked(mask, taken));
  const Batched orelse = batch(attrs.orelse->outputs, inputs_of(*attrs.orelse), operands, b.size,
                               masked(mask, logical_not(taken)));
  Values all;
  for (size_t i = 0; i < then.values.size(); i++)
    all.push_back(selected(taken, then.values[i], orelse.values[i], b.node.outputs()[i].rank()));
  return all;
}

Values batch_while_loop(const Batch& b) {
  const auto& attrs = attrs_of<WhileAttrs>(b.node);
  const Graph &condition = *attrs.condition, &body = *attrs.body;
  const size_t states = static_cast<size_t>(attrs.state);
  const Value outer = batch_mask();
  // The states that differ over the batch, to a fixpoint; all of them if the condition does.
  Flags flags = b.batched;
  bool differs = static_cast<bool>(outer);
  for (bool changed = true; changed;) {
    changed = false;
    const Nested n = nested(condition, flags, b.size, differs);
    differs =
        differs || batch(condition.outputs, inputs_of(condition), n.operands, b.size, n.mask).batched[0];
    const Nested m = nested(body, flags, b.size, differs);
    const Batched next = batch(body.outputs, inputs_of(body), m.operands, b.size, m.mask);
    for (size_t i = 0; i < states; i++) {
      const bool batched = flags[i] || next.batched[i] || differs;
      changed = changed || batched != flags[i];
      flags[i] = batched;
    }
  }
  Batched start{b.x, flags};
  for (size_t i = 0; i < states; i++) start.values[i] = batched_if(flags[i], b.x[i], b.batched[i], b.size);
  auto batched = std::make_shared<WhileAttrs>();
  if (!differs) {
    const Nested n = nested(condition, flags, b.size, false), m = nested(body, flags, b.size, false);
    batched->state = attrs.state;
    batched->condition = finished(
        condition, n, batch(condition.outputs, inputs_of(condition), n.operands, b.size).values, false);
    Batched next = batch(body.outputs, inputs_of(body), m.operands, b.size);
    for (size_t i = 0; i < states; i++)
      next.values[i] = batched_if(flags[i], next.values[i], next.batched[i], b.size);
    batched->body = finished(body, m, next.values, false);
    Values all = results_of(make_node(*b.node.row(), start.values, batched, b.node.loc()));
    for (size_t i = 0; i < states; i++) all[i] = batched_if(true, all[i], flags[i], b.size);
    return all;
  }
  // Run while any holds. A state beside the others says which still do; the others stay as they are.
  auto holds = [&](const Batched& state, const Value& mask) {
    const Batched test = batch(condition.outputs, inputs_of(condition), state, b.size, mask);
    return masked(mask, batched_if(true, test.values[0], test.batched[0], b.size));
  };
  const Nested n = nested(condition, flags, b.size, true), m = nested(body, flags, b.size, true);
  batched->state = attrs.state + 1;
  batched->condition = finished(condition, n, {reduce("or", n.mask, {0}, false)}, true);
  const Batched next = batch(body.outputs, inputs_of(body), m.operands, b.size, m.mask);
  Batched after = m.operands;
  for (size_t i = 0; i < states; i++)
    after.values[i] = selected(m.mask, next.values[i], m.operands.values[i], b.node.outputs()[i].rank());
  Values outputs(after.values.begin(), after.values.begin() + attrs.state);
  outputs.insert(outputs.begin(), holds(after, m.mask));
  batched->body = finished(body, m, outputs, true);
  Values operands = start.values;
  operands.insert(operands.begin(), holds(start, outer));
  Values all = results_of(make_node(*b.node.row(), std::move(operands), batched, b.node.loc()));
  all.erase(all.begin());
  return all;
}

Values batch_scan_loop(const Batch& b) {
  const auto& attrs = attrs_of<ScanLoopAttrs>(b.node);
  const Graph& body = *attrs.body;
  const size_t carries = static_cast<size_t>(attrs.carries);
  const bool has_mask = static_cast<bool>(batch_mask());
  auto batched = std::make_shared<ScanLoopAttrs>(attrs);
  Flags flags = b.batched;
  Flags given;
  for (bool changed = true; changed;) {
    changed = false;
    const Nested n = nested(body, flags, b.size, has_mask);
    Batched next = batch(body.outputs, inputs_of(body), n.operands, b.size, n.mask);
    given = next.batched;
    for (size_t i = 0; i < carries; i++) {
      changed = changed || (given[i] && !flags[i]);
      flags[i] = flags[i] || given[i];
      next.values[i] = batched_if(flags[i], next.values[i], given[i], b.size);
    }
    if (!changed) batched->body = finished(body, n, next.values, false);
  }
  Values operands = b.x;
  for (size_t i = 0; i < carries; i++) operands[i] = batched_if(flags[i], b.x[i], b.batched[i], b.size);
  // The loop's axis comes first, and the batch's after it.
  auto exchanged = [](const Value& x) {
    std::vector<int64_t> perm(static_cast<size_t>(x.rank()));
    for (size_t d = 0; d < perm.size(); d++) perm[d] = static_cast<int64_t>(d < 2 ? 1 - d : d);
    return permute(x, perm);
  };
  for (size_t i = carries; i < carries + static_cast<size_t>(attrs.sequences); i++)
    if (b.batched[i]) operands[i] = exchanged(operands[i]);
  if (has_mask) operands.push_back(batch_mask());
  Values all = results_of(make_node(*b.node.row(), std::move(operands), batched, b.node.loc()));
  for (size_t i = 0; i < all.size(); i++) {
    if (i < carries)
      all[i] = batched_if(true, all[i], flags[i], b.size);
    else
      all[i] = given[i] ? exchanged(all[i]) : with_batch(all[i], b.size);
  }
  return all;
}

}  // namespace pto
