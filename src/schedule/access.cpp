#include "schedule/access.h"

#include <algorithm>
#include <unordered_set>

#include "expr/cost.h"

namespace pto {
namespace {

Shape shape_of(const Kernel& kernel, Symbol array) {
  if (const Param* p = kernel.param(array)) return p->shape;
  Shape shape;
  if (const TileValue* v = kernel.value(array))
    for (Symbol a : v->axes) shape.push_back(kernel.axis(a)->extent);
  return shape;
}

bool reads_memory(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& n) { found |= n.is_load(); });
  return found;
}

// Nodes whose values pass through lanes: all but the indices of loads.
void visit_data(const Expr& root, const std::function<void(const Expr&)>& f) {
  std::unordered_set<const ExprNode*> seen;
  std::vector<Expr> open{root};
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (!seen.insert(e.get()).second) continue;
    f(e);
    if (e.op() == Op::LoadIf) open.push_back(e.arg(1));
    if (!e.is_load())
      for (const auto& a : e.args()) open.push_back(a);
  }
}

}  // namespace

bool uses_axis(const Expr& e, Symbol axis) { return e && uses_var(e, axis); }

std::vector<Symbol> store_axes(const Kernel& k, const TileStore& s) {
  std::vector<Symbol> out;
  for (const auto& a : k.axes)
    if (std::any_of(s.index.begin(), s.index.end(), [&](const Expr& e) { return uses_axis(e, a.name); }))
      out.push_back(a.name);
  return out;
}

Stride stride_along(const Kernel& kernel, Symbol array, const Exprs& index, Symbol axis) {
  const Shape shape = shape_of(kernel, array);
  const auto strides = row_major_strides(shape);
  const Substitution next{{axis, var(axis) + Expr(1)}};
  Expr total(0);
  for (size_t d = 0; d < index.size(); d++) {
    if (!uses_var(index[d], axis)) continue;
    if (reads_memory(index[d])) return Stride::Irregular;
    const Expr step = index[d].is_var() ? Expr(1) : simplify(substitute(index[d], next) - index[d]);
    if (!step.is_const()) return Stride::Irregular;
    total = total + step * strides[d];
  }
  total = simplify(total);
  if (total.is_const(0)) return Stride::Same;
  return total.is_const(1) ? Stride::Unit : Stride::Constant;
}

std::vector<Access> accesses(const Exprs& exprs) {
  std::vector<Access> out;
  for (const auto& root : exprs)
    visit(root, [&](const Expr& e) {
      if (e.is_load()) out.push_back({e.symbol(), e.indices(), e.type()});
    });
  return out;
}

int widest_bytes(const Exprs& exprs) {
  int bytes = 1;
  for (const auto& root : exprs)
    visit_data(root, [&](const Expr& e) {
      const bool counts = e.is_load() || is_float(e.type()) || e.get() == root.get();
      if (counts && !e.is_const() && !e.is_var())
        bytes = std::max(bytes, is_half(e.type()) ? 4 : size_of(e.type()));
    });
  return bytes;
}

bool is_costly(const Exprs& exprs) {
  bool costly = false;
  for (const auto& root : exprs)
    visit_data(root, [&](const Expr& e) {
      costly |= is_costly_op(e) || e.op() == Op::Div || e.op() == Op::FloorDiv || e.op() == Op::Mod;
    });
  return costly;
}

}  // namespace pto
