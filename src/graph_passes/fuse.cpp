#include "graph_passes/pipeline.h"

#include <unordered_set>

#include "graph_passes/grouping.h"
#include "graph_passes/rewrite.h"
#include "ops/row.h"

namespace pto {
namespace {

// Has its elements already: nothing computes it.
bool is_source(const Node& node) {
  return node.has_data() || (node.row()->family == Family::Leaf && !node.row()->element);
}

struct ValueHash {
  size_t operator()(const Value& v) const {
    return hash_combine(reinterpret_cast<uintptr_t>(v.node.get()), static_cast<uint64_t>(v.index));
  }
};
using ValueSet = std::unordered_set<Value, ValueHash>;

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

Fusion fuse(const Graph& graph, bool enabled) {
  return enabled ? Grouping(graph).run() : one_by_one(graph);
}

}  // namespace pto
