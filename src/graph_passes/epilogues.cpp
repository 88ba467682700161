#include "graph_passes/epilogues.h"

#include <algorithm>
#include <set>

#include "ops/row.h"

namespace pto {

bool is_source(const Node& node) {
  return node.has_data() || (node.row()->family == Family::Leaf && !node.row()->element);
}

bool takes_whole(const Node& node) {
  const Family f = node.row()->family;
  return f == Family::Control || f == Family::Foreign || !node.row()->opaque.empty();
}

namespace {

constexpr int kLongestDiamond = 24;

class Finder {
 public:
  explicit Finder(const GraphUses& uses) : u_(uses) {}

  // The node that ends what follows `start`.
  int end_of(int start, std::vector<bool>& inside) const {
    int end = start;
    for (int next = start; next >= 0;) {
      end = next;
      if (u_.leaves[end]) break;
      const std::vector<int> region = after(end);
      if (region.empty()) break;
      // Two contractions may meet in one node; the first to reach it has it.
      if (std::any_of(region.begin(), region.end(), [&](int n) { return inside[n]; })) break;
      for (int n : region) inside[n] = true;
      next = region.back();
    }
    return store_permuted(end);
  }

 private:
  const Node& node(int n) const { return *u_.order[n]; }

  bool pointwise_like(int n, int before) const {
    return node(n).row()->is_elementwise() && node(n).outputs()[0].shape == node(before).outputs()[0].shape;
  }

  // The elementwise nodes between `from` and the first one through which all of its uses go.
  std::vector<int> after(int from) const {
    std::vector<int> region;
    std::set<int> reached(u_.users[from].begin(), u_.users[from].end());
    std::set<int> members{from};
    size_t open = u_.users[from].size();
    while (!reached.empty() && region.size() < kLongestDiamond) {
      const int n = *reached.begin();
      reached.erase(reached.begin());
      if (!pointwise_like(n, from)) return {};
      for (const auto& v : node(n).inputs()) {
        const auto it = u_.position.find(v.node.get());
        if (it != u_.position.end() && members.count(it->second)) open--;
      }
      region.push_back(n);
      if (open == 0 && reached.empty()) return region;
      if (u_.leaves[n]) return {};
      members.insert(n);
      open += u_.users[n].size();
      reached.insert(u_.users[n].begin(), u_.users[n].end());
    }
    return {};
  }

  // Axes are stored in the order in which a reshape, or the caller, wants them.
  int store_permuted(int end) const {
    if (u_.leaves[end] || u_.users[end].size() != 1) return end;
    const int p = u_.users[end][0];
    if (node(p).row()->name != "permute") return end;
    const bool wanted =
        u_.leaves[p] || (u_.users[p].size() == 1 && node(u_.users[p][0]).row()->name == "reshape");
    return wanted ? p : end;
  }

  const GraphUses& u_;
};

}  // namespace

GraphUses::GraphUses(const Graph& graph) : order(graph.order()) {
  users.resize(order.size());
  leaves.resize(order.size(), false);
  for (size_t i = 0; i < order.size(); i++) position.emplace(order[i].get(), static_cast<int>(i));
  for (size_t i = 0; i < order.size(); i++)
    for (const auto& v : order[i]->inputs()) {
      const int p = position.at(v.node.get());
      users[p].push_back(static_cast<int>(i));
      if (takes_whole(*order[i])) leaves[p] = true;
    }
  for (const auto& v : graph.outputs) leaves[position.at(v.node.get())] = true;
}

Epilogues find_epilogues(const GraphUses& uses) {
  Epilogues out{std::vector<bool>(uses.order.size(), false), std::vector<bool>(uses.order.size(), false)};
  for (size_t i = 0; i < uses.order.size(); i++) {
    if (uses.order[i]->row()->family != Family::Contraction || uses.order[i]->has_data()) continue;
    const int end = Finder(uses).end_of(static_cast<int>(i), out.inside);
    out.ends[end] = true;
    out.inside[i] = true;
  }
  return out;
}

}  // namespace pto
