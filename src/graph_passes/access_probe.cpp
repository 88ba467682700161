#include "graph_passes/access_probe.h"

#include <algorithm>

#include "expr/known_equal.h"

namespace pto {
namespace {

// Axes are told from sizes by the space in their names.
bool is_axis(const Expr& e) { return e.is_var() && e.symbol().str().rfind("axis ", 0) == 0; }

Symbol axis_for(const Size& extent, std::vector<ProbeAxis>& axes, const std::vector<Symbol>& taken) {
  for (const auto& a : axes)
    if (std::find(taken.begin(), taken.end(), a.name) == taken.end() && known_equal(a.extent, extent))
      return a.name;
  axes.push_back({Symbol("axis " + std::to_string(axes.size())), extent});
  return axes.back().name;
}

class Probe : public Emit {
 public:
  Probe(const std::vector<ProbeAxis>& axes, const Exprs& index) : point_(axes_in(index)), taken_(point_) {
    out.axes = axes;
  }

  Expr element(const Value& operand, const Exprs& index) override {
    OperandRead a{operand, {}, product_, guarded_};
    for (size_t d = 0; d < index.size(); d++)
      a.index.push_back(operand.shape()[d].is_const(1) ? Expr(0) : simplify(index[d]));
    out.reads.push_back(std::move(a));
    return unknown(operand.dtype(), axes_in(index));
  }
  Expr element_if(const Expr& predicate, const Value& operand, const Exprs& index,
                  const Expr& other) override {
    const bool outer = guarded_;
    guarded_ = true;
    const Expr value = element(operand, index);
    guarded_ = outer;
    return select(predicate, value, other);
  }
  Exprs reduce(const Monoid& monoid, const Shape& extents,
               const std::function<Exprs(const Exprs&)>& body) override {
    body(fold_axes(extents));
    return unknowns(monoid.types);
  }
  Expr contract(const Shape& extents, DType accum,
                const std::function<std::pair<Expr, Expr>(const Exprs&)>& factors) override {
    const Exprs at = fold_axes(extents);
    product_ = true;
    factors(at);
    product_ = false;
    return unknown(accum, point_);
  }
  Exprs scan(const Monoid& monoid, const Size& extent, const Expr& at, bool,
             const std::function<Exprs(const Expr&)>& body) override {
    if (is_axis(at)) out.over.push_back(at.symbol());
    out.in_order &=
        extent.is_const(1) || std::any_of(out.axes.begin(), out.axes.end(), [&](const ProbeAxis& a) {
          return is_axis(at) && a.name == at.symbol() && known_equal(a.extent, extent);
        });
    body(at);
    return unknowns(monoid.types);
  }
  Expr checked_index(const Expr& index, const Size&, int64_t, const Node&) override { return index; }

  Probed out;

 private:
  // Stands for an element that depends on these axes.
  static Expr unknown(DType type, const std::vector<Symbol>& axes) {
    Exprs index;
    for (Symbol a : axes) index.push_back(var(a));
    return load(Symbol("unknown"), type, index);
  }
  Exprs unknowns(const std::vector<DType>& types) const {
    Exprs all;
    for (DType t : types) all.push_back(unknown(t, point_));
    return all;
  }
  Exprs fold_axes(const Shape& extents) {
    Exprs at;
    for (const auto& extent : extents) {
      if (extent.is_const(1)) {
        at.push_back(Expr(0));
        continue;
      }
      taken_.push_back(axis_for(extent, out.axes, taken_));
      out.over.push_back(taken_.back());
      at.push_back(var(taken_.back()));
    }
    return at;
  }

  std::vector<Symbol> point_, taken_;
  bool product_ = false, guarded_ = false;
};

}  // namespace

std::vector<Symbol> axes_in(const Exprs& index) {
  std::vector<Symbol> axes;
  for (const auto& root : index)
    visit(root, [&](const Expr& e) {
      if (is_axis(e) && std::find(axes.begin(), axes.end(), e.symbol()) == axes.end())
        axes.push_back(e.symbol());
    });
  return axes;
}

bool walks_axes(const Exprs& index) {
  std::unordered_set<Symbol> seen;
  return std::all_of(index.begin(), index.end(), [&](const Expr& i) {
    return i.is_const() || (is_axis(i) && seen.insert(i.symbol()).second);
  });
}

bool is_irregular(const Exprs& index) {
  bool found = false;
  for (const auto& root : index)
    visit(root, [&](const Expr& e) {
      found |= e.is_load() || e.op() == Op::FloorDiv || e.op() == Op::Mod || e.op() == Op::Select ||
               e.op() == Op::Min || e.op() == Op::Max;
    });
  return found;
}

Exprs walking_index(const Shape& shape, std::vector<ProbeAxis>& axes) {
  Exprs index;
  std::vector<Symbol> taken;
  for (const auto& extent : shape) {
    if (extent.is_const(1)) {
      index.push_back(Expr(0));
      continue;
    }
    taken.push_back(axis_for(extent, axes, taken));
    index.push_back(var(taken.back()));
  }
  return index;
}

Probed probe(const Node& node, int which, const Exprs& index, const std::vector<ProbeAxis>& axes) {
  Probe p(axes, index);
  if (node.row()->element) {
    node.row()->element(p, node, which, index);
  } else {
    for (const auto& v : node.inputs()) p.element(v, index);
  }
  return std::move(p.out);
}

}  // namespace pto
