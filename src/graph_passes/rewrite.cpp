#include "graph_passes/rewrite.h"

#include "ops/control.h"
#include "ops/foreign.h"
#include "ops/row.h"

namespace pto {

bool is_row(const Value& value, std::string_view row) { return value.node->row()->name == row; }

bool is_pure(const Node& node) {
  if (node.row()->family != Family::Foreign && node.row()->family != Family::Control) return true;
  // Graphs are nested a few deep, unlike the depth of one graph.
  struct Finder : AttrIgnorer {
    bool pure = true;
    using AttrIgnorer::field;
    void field(const char* name, bool& value) override {
      if (std::string_view(name) == "pure") pure &= value;
    }
    void field(const char*, std::shared_ptr<const Graph>& graph) override {
      for (const auto& inner : graph->order()) pure = pure && is_pure(*inner);
    }
  };
  Finder finder;
  node.attrs()->clone()->visit(finder);
  return finder.pure;
}

Graph rewrite(const Graph& graph, const RewriteRule& rule) {
  std::unordered_map<const Node*, Values> replaced;
  for (const auto& input : graph.inputs) replaced[input.get()] = results_of(input);
  auto mapped = [&](const Value& v) { return replaced.at(v.node.get())[v.index]; };
  for (const auto& node : graph.order()) {
    if (replaced.count(node.get())) continue;
    Values operands;
    operands.reserve(node->inputs().size());
    for (const auto& v : node->inputs()) operands.push_back(mapped(v));
    Values results = rule(node, operands);
    if (results.empty()) results = results_of(with_operands(node, operands));
    PTO_CHECK(results.size() == node->outputs().size(), "graph_passes", "a rewrite of another arity");
    replaced[node.get()] = std::move(results);
  }
  Graph result = graph;
  for (auto& v : result.outputs) v = mapped(v);
  return result;
}

}  // namespace pto
