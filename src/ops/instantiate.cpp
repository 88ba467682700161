#include "ops/instantiate.h"

#include <unordered_map>

#include "expr/size.h"
#include "ops/builder.h"
#include "ops/leaf_attrs.h"

namespace pto {
namespace {

Expr with_sizes(const Expr& e, const Substitution& sizes) {
  return e.is_const() ? e : simplify(substitute(e, sizes));
}

Shape with_sizes(const Shape& shape, const Substitution& sizes) {
  Shape result;
  for (const auto& size : shape) result.push_back(with_sizes(size, sizes));
  return result;
}

AttrsPtr with_sizes(const AttrsPtr& attrs, const Substitution& sizes);

// Nested graphs use the sizes of the graph around them.
Graph with_sizes(const Graph& graph, const Substitution& sizes) {
  Graph result;
  result.name = graph.name;
  std::unordered_map<const Node*, NodePtr> copies;
  for (const auto& node : graph.order()) {
    Values operands;
    for (const auto& v : node->inputs()) operands.push_back({copies.at(v.node.get()), v.index});
    std::vector<TensorType> types = node->outputs();
    for (auto& type : types) type.shape = with_sizes(type.shape, sizes);
    const auto copy = std::make_shared<Node>(node->row(), with_sizes(node->attrs(), sizes),
                                             std::move(operands), std::move(types), node->loc());
    if (node->has_data()) {
      std::vector<BufferPtr> data;
      for (const auto& v : results_of(node)) data.push_back(node->data(v.index));
      copy->set_data(std::move(data));
    }
    copies.emplace(node.get(), copy);
  }
  for (const auto& input : graph.inputs) result.inputs.push_back(copies.at(input.get()));
  for (const auto& v : graph.outputs) result.outputs.push_back({copies.at(v.node.get()), v.index});
  for (const auto& guard : graph.guards) result.guards.push_back(with_sizes(guard, sizes));
  return result;
}

class SizeWriter : public AttrIgnorer {
 public:
  using AttrIgnorer::field;
  explicit SizeWriter(const Substitution& sizes) : sizes_(sizes) {}
  void field(const char*, Exprs& value) override { value = with_sizes(value, sizes_); }
  void field(const char*, std::shared_ptr<const Graph>& value) override {
    if (value) value = std::make_shared<const Graph>(with_sizes(*value, sizes_));
  }

 private:
  const Substitution& sizes_;
};

AttrsPtr with_sizes(const AttrsPtr& attrs, const Substitution& sizes) {
  if (!attrs || sizes.empty()) return attrs;
  const auto copy = attrs->clone();
  SizeWriter writer(sizes);
  copy->visit(writer);
  return copy;
}

}  // namespace

Values instantiate(const Graph& graph, const Values& operands, const Substitution& sizes) {
  PTO_CHECK(operands.size() == graph.inputs.size(), "instantiate",
            "another number of operands than of inputs");
  std::unordered_map<const Node*, Values> made;
  for (size_t i = 0; i < operands.size(); i++) made.emplace(graph.inputs[i].get(), Values{operands[i]});
  for (const auto& node : graph.order()) {
    if (made.count(node.get())) continue;
    if (node->has_data()) {
      made.emplace(node.get(), results_of(node));
      continue;
    }
    const AttrsPtr attrs = with_sizes(node->attrs(), sizes);
    const auto* size = dynamic_cast<const SizeAttrs*>(attrs.get());
    if (size && size->value.at(0).is_const()) {
      const WithLoc at(node->loc());
      made.emplace(node.get(), Values{full({}, size->value[0].value())});
      continue;
    }
    Values inputs;
    for (const auto& v : node->inputs()) inputs.push_back(made.at(v.node.get())[v.index]);
    made.emplace(node.get(), results_of(make_node(*node->row(), std::move(inputs), attrs, node->loc())));
  }
  Values results;
  for (const auto& v : graph.outputs) results.push_back(made.at(v.node.get())[v.index]);
  return results;
}

Graph copied(const Graph& graph) { return with_sizes(graph, {}); }

}  // namespace pto
