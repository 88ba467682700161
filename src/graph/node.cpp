#include "graph/node.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace pto {
namespace {

// What a thread still has to free while it destroys a node. A node that dies then leaves its
// operands here, so that a chain is freed by a loop.
thread_local Values* dying = nullptr;

void free_all(Values values) {
  if (dying) {
    for (auto& v : values) dying->push_back(std::move(v));
    return;
  }
  dying = &values;
  while (!values.empty()) {
    const Value last = std::move(values.back());
    values.pop_back();
  }
  dying = nullptr;
}

}  // namespace

std::string TensorType::str() const { return std::string(name(dtype)) + shape_text(shape); }

const TensorType& Value::type() const { return node->outputs()[index]; }

Node::Node(const OpRow* row, AttrsPtr attrs, Values inputs, std::vector<TensorType> outputs, Loc loc)
    : row_(row),
      attrs_(std::move(attrs)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      loc_(loc) {}

Node::~Node() {
  if (!inputs_.empty()) free_all(std::move(inputs_));
}

void Node::set_data(std::vector<BufferPtr> data) {
  PTO_CHECK(data.size() == outputs_.size(), "graph", "data for another number of results");
  for (size_t i = 0; i < data.size(); i++)
    PTO_CHECK(data[i] && data[i]->dtype == outputs_[i].dtype &&
                  data[i]->shape.size() == static_cast<size_t>(outputs_[i].rank()),
              "graph", "data of another type than " + outputs_[i].str());
  data_ = std::move(data);
  computed_.store(true, std::memory_order_release);
  // Where a tape begins, nothing of what led there is needed.
  const bool kept = taped() && std::any_of(inputs_.begin(), inputs_.end(), [](const Value& v) {
                      return v.node->taped() || v.node->released();
                    });
  if (!kept) free_all(std::exchange(inputs_, {}));
}

void Node::leave_tape(Tape state) {
  tape_.store(state, std::memory_order_relaxed);
  expansion_.reset();
  if (has_data()) free_all(std::exchange(inputs_, {}));
}

Values results_of(const NodePtr& node) {
  Values results;
  for (size_t i = 0; i < node->outputs().size(); i++) results.push_back({node, static_cast<int>(i)});
  return results;
}

// Depth first from the roots in order, with a stack of its own.
std::vector<NodePtr> topological(const Values& roots, const std::function<bool(const Node&)>& is_leaf) {
  struct Visit {
    const NodePtr* node;
    size_t next, operands;
  };
  std::vector<NodePtr> order;
  std::unordered_set<const Node*> seen;
  std::vector<Visit> stack;
  auto enter = [&](const NodePtr& node) {
    if (!seen.insert(node.get()).second) return;
    const bool leaf = is_leaf ? is_leaf(*node) : node->has_data();
    stack.push_back({&node, 0, leaf ? 0 : node->inputs().size()});
  };
  for (const auto& root : roots) {
    enter(root.node);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.operands) {
        enter((*top.node)->inputs()[top.next++].node);
      } else {
        order.push_back(*top.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<NodePtr> Graph::order() const {
  Values roots;
  for (const auto& input : inputs) roots.push_back({input, 0});
  roots.insert(roots.end(), outputs.begin(), outputs.end());
  return topological(roots);
}

namespace {

// The size symbols of types, guards and attributes, in the order in which they come.
class SymbolCollector : public AttrIgnorer {
 public:
  using AttrIgnorer::field;
  std::vector<Symbol> all;

  void add(const Expr& e) {
    if (e.is_const()) return;
    visit(e, [&](const Expr& part) {
      if (part.is_var() && seen_.insert(part.symbol()).second) all.push_back(part.symbol());
    });
  }
  void add(const Exprs& exprs) {
    for (const auto& e : exprs) add(e);
  }
  // Control rows nest graphs a few deep.
  void add(const Graph& graph) {
    for (const auto& node : graph.order()) {
      for (const auto& type : node->outputs()) add(type.shape);
      read(*node->attrs(), *this);
    }
    add(graph.guards);
  }

  void field(const char*, Exprs& value) override { add(value); }
  void field(const char*, std::shared_ptr<const Graph>& value) override {
    if (value) add(*value);
  }

 private:
  std::unordered_set<Symbol> seen_;
};

}  // namespace

std::vector<Symbol> Graph::size_symbols() const {
  SymbolCollector symbols;
  symbols.add(*this);
  return symbols.all;
}

}  // namespace pto
