#include "graph_passes/cse.h"

#include "graph_passes/rewrite.h"
#include "ops/row.h"

namespace pto {
namespace {

bool same(const Node& a, const Node& b) {
  return a.row() == b.row() && a.inputs() == b.inputs() && a.outputs() == b.outputs() &&
         equal_attrs(*a.attrs(), *b.attrs());
}

}  // namespace

Graph merge_common_nodes(const Graph& graph) {
  // Nodes by number, so that the hashes do not depend on addresses.
  std::unordered_map<const Node*, uint64_t> numbers;
  for (const auto& input : graph.inputs) numbers.emplace(input.get(), numbers.size());
  std::unordered_map<uint64_t, std::vector<NodePtr>> known;
  return rewrite(graph, [&](const NodePtr& old, const Values& operands) -> Values {
    const NodePtr node = with_operands(old, operands);
    if (!is_pure(*node)) {
      numbers.emplace(node.get(), numbers.size());
      return results_of(node);
    }
    uint64_t hash = hash_combine(hash_bytes(node->row()->name), hash_attrs(*node->attrs()));
    for (const auto& v : operands)
      hash = hash_combine(hash_combine(hash, numbers.at(v.node.get())), static_cast<uint64_t>(v.index));
    auto& candidates = known[hash];
    for (const auto& earlier : candidates)
      if (same(*earlier, *node)) return results_of(earlier);
    candidates.push_back(node);
    numbers.emplace(node.get(), numbers.size());
    return results_of(node);
  });
}

}  // namespace pto
