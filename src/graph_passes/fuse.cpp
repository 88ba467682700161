#include "graph_passes/fuse.h"

#include <unordered_set>

#include "graph/value_hash.h"
#include "graph_passes/grouping.h"
#include "graph_passes/rewrite.h"
#include "ops/row.h"

namespace pto {
namespace {

using ValueSet = std::unordered_set<Value>;

ValueSet used_values(const Graph& graph, const std::vector<NodePtr>& order) {
  ValueSet used(graph.outputs.begin(), graph.outputs.end());
  for (const auto& node : order) used.insert(node->inputs().begin(), node->inputs().end());
  return used;
}

Fusion one_by_one(const Graph& graph) {
  Fusion out;
  const auto order = graph.order();
  const ValueSet used = used_values(graph, order);
  for (const auto& node : order) {
    if (is_source(*node)) continue;
    FusionGroup group{{node}, {}};
    for (const auto& v : results_of(node))
      if (used.count(v)) group.outputs.push_back(v);
    out.groups.push_back(std::move(group));
  }
  return out;
}

}  // namespace

Fusion fuse(const Graph& graph, bool enabled) { return enabled ? Grouping(graph).run() : one_by_one(graph); }

}  // namespace pto
