#include "graph_passes/fold.h"

#include <unordered_set>

#include "base/extents.h"
#include "base/points.h"
#include "graph_passes/rewrite.h"
#include "ops/leaf_attrs.h"
#include "ops/row.h"

namespace pto {
namespace {

constexpr int64_t kMostElements = 4096;      // of a constant that is made
constexpr int64_t kMostWork = 1 << 16;       // elements that are read for it

int64_t static_elements(const Shape& shape) {
  int64_t n = 1;
  for (const auto& size : shape) {
    if (!size.is_const()) return -1;
    n = saturating_mul(n, size.as_int());
    if (n > kMostWork) return -1;
  }
  return n;
}

class Folder {
 public:
  Values operator()(const NodePtr& old, const Values& operands) {
    const OpRow& row = *old->row();
    if (old->has_data()) return {};
    if (row.family == Family::Leaf) {
      if (row.name == "full" || row.name == "constant") known_.insert(old.get());
      return {};
    }
    const bool folds =
        row.family != Family::Control && row.family != Family::Foreign && row.family != Family::Random;
    if (!folds || operands.empty()) return {};
    if (row.family == Family::Movement && operands.size() == 1 && is_row(operands[0], "full"))
      return {full(attrs_of<FullAttrs>(*operands[0].node).value, old->outputs()[0].shape, old->loc())};
    int64_t work = 0;
    for (const auto& v : operands) {
      const int64_t n = static_elements(v.shape());
      if (n < 0 || !known_.count(v.node.get())) return {};
      work += n;
    }
    for (const auto& type : old->outputs()) {
      const int64_t n = static_elements(type.shape);
      if (n < 0 || n > kMostElements) return {};
      // What is repeated stays that, and is written where it is used.
      if (n > work && row.family == Family::Movement) return {};
    }
    if (work > kMostWork) return {};
    return computed(*with_operands(old, operands), operands);
  }

 private:
  Values computed(const Node& node, const Values& operands) {
    std::vector<BufferPtr> results;
    try {
      std::vector<BufferPtr> inputs;
      for (const auto& v : operands) inputs.push_back(interpret(*v.node, {}, {})[v.index]);
      results = interpret(node, inputs, {});
    } catch (const Error&) {
      return {};   // a mistake is the caller's to see, when the program runs
    }
    Values values;
    for (const auto& b : results) {
      values.push_back(as_value(b, node.loc()));
      known_.insert(values.back().node.get());
      kept_.push_back(values.back());
    }
    return values;
  }

  Value full(Scalar value, const Shape& shape, Loc loc) {
    auto attrs = std::make_shared<FullAttrs>();
    attrs->value = value;
    attrs->shape = shape;
    const Value v = make_value("full", {}, attrs, loc);
    known_.insert(v.node.get());
    kept_.push_back(v);
    return v;
  }

  // One element is part of the code; more are data.
  Value as_value(const BufferPtr& b, Loc loc) {
    if (b->elements() == 1) return full(Elements(b).get(0), {b->shape.begin(), b->shape.end()}, loc);
    auto constant = std::make_shared<ConstantAttrs>();
    constant->value = b;
    return make_value("constant", {}, constant, loc);
  }

  std::unordered_set<const Node*> known_;
  Values kept_;   // addresses in `known_` stay theirs
};

}  // namespace

Graph fold_constants(const Graph& graph) {
  Folder folder;
  return rewrite(graph, [&](const NodePtr& node, const Values& operands) { return folder(node, operands); });
}

}  // namespace pto
