#include "api/backward_values.h"

#include <algorithm>
#include <unordered_set>

#include "autodiff/vjp.h"
#include "ops/gradient_mode.h"
#include "ops/row.h"

namespace pto {
namespace {

bool off_tape(const Node& node) { return !node.taped(); }

bool computed_again(const Node& node) {
  switch (node.row()->family) {
    case Family::Leaf:
    case Family::Elementwise:
    case Family::Movement:
    case Family::Random: return true;
    default: return false;
  }
}

}  // namespace

Values backward_values(const Values& results) {
  const WithoutTape plain;
  Values seeds, beginnings;
  for (const auto& v : results) seeds.push_back(make_input("cotangent", v.type(), v.node->loc()));
  for (const auto& node : topological(results, off_tape))
    if (node->taped() && std::none_of(node->inputs().begin(), node->inputs().end(),
                                      [](const Value& v) { return v.node->taped(); }))
      for (const auto& v : results_of(node))
        if (is_float(v.dtype())) beginnings.push_back(v);
  Values gradients;
  for (const auto& g : vjp(results, seeds, beginnings, off_tape))
    if (g) gradients.push_back(g);

  std::unordered_set<const Node*> forward;
  for (const auto& node : topological(results)) forward.insert(node.get());
  auto kept = [&](const Node& node) { return forward.count(&node) && !computed_again(node); };
  Values values;
  for (const auto& node : topological(gradients, [&](const Node& n) { return n.has_data() || kept(n); }))
    if (kept(*node) && !node->has_data()) values.push_back({node, 0});
  return values;
}

}  // namespace pto
