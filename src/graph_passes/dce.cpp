#include "graph_passes/dce.h"

#include <algorithm>
#include <set>

#include "graph_passes/rewrite.h"
#include "ops/control.h"
#include "ops/row.h"

namespace pto {
namespace {

using Flags = std::vector<bool>;

// Which inputs the marked outputs need.
Flags needed_inputs(const Graph& graph, const Flags& outputs) {
  Values roots;
  for (size_t i = 0; i < outputs.size(); i++)
    if (outputs[i]) roots.push_back(graph.outputs[i]);
  std::set<const Node*> reached;
  for (const auto& node : topological(roots)) reached.insert(node.get());
  Flags needed;
  for (const auto& input : graph.inputs) needed.push_back(reached.count(input.get()) > 0);
  return needed;
}

template <class T>
std::vector<T> kept(const std::vector<T>& all, const Flags& keep) {
  std::vector<T> some;
  for (size_t i = 0; i < all.size(); i++)
    if (keep[i]) some.push_back(all[i]);
  return some;
}

GraphAttr restricted(const Graph& graph, const Flags& inputs, const Flags& outputs) {
  Graph smaller = graph;
  smaller.inputs = kept(graph.inputs, inputs);
  smaller.outputs = kept(graph.outputs, outputs);
  return std::make_shared<const Graph>(std::move(smaller));
}

int64_t count(const Flags& flags, size_t from, size_t to) {
  return std::count(flags.begin() + from, flags.begin() + to, true);
}

// A control node cut down: which results and operands stay, and its attributes then.
struct Cut {
  Flags results, operands;
  AttrsPtr attrs;
};

Cut cut_cond(const Node& node, const Flags& used) {
  const auto& attrs = attrs_of<CondAttrs>(node);
  const Flags a = needed_inputs(*attrs.then, used), b = needed_inputs(*attrs.orelse, used);
  Flags inner(a.size()), operands{true};
  for (size_t i = 0; i < a.size(); i++) operands.push_back(inner[i] = a[i] || b[i]);
  auto cut = std::make_shared<CondAttrs>();
  cut->then = restricted(*attrs.then, inner, used);
  cut->orelse = restricted(*attrs.orelse, inner, used);
  return {used, operands, cut};
}

// State is live if it is used, or the condition or the next value of live state reads it.
Cut cut_while(const Node& node, const Flags& used) {
  const auto& attrs = attrs_of<WhileAttrs>(node);
  Flags live = used, operands;
  const Flags condition = needed_inputs(*attrs.condition, {true});
  for (bool changed = true; changed;) {
    operands = needed_inputs(*attrs.body, live);
    changed = false;
    for (size_t i = 0; i < live.size(); i++) {
      if (live[i] || !(operands[i] || condition[i])) continue;
      live[i] = changed = true;
    }
  }
  for (size_t i = 0; i < operands.size(); i++)
    operands[i] = i < live.size() ? live[i] : operands[i] || condition[i];
  auto cut = std::make_shared<WhileAttrs>();
  cut->state = count(live, 0, live.size());
  cut->condition = restricted(*attrs.condition, operands, {true});
  cut->body = restricted(*attrs.body, operands, live);
  return {live, operands, cut};
}

Cut cut_scan(const Node& node, const Flags& used) {
  const auto& attrs = attrs_of<ScanLoopAttrs>(node);
  const size_t carries = attrs.carries, known = carries + attrs.sequences;
  Flags live = used, operands;
  for (bool changed = true; changed;) {
    operands = needed_inputs(*attrs.body, live);
    changed = false;
    for (size_t i = 0; i < carries; i++) {
      if (live[i] || !operands[i]) continue;
      live[i] = changed = true;
    }
  }
  for (size_t i = 0; i < carries; i++) operands[i] = live[i];
  auto cut = std::make_shared<ScanLoopAttrs>(attrs);
  cut->carries = count(live, 0, carries);
  cut->sequences = count(operands, carries, known);
  cut->body = restricted(*attrs.body, operands, live);
  return {live, operands, cut};
}

Cut cut_down(const Node& node, const Flags& used) {
  if (node.row()->name == "cond") return cut_cond(node, used);
  if (node.row()->name == "while_loop") return cut_while(node, used);
  return cut_scan(node, used);
}

}  // namespace

Graph drop_dead_results(const Graph& graph) {
  std::set<std::pair<const Node*, int>> used;
  for (const auto& v : graph.outputs) used.insert({v.node.get(), v.index});
  for (const auto& node : graph.order())
    for (const auto& v : node->inputs()) used.insert({v.node.get(), v.index});
  return rewrite(graph, [&](const NodePtr& node, const Values& operands) -> Values {
    if (node->row()->family != Family::Control || !is_pure(*node)) return {};
    Flags flags;
    for (size_t i = 0; i < node->outputs().size(); i++)
      flags.push_back(used.count({node.get(), static_cast<int>(i)}) > 0);
    const Cut cut = cut_down(*node, flags);
    if (cut.results.size() == static_cast<size_t>(count(cut.results, 0, cut.results.size())) &&
        cut.operands.size() == static_cast<size_t>(count(cut.operands, 0, cut.operands.size())))
      return {};
    const NodePtr smaller = make_node(*node->row(), kept(operands, cut.operands), cut.attrs, node->loc());
    // A result that is gone is used by nothing; any value may stand in its place.
    Values results;
    int next = 0;
    for (size_t i = 0; i < cut.results.size(); i++)
      results.push_back(cut.results[i] ? Value{smaller, next++} : Value{node, static_cast<int>(i)});
    return results;
  });
}

}  // namespace pto
