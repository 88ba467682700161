#include "graph_passes/canonicalise.h"

#include <algorithm>
#include <map>

#include "graph_passes/rewrite.h"
#include "ops/movement_attrs.h"
#include "ops/row.h"

namespace pto {
namespace {

bool same_shape(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); d++)
    if (prove_equal(a[d], b[d]) != std::optional(true)) return false;
  return true;
}

// All values of `from` are values of `to`.
bool holds_all(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  auto digits = [](DType t) {
    switch (t) {
      case DType::F16: return 11;
      case DType::BF16: return 8;
      case DType::F32: return 24;
      case DType::F64: return 53;
      default: return 8 * size_of(t) - (is_signed(t) ? 1 : 0);
    }
  };
  if (is_float(from))
    return is_float(to) && digits(from) <= digits(to) && !(from == DType::BF16 && to == DType::F16);
  if (is_float(to)) return digits(from) <= digits(to) && !(to == DType::F16 && size_of(from) > 1);
  if (!is_int(to) || (is_signed(from) && !is_signed(to))) return false;
  return digits(from) <= digits(to);
}

class Canonicaliser {
 public:
  Values operator()(const NodePtr& node, const Values& operands) {
    const auto it = rules().find(node->row()->name);
    if (it == rules().end() || operands.empty()) return {};
    const Value v = (it->second)(*node, operands);
    if (!v) return {};
    // A rule keeps the type; sizes may be written otherwise.
    return v.dtype() == node->outputs()[0].dtype ? Values{v} : Values{};
  }

  void number(const Graph& graph) {
    for (const auto& input : graph.inputs) numbers_.emplace(input.get(), numbers_.size());
    for (const auto& node : graph.order()) numbers_.emplace(node.get(), numbers_.size());
  }

 private:
  using Rule = std::function<Value(const Node&, const Values&)>;

  static Value inner(const Value& v) { return v.node->inputs()[0]; }
  static bool is(const Value& v, std::string_view row) { return !v.node->has_data() && is_row(v, row); }

  static Value moved(const Node& node, const Values& xs, const char* row) {
    if (same_shape(xs[0].shape(), node.outputs()[0].shape)) return xs[0];
    return is(xs[0], row) ? make_value(row, {inner(xs[0])}, node.attrs(), node.loc()) : Value();
  }

  static Value permuted(const Node& node, const Values& xs) {
    std::vector<int64_t> perm = attrs_of<PermuteAttrs>(node).perm;
    Value x = xs[0];
    if (is(x, "permute")) {
      const auto& first = attrs_of<PermuteAttrs>(*x.node).perm;
      for (int64_t& p : perm) p = first[p];
      x = inner(x);
    }
    if (std::is_sorted(perm.begin(), perm.end())) return x;
    if (x == xs[0]) return {};
    auto attrs = std::make_shared<PermuteAttrs>();
    attrs->perm = perm;
    return make_value("permute", {x}, attrs, node.loc());
  }

  static Value converted(const Node& node, const Values& xs) {
    const DType to = node.outputs()[0].dtype;
    if (xs[0].dtype() == to) return xs[0];
    if (!is(xs[0], "cast") || !holds_all(inner(xs[0]).dtype(), xs[0].dtype())) return {};
    const Value x = inner(xs[0]);
    // Integers wrap among themselves, but saturate when they come from floats.
    if (is_int(x.dtype()) && is_float(xs[0].dtype()) && is_int(to) && !holds_all(x.dtype(), to)) return {};
    return x.dtype() == to ? x : make_value("cast", {x}, node.attrs(), node.loc());
  }

  static Value undone(const Node& node, const Values& xs) {
    return is(xs[0], node.row()->name) ? inner(xs[0]) : Value();
  }

  Value ordered(const Node& node, const Values& xs) {
    if (xs.size() != 2 || !before(xs[1], xs[0])) return {};
    return make_value(node.row()->name, {xs[1], xs[0]}, node.attrs(), node.loc());
  }

  // Values of the given graph by position, those with known elements last.
  bool before(const Value& a, const Value& b) {
    auto key = [&](const Value& v) {
      Value base = v;
      while (is(base, "broadcast")) base = inner(base);
      return std::tuple(is(base, "full") || is(base, "constant"),
                        numbers_.emplace(v.node.get(), numbers_.size()).first->second, v.index);
    };
    const auto x = key(a), y = key(b);
    return x < y;
  }

  const std::map<std::string, Rule>& rules() {
    if (!rules_.empty()) return rules_;
    rules_["reshape"] = [](const Node& n, const Values& xs) { return moved(n, xs, "reshape"); };
    rules_["broadcast"] = [](const Node& n, const Values& xs) { return moved(n, xs, "broadcast"); };
    rules_["permute"] = permuted;
    rules_["cast"] = converted;
    for (const char* row : {"variable", "stop_gradient"})
      rules_[row] = [](const Node&, const Values& xs) { return xs[0]; };
    rules_["negative"] = undone;
    rules_["bitwise_not"] = undone;
    // Not maximum and minimum: which of two zeros they give may depend on the order.
    for (const char* row :
         {"add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal"})
      rules_[row] = [this](const Node& n, const Values& xs) { return ordered(n, xs); };
    return rules_;
  }

  std::map<std::string, Rule> rules_;
  std::unordered_map<const Node*, size_t> numbers_;
};

}  // namespace

Graph canonicalise(const Graph& graph) {
  Canonicaliser rules;
  rules.number(graph);
  return rewrite(graph, [&](const NodePtr& node, const Values& operands) { return rules(node, operands); });
}

}  // namespace pto
