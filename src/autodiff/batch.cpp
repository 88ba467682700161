#include "autodiff/batch.h"

#include <unordered_map>

#include "autodiff/batch_mask.h"
#include "ops/batching.h"
#include "ops/compose.h"
#include "ops/foreign.h"

namespace pto {
namespace {

thread_local Value t_mask;

// Does it draw random bits, itself or in a nested graph? Graphs are nested a few deep.
bool draws(const Node& node) {
  if (node.row()->family == Family::Random) return true;
  if (node.row()->family != Family::Control) return false;
  struct Finder : AttrIgnorer {
    bool found = false;
    using AttrIgnorer::field;
    void field(const char*, std::shared_ptr<const Graph>& graph) override {
      for (const auto& inner : graph->order()) found = found || draws(*inner);
    }
  };
  Finder finder;
  read(*node.attrs(), finder);
  return finder.found;
}

bool any(const std::vector<bool>& flags) {
  for (const bool flag : flags)
    if (flag) return true;
  return false;
}

class Walk {
 public:
  explicit Walk(const Size& size) : size_(size) {}

  void set(const Value& variable, const Value& value, bool batched) {
    done_[variable.node.get()] = {{value}, {batched}};
  }

  void visit(const NodePtr& node) {
    if (done_.count(node.get())) return;
    Batched operands;
    for (const auto& v : node->inputs()) {
      const Batched& from = done_.at(v.node.get());
      operands.values.push_back(from.values[v.index]);
      operands.batched.push_back(from.batched[v.index]);
    }
    done_[node.get()] = node->has_data() ? unbatched(results_of(node)) : applied(node, std::move(operands));
  }

  std::pair<Value, bool> of(const Value& v) const {
    const Batched& found = done_.at(v.node.get());
    return {found.values[v.index], found.batched[v.index]};
  }

 private:
  static Batched unbatched(Values values) {
    const size_t n = values.size();
    return {std::move(values), std::vector<bool>(n, false)};
  }

  Batched applied(const NodePtr& node, Batched operands) {
    const OpRow& row = *node->row();
    const WithLoc at(node->loc());
    if (t_mask) mask(*node, operands);
    const bool inner = t_mask && row.family == Family::Control;
    if (!any(operands.batched) && !inner && !draws(*node))
      return unbatched(results_of(with_operands(node, operands.values)));
    const BatchRule rule = row.batch ? row.batch : row.is_elementwise() ? batch_elementwise : nullptr;
    if (!rule) throw Error({.op = "vmap", .message = row.name + " has no batching rule", .loc = node->loc()});
    Values given = rule({*node, operands.values, operands.batched, size_});
    PTO_CHECK(given.size() == node->outputs().size(), "vmap", row.name + " gives other results batched");
    for (size_t i = 0; i < given.size(); i++)
      PTO_CHECK(given[i] && given[i].rank() == node->outputs()[i].rank() + 1, "vmap",
                row.name + " gives a result without the batch's axis");
    const size_t n = given.size();
    return {std::move(given), std::vector<bool>(n, true)};
  }

  // Indices of elements that do not count are 0, which is within any axis that can be read.
  void mask(const Node& node, Batched& operands) const {
    const Family family = node.row()->family;
    if (family == Family::Foreign && !attrs_of<ForeignAttrs>(node).pure)
      throw Error(
          {.op = "vmap",
           .message = "a foreign function with effects stands under a condition that differs over the batch",
           .expected = "a pure one, or a condition that is the same for all",
           .got = attrs_of<ForeignAttrs>(node).name,
           .loc = node.loc()});
    if (family != Family::Gather && family != Family::Scatter) return;
    const size_t end = family == Family::Scatter ? 2 : operands.values.size();
    for (size_t i = 1; i < end; i++) {
      Value& index = operands.values[i];
      const int rank = node.inputs()[i].rank();
      const Value counts = operands.batched[i] ? over_axes(t_mask, rank) : reduce("or", t_mask, {0}, false);
      index = where(counts, index, int64_t{0});
    }
  }

  const Size& size_;
  std::unordered_map<const Node*, Batched> done_;
};

}  // namespace

const Value& batch_mask() { return t_mask; }

Batched batch(const Values& outputs, const Values& variables, const Batched& operands, const Size& size,
              const Value& mask) {
  struct Restore {
    Value mask;
    ~Restore() { t_mask = mask; }
  } restore{t_mask};
  t_mask = mask;
  Walk walk(size);
  for (size_t i = 0; i < variables.size(); i++)
    walk.set(variables[i], operands.values[i], operands.batched[i]);
  for (const auto& node : topological(outputs, [](const Node& n) { return n.has_data(); })) walk.visit(node);
  Batched results;
  for (const auto& output : outputs) {
    const auto [value, batched] = walk.of(output);
    results.values.push_back(value);
    results.batched.push_back(batched);
  }
  return results;
}

}  // namespace pto
