#include "autodiff/vjp.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/builder.h"
#include "ops/row.h"

namespace pto {
namespace {

// The call's graph begins at variables of its own, so that its operands may depend on each other.
Values through_call(const Node& call, const Values& cotangents) {
  Values variables;
  for (const auto& x : call.inputs())
    variables.push_back(make_value("variable", {x}, std::make_shared<NoAttrs>(), call.loc()));
  std::unordered_set<const Node*> ends;
  for (const auto& v : variables) ends.insert(v.node.get());
  return vjp((*call.expansion())(variables), cotangents, variables,
             [&](const Node& n) { return ends.count(&n) > 0; });
}

// The cotangents of a node's operands, by its row.
Values pulled_back(const NodePtr& node, const Values& cotangents, const std::vector<bool>& wanted) {
  const OpRow& row = *node->row();
  const Values& x = node->inputs();
  const Values y = results_of(node);
  if (node->expansion()) return through_call(*node, cotangents);
  const Vjp v{*node, x, y, cotangents, wanted};
  if (row.gradient) return row.gradient(v);
  if (row.discrete) return Values(x.size());
  if (row.partials.empty())
    throw Error({.op = called_name(*node),
                 .message = "there is no gradient of " + row.name,
                 .expected = "an operator with a gradient, or pypto.stop_gradient around it",
                 .loc = node->loc()});
  PTO_CHECK(row.partials.size() == x.size(), "vjp", row.name + " has another number of partial rules");
  Values answers(x.size());
  for (size_t i = 0; i < x.size(); i++)
    if (wanted[i] && row.partials[i]) answers[i] = row.partials[i](v);
  return answers;
}

Values present(const Values& values) {
  Values all;
  for (const auto& v : values)
    if (v) all.push_back(v);
  return all;
}

class Reverse {
 public:
  // Nodes on a tape keep their operands when they have data, so the walk goes past those.
  Reverse(const Values& outputs, const Values& wrt, const std::function<bool(const Node&)>& is_leaf)
      : order_(topological(outputs, is_leaf ? is_leaf : [](const Node&) { return false; })) {
    for (const auto& v : wrt) sources_[v.node.get()].push_back(v.index);
    for (const auto& node : order_)
      for (const auto& v : node->inputs())
        if (reaches(v) && !(is_leaf && is_leaf(*node))) {
          active_.insert(node.get());
          break;
        }
  }

  void add_to(const Value& v, const Value& cotangent) {
    PTO_CHECK(cotangent.dtype() == v.dtype() && cotangent.rank() == v.rank(), "vjp",
              "a cotangent of " + v.type().str() + " is " + cotangent.type().str());
    Values& all = cotangents_[v.node.get()];
    all.resize(v.node->outputs().size());
    Value& sum = all[v.index];
    sum = sum ? add(sum, cotangent) : cotangent;
  }

  void walk() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const NodePtr& node = *it;
      const auto found = cotangents_.find(node.get());
      if (found == cotangents_.end() || !active_.count(node.get())) continue;
      std::vector<bool> wanted;
      for (const auto& v : node->inputs()) wanted.push_back(reaches(v));
      const WithLoc at(node->loc());
      const WithName name("backward");
      const Values answers = pulled_back(node, found->second, wanted);
      for (size_t i = 0; i < answers.size(); i++)
        if (answers[i] && wanted[i]) add_to(node->inputs()[i], answers[i]);
    }
  }

  Value cotangent(const Value& v) const {
    const auto found = cotangents_.find(v.node.get());
    return found == cotangents_.end() ? Value() : found->second[v.index];
  }

 private:
  // Floating, and one of those asked for or made from one.
  bool reaches(const Value& v) const {
    if (!is_float(v.dtype())) return false;
    if (active_.count(v.node.get())) return true;
    const auto found = sources_.find(v.node.get());
    return found != sources_.end() &&
           std::find(found->second.begin(), found->second.end(), v.index) != found->second.end();
  }

  std::vector<NodePtr> order_;
  std::unordered_map<const Node*, std::vector<int>> sources_;
  std::unordered_set<const Node*> active_;
  std::unordered_map<const Node*, Values> cotangents_;
};

}  // namespace

Values vjp(const Values& outputs, const Values& cotangents, const Values& wrt,
           const std::function<bool(const Node&)>& is_leaf) {
  PTO_CHECK(outputs.size() == cotangents.size(), "vjp", "every output needs a cotangent");
  Reverse reverse(outputs, wrt, is_leaf);
  for (size_t i = 0; i < outputs.size(); i++)
    if (cotangents[i]) reverse.add_to(outputs[i], cotangents[i]);
  reverse.walk();
  Values answers;
  for (const auto& v : wrt) answers.push_back(reverse.cotangent(v));
  return answers;
}

Values jvp(const Values& outputs, const Values& wrt, const Values& tangents) {
  PTO_CHECK(wrt.size() == tangents.size(), "jvp", "every operand needs a tangent");
  Values seeds, pulled, given;
  for (const auto& v : outputs)
    seeds.push_back(is_float(v.dtype()) ? make_input("cotangent", v.type(), v.node->loc()) : Value());
  const Values answers = vjp(outputs, seeds, wrt);
  for (size_t i = 0; i < wrt.size(); i++) {
    if (!answers[i] || !tangents[i]) continue;
    pulled.push_back(answers[i]);
    given.push_back(tangents[i]);
  }
  const Values wanted = present(seeds), pushed = vjp(pulled, given, wanted);
  std::unordered_set<const Node*> seed_nodes;
  for (const auto& v : wanted) seed_nodes.insert(v.node.get());
  for (const auto& node : topological(present(pushed)))
    PTO_CHECK(!seed_nodes.count(node.get()), "jvp", "a gradient rule is not linear in its cotangents");
  Values result(outputs.size());
  for (size_t i = 0, next = 0; i < outputs.size(); i++)
    if (seeds[i]) result[i] = pushed[next++];
  return result;
}

}  // namespace pto
