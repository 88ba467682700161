#include "tile/former.h"

#include <algorithm>

#include "expr/known_equal.h"
#include "ops/index_attrs.h"

namespace pto {
namespace {

uint64_t hash_request(const Value& v, const Exprs& index, const Expr& guard) {
  uint64_t h = hash_combine(reinterpret_cast<uintptr_t>(v.node.get()), static_cast<uint64_t>(v.index));
  for (const auto& i : index) h = hash_combine(h, i.hash());
  return guard ? hash_combine(h, guard.hash()) : h;
}

bool equal_guards(const Expr& a, const Expr& b) { return !a || !b ? !a && !b : a == b; }

uint64_t hash_value(const TileValue& v) {
  uint64_t h = static_cast<uint64_t>(v.kind);
  for (Symbol a : v.over) h = hash_combine(h, a.id());
  for (const auto& e : v.body) h = hash_combine(h, e.hash());
  return h;
}

bool computes_the_same(const TileValue& a, const TileValue& b) {
  return a.kind == b.kind && a.types == b.types && a.axes == b.axes && a.over == b.over &&
         a.reverse == b.reverse && a.body == b.body && a.monoid == b.monoid;
}

}  // namespace

Former::Former(const std::vector<NodePtr>& nodes) {
  for (const auto& n : nodes) inside_.insert(n.get());
}

// --- axes ----------------------------------------------------------------------------------------

Symbol Former::new_axis(const Size& extent) {
  const Symbol name("axis " + std::to_string(kernel.axes.size()));
  axis_number_.emplace(name, kernel.axes.size());
  kernel.axes.push_back({name, extent});
  return name;
}

// Axes are shared as far as possible: passes over a row all walk it by the same axis.
Symbol Former::axis_for(const Size& extent, const std::unordered_set<Symbol>& taken) {
  for (const auto& a : kernel.axes)
    if (!taken.count(a.name) && known_equal(a.extent, extent)) return a.name;
  return new_axis(extent);
}

std::vector<Symbol> Former::axes_of(const Exprs& exprs) const {
  std::vector<Symbol> axes;
  for (const auto& root : exprs)
    visit(root, [&](const Expr& e) {
      if (e.is_var() && axis_number_.count(e.symbol()) &&
          std::find(axes.begin(), axes.end(), e.symbol()) == axes.end())
        axes.push_back(e.symbol());
    });
  std::sort(axes.begin(), axes.end(),
            [&](Symbol a, Symbol b) { return axis_number_.at(a) < axis_number_.at(b); });
  return axes;
}

// --- elements ------------------------------------------------------------------------------------

// A reshape of what another kernel computes is that memory under another shape.
bool Former::is_view(const Value& v) const { return inside(v) && v.node->row()->name == "reshape"; }

Expr Former::read(const Value& source, const Shape& shape, const Exprs& index) {
  size_t p = 0;
  while (p < inputs.size() && !(inputs[p] == source && kernel.params[p].shape == shape)) p++;
  if (p == inputs.size()) {
    inputs.push_back(source);
    kernel.params.push_back({Symbol("p" + std::to_string(p)), source.dtype(), shape});
  }
  const Symbol name = kernel.params[p].name;
  if (!guard_) return load(name, source.dtype(), index);
  return load_if(name, source.dtype(), guard_, constant(source.dtype(), 0), index);
}

Expr Former::element(const Value& v, const Exprs& given) {
  PTO_CHECK(given.size() == v.shape().size(), "form_kernel",
            v.node->row()->name + " is read with " + std::to_string(given.size()) + " indices");
  Exprs index;
  for (size_t d = 0; d < given.size(); d++)
    index.push_back(v.shape()[d].is_const(1) ? Expr(0) : simplify(given[d]));
  Value source = v;
  while (is_view(source)) source = source.node->inputs()[0];
  if (!inside(source)) return read(source, v.shape(), index);

  const uint64_t hash = hash_request(v, index, guard_);
  for (const auto& r : requests_[hash])
    if (r.value == v && r.index == index && equal_guards(r.guard, guard_)) return r.result;

  Frame frame{v.node.get(), {}};
  Exprs point = index;
  if (guard_) point.push_back(guard_);
  for (Symbol a : axes_of(point)) frame.axes.insert(a);
  frames_.push_back(std::move(frame));
  const OpRow& row = *v.node->row();
  Expr result;
  if (row.element) {
    result = row.element(*this, *v.node, v.index, index);
  } else {
    PTO_CHECK(row.scalar, "form_kernel", row.name + " has no element");
    Exprs args;
    for (const auto& operand : v.node->inputs()) args.push_back(element(operand, index));
    result = row.scalar(*v.node->attrs(), args, v.type());
  }
  frames_.pop_back();
  requests_[hash].push_back({v, index, guard_, result});
  return result;
}

Expr Former::at_guard(const Expr& condition) const { return guard_ ? guard_ & condition : condition; }

Expr Former::element_if(const Expr& predicate, const Value& operand, const Exprs& index, const Expr& other) {
  const Expr condition = simplify(predicate);
  if (condition.is_const()) return condition.value().to_bool() ? element(operand, index) : other;
  const Expr outer = guard_;
  guard_ = at_guard(condition);
  const Expr value = element(operand, index);
  guard_ = outer;
  // The load's own predicate does it where the load is all.
  if (value.op() == Op::LoadIf && !outer && value.arg(0) == condition)
    return load_if(value.symbol(), value.type(), condition, other, value.indices());
  return select(condition, value, other);
}

Expr Former::checked_index(const Expr& index, const Size& extent, int64_t axis, const Node& node) {
  Expr within = (Expr(0) <= index) & (index < extent);
  // Where the result has no elements, no index is read.
  const auto checked = axes_of({within});
  for (const auto& size : node.outputs()[0].shape) {
    if (size.is_const() && size.as_int() > 0) continue;
    if (size.is_const()) return Expr(0);
    const bool walked =
        std::any_of(checked.begin(), checked.end(), [&](Symbol a) { return kernel.axis(a)->extent == size; });
    if (!walked) within = equal(size, 0) | within;
  }
  if (guard_) within = make(Op::Not, {guard_}) | within;
  // A symbol's name is the graph's; kernels are shared by graphs.
  std::string message = "[" + node.row()->name + "] index out of range for axis " + std::to_string(axis);
  if (extent.is_const()) message += " of size " + to_text(extent);
  TileCheck check{within, axes_of({within}), std::move(message), node.loc()};
  const bool known = std::any_of(kernel.checks.begin(), kernel.checks.end(), [&](const TileCheck& c) {
    return c.condition == check.condition && c.message == check.message;
  });
  if (!known) kernel.checks.push_back(std::move(check));
  return max(min(index, simplify(extent - 1)), Expr(0));
}

// --- folds ---------------------------------------------------------------------------------------

// Index expressions and the axes that they walk; an axis of one position is the index 0.
std::pair<Exprs, std::vector<Symbol>> Former::fold_axes(const Shape& extents) {
  Exprs at;
  std::vector<Symbol> over;
  for (const auto& extent : extents) {
    if (extent.is_const(1)) {
      at.push_back(Expr(0));
      continue;
    }
    over.push_back(axis_for(extent, frames_.back().axes));
    frames_.back().axes.insert(over.back());
    at.push_back(var(over.back()));
  }
  return {at, over};
}

Exprs Former::add_value(TileValue value) {
  const uint64_t hash = hash_value(value);
  for (size_t i : values_by_hash_[hash]) {
    const TileValue& other = kernel.values[i];
    if (!computes_the_same(other, value)) continue;
    value.names = other.names;
  }
  Exprs refs;
  if (value.names.empty()) {
    for (size_t i = 0; i < value.types.size(); i++)
      value.names.push_back(Symbol("v" + std::to_string(names_++)));
    value.loc = frames_.back().node->loc();
    values_by_hash_[hash].push_back(kernel.values.size());
    kernel.values.push_back(value);
  }
  for (size_t i = 0; i < value.names.size(); i++) refs.push_back(value.ref(static_cast<int>(i)));
  return refs;
}

Exprs Former::reduce(const Monoid& monoid, const Shape& extents,
                     const std::function<Exprs(const Exprs&)>& body) {
  const auto [at, over] = fold_axes(extents);
  TileValue v;
  v.types = monoid.types;
  v.kind = ValueKind::Reduce;
  v.monoid = monoid;
  v.body = body(at);
  v.over = over;
  for (Symbol a : over) frames_.back().axes.erase(a);
  if (over.empty()) return v.body;
  v.axes = axes_of(v.body);
  std::erase_if(v.axes, [&](Symbol a) { return std::find(over.begin(), over.end(), a) != over.end(); });
  return add_value(std::move(v));
}

Expr Former::contract(const Shape& extents, DType accum,
                      const std::function<std::pair<Expr, Expr>(const Exprs&)>& factors) {
  const auto [at, over] = fold_axes(extents);
  const auto [lhs, rhs] = factors(at);
  for (Symbol a : over) frames_.back().axes.erase(a);
  if (over.empty()) return lhs * rhs;
  TileValue v;
  v.types = {accum};
  v.kind = ValueKind::Contract;
  v.body = {lhs * rhs};
  v.over = over;
  v.axes = axes_of(v.body);
  std::erase_if(v.axes, [&](Symbol a) { return std::find(over.begin(), over.end(), a) != over.end(); });
  return add_value(std::move(v))[0];
}

Exprs Former::scan(const Monoid& monoid, const Size& extent, const Expr& at, bool reverse,
                   const std::function<Exprs(const Expr&)>& body) {
  if (extent.is_const(1)) return body(Expr(0));
  PTO_CHECK(at.is_var() && axis_number_.count(at.symbol()) &&
                known_equal(kernel.axes[axis_number_.at(at.symbol())].extent, extent),
            "form_kernel", "a scan is read elsewhere than along its axis: " + at.str());
  TileValue v;
  v.types = monoid.types;
  v.kind = ValueKind::Scan;
  v.monoid = monoid;
  v.reverse = reverse;
  v.body = body(at);
  v.over = {at.symbol()};
  Exprs own = v.body;
  own.push_back(at);
  v.axes = axes_of(own);
  return add_value(std::move(v));
}

// --- outputs -------------------------------------------------------------------------------------

// Where a value was asked for at an index that walks all of it, axis by axis.
const Former::Request* Former::known(const Value& v) const {
  const Request* best = nullptr;
  for (const auto& [hash, list] : requests_)
    for (const auto& r : list) {
      if (!(r.value == v) || r.guard) continue;
      std::unordered_set<Symbol> seen;
      bool walks = true;
      for (size_t d = 0; walks && d < r.index.size(); d++) {
        if (v.shape()[d].is_const(1)) continue;
        const Expr& i = r.index[d];
        walks = i.is_var() && axis_number_.count(i.symbol()) && seen.insert(i.symbol()).second &&
                known_equal(kernel.axes[axis_number_.at(i.symbol())].extent, v.shape()[d]);
      }
      // Of several, the one over the first axes, so that the choice does not depend on addresses.
      if (walks && (!best || std::lexicographical_compare(
                                 r.index.begin(), r.index.end(), best->index.begin(), best->index.end(),
                                 [&](const Expr& a, const Expr& b) {
                                   auto number = [&](const Expr& e) {
                                     return e.is_var() ? axis_number_.at(e.symbol()) : size_t{0};
                                   };
                                   return number(a) < number(b);
                                 })))
        best = &r;
    }
  return best;
}

Exprs Former::output_index(const Value& v) {
  if (const Request* r = known(v)) return r->index;
  Exprs index;
  std::unordered_set<Symbol> taken;
  for (const auto& extent : v.shape()) {
    if (extent.is_const(1)) {
      index.push_back(Expr(0));
      continue;
    }
    const Symbol axis = axis_for(extent, taken);
    taken.insert(axis);
    index.push_back(var(axis));
  }
  return index;
}

void Former::store_at(Symbol param, const Value& v, const Exprs& index, Loc loc) {
  kernel.stores.push_back({param, index, element(v, index), {}, loc});
}

// Each operand of a concat is stored at its place.
void Former::store_pieces(Symbol param, const Value& joined, Loc loc) {
  const int64_t axis = attrs_of<AxisAttrs>(*joined.node).axis;
  Size start(0);
  for (const auto& piece : joined.node->inputs()) {
    const Exprs at = output_index(piece);
    Exprs index = at;
    index[axis] = simplify(at[axis] + start);
    kernel.stores.push_back({param, index, element(piece, at), {}, loc});
    start = simplify(start + piece.shape()[axis]);
  }
}

void Former::store(const Value& output) {
  // A reshape that leaves the kernel is its operand under another shape.
  Value v = output;
  while (is_view(v) && inside(v.node->inputs()[0])) v = v.node->inputs()[0];
  const Symbol name("o" + std::to_string(outputs.size()));
  outputs.push_back({name, v.dtype(), v.shape(), true});
  if (v.node->row()->name == "concat" && v.node->inputs().size() > 1) {
    store_pieces(name, v, output.node->loc());
  } else {
    store_at(name, v, output_index(v), output.node->loc());
  }
}

}  // namespace pto
