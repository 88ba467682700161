#include "tile/form_kernels.h"

#include <algorithm>

#include "ops/row.h"
#include "tile/former.h"
#include "tile/opaque.h"
#include "tile/share_values.h"

namespace pto {
namespace {

// Sizes as well, before what the kernel computes.
template <class F>
void for_each_expr_and_size(Kernel& k, F f) {
  for (auto& p : k.params)
    for (auto& e : p.shape) f(e);
  for (auto& a : k.axes) f(a.extent);
  for_each_expr(k, f);
}

// Axes that a value keeps though nothing walks them any more are none of the kernel's.
void drop_unused_axes(Kernel& k) {
  std::vector<Symbol> used;
  for (const auto& v : k.values) {
    used.insert(used.end(), v.axes.begin(), v.axes.end());
    used.insert(used.end(), v.over.begin(), v.over.end());
  }
  for (const auto& c : k.checks) used.insert(used.end(), c.axes.begin(), c.axes.end());
  for (const auto& s : k.stores)
    for (const auto& i : s.index)
      visit(i, [&](const Expr& e) {
        if (e.is_var()) used.push_back(e.symbol());
      });
  std::erase_if(k.axes,
                [&](const Axis& a) { return std::find(used.begin(), used.end(), a.name) == used.end(); });
}

// Names by position, so that equal groups give equal kernels wherever they stand in a graph.
std::vector<std::pair<Symbol, Size>> make_canonical(Kernel& k) {
  std::unordered_map<Symbol, Symbol> axes, arrays;
  Substitution vars;
  for (auto& a : k.axes) {
    const Symbol name("i" + std::to_string(axes.size()));
    axes.emplace(a.name, name);
    vars.emplace(a.name, var(name));
    a.name = name;
  }
  std::vector<std::pair<Symbol, Size>> sizes;
  for_each_expr_and_size(k, [&](const Expr& root) {
    visit(root, [&](const Expr& e) {
      if (!e.is_var() || vars.count(e.symbol())) return;
      const Symbol name("s" + std::to_string(sizes.size()));
      sizes.emplace_back(name, e);
      vars.emplace(e.symbol(), var(name, e.type()));
      k.sizes.push_back(name);
    });
  });
  for (size_t p = 0; p < k.params.size(); p++) {
    const Symbol name("p" + std::to_string(p));
    arrays.emplace(k.params[p].name, name);
    k.params[p].name = name;
  }
  for (auto& v : k.values) {
    for (Symbol& n : v.names) {
      const Symbol name("v" + std::to_string(arrays.size() - k.params.size()));
      arrays.emplace(n, name);
      n = name;
    }
    for (Symbol& a : v.axes) a = axes.at(a);
    for (Symbol& a : v.over) a = axes.at(a);
  }
  for (auto& c : k.checks)
    for (Symbol& a : c.axes) a = axes.at(a);
  for (auto& s : k.stores) s.param = arrays.at(s.param);
  for_each_expr_and_size(k, [&](Expr& root) {
    root = rewrite(root, [&](const Expr& e) -> Expr {
      if (e.is_var()) return vars.at(e.symbol());
      if (e.op() == Op::Load) return load(arrays.at(e.symbol()), e.type(), e.indices());
      if (e.op() == Op::LoadIf)
        return load_if(arrays.at(e.symbol()), e.type(), e.arg(0), e.arg(1), e.indices());
      return e;
    });
  });
  for (auto& p : k.params)
    for (auto& size : p.shape) size = simplify(size);
  for (auto& a : k.axes) a.extent = simplify(a.extent);
  return sizes;
}

FormedKernel form_opaque(const NodePtr& node) {
  FormedKernel out;
  auto add = [&](const TensorType& type, bool output) {
    out.kernel.params.push_back(
        {Symbol("x" + std::to_string(out.kernel.params.size())), type.dtype, type.shape, output});
  };
  for (const auto& v : node->inputs()) {
    add(v.type(), false);
    out.inputs.push_back(v);
  }
  for (size_t i = 0; i < node->outputs().size(); i++) {
    add(node->outputs()[i], true);
    out.outputs.push_back({node, static_cast<int>(i)});
  }
  out.kernel.name = Symbol(node->row()->opaque);
  out.kernel.opaque = node->row()->opaque;
  out.kernel.opaque_attrs = node->attrs();
  out.sizes = make_canonical(out.kernel);
  return out;
}

// "contract_add_erf": the rows that compute, each once.
std::string descriptive_name(const FusionGroup& group) {
  std::vector<std::string> rows;
  for (const auto& n : group.nodes) {
    const bool moves = n->row()->family == Family::Movement || n->row()->family == Family::Leaf;
    if (!moves && std::find(rows.begin(), rows.end(), n->row()->name) == rows.end())
      rows.push_back(n->row()->name);
  }
  if (rows.empty()) rows.push_back(group.nodes.back()->row()->name);
  if (rows.size() > 4) rows.resize(4);
  return join(rows, "_");
}

}  // namespace

FormedKernel form_kernel(const FusionGroup& group) {
  PTO_CHECK(!group.nodes.empty() && !group.outputs.empty(), "form_kernel", "a group without results");
  if (group.nodes.size() == 1 && !group.nodes[0]->row()->opaque.empty()) return form_opaque(group.nodes[0]);
  Former former(group.nodes);
  // The last result first: its axes are those that the others are found at.
  for (size_t i = group.outputs.size(); i-- > 0;) former.store(group.outputs[i]);
  FormedKernel out;
  out.kernel = std::move(former.kernel);
  std::reverse(former.outputs.begin(), former.outputs.end());
  for (auto& p : former.outputs) out.kernel.params.push_back(std::move(p));
  out.kernel.name = Symbol(descriptive_name(group));
  out.inputs = std::move(former.inputs);
  out.outputs = group.outputs;
  share_values(out.kernel);
  drop_unused_axes(out.kernel);
  out.sizes = make_canonical(out.kernel);
  return out;
}

}  // namespace pto
