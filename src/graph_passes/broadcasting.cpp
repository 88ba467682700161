#include "graph_passes/broadcasting.h"

#include "graph_passes/rewrite.h"
#include "ops/leaf_attrs.h"
#include "ops/movement_attrs.h"
#include "ops/row.h"

namespace pto {
namespace {

bool is(const Value& v, std::string_view row) { return !v.node->has_data() && is_row(v, row); }

Value broadcast(const Value& x, const Shape& shape, Loc loc) {
  if (x.shape() == shape) return x;
  auto attrs = std::make_shared<ShapeAttrs>();
  attrs->shape = shape;
  return make_value("broadcast", {x}, attrs, loc);
}

Value full(const Node& like, const Shape& shape) {
  auto attrs = std::make_shared<FullAttrs>(attrs_of<FullAttrs>(like));
  attrs->shape = shape;
  return make_value("full", {}, attrs, like.loc());
}

Values sunk(const NodePtr& node, const Values& operands) {
  if (!node->row()->is_elementwise() || operands.empty()) return {};
  const Shape& shape = node->outputs()[0].shape;
  // The smallest shape that holds the sources of all operands.
  Shape small(shape.size(), Size(1));
  bool any = false;
  for (const auto& v : operands) {
    if (is(v, "full")) continue;
    if (!is(v, "broadcast")) return {};
    any = true;
    const Shape& from = v.node->inputs()[0].shape();
    for (size_t d = 0; d < from.size(); d++)
      if (!from[d].is_const(1)) small[shape.size() - from.size() + d] = shape[shape.size() - from.size() + d];
  }
  if (!any || small == shape) return {};
  Values sources;
  for (const auto& v : operands)
    sources.push_back(is(v, "full") ? full(*v.node, small)
                                    : broadcast(v.node->inputs()[0], small, v.node->loc()));
  const Value result{make_node(*node->row(), sources, node->attrs(), node->loc())};
  return {broadcast(result, shape, node->loc())};
}

}  // namespace

Graph sink_broadcasts(const Graph& graph) { return rewrite(graph, sunk); }

}  // namespace pto
