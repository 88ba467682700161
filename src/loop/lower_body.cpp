// Expressions of the tile level at one point.
#include <algorithm>

#include "base/error.h"
#include "loop/lower_emit.h"

namespace pto::lowering {
namespace {

constexpr const char* kWhere = "loop/lower";

bool is_index_arithmetic(const Expr& e) {
  if (e.type() != DType::I64) return false;
  switch (e.op()) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Mod: return true;
    default: return false;
  }
}

// Constants that no index reaches belong to data, whose arithmetic wraps.
bool is_moderate(const Linear& a) {
  constexpr int64_t kLimit = int64_t{1} << 32;
  auto small = [](int64_t n) { return -kLimit < n && n < kLimit; };
  bool moderate = small(a.constant) && (!a.stride || !a.stride.is_const() || small(a.stride.as_int()));
  for (const auto& t : a.terms) moderate &= small(t.scale);
  return moderate;
}

// Bodies that no transformation of their user's expression could reach into: they need no name.
bool is_plain(const Expr& e) {
  return e.op() == Op::Load || e.op() == Op::LoadIf || e.op() == Op::Const || e.op() == Op::Var ||
         (e.op() == Op::Cast && is_plain(e.arg(0)));
}

}  // namespace

Expr PointLowering::lower(const Expr& e) {
  auto it = done_.find(e.get());
  if (it != done_.end()) return it->second;
  Expr result = node(e);
  done_.emplace(e.get(), result);
  return result;
}

Expr PointLowering::node(const Expr& e) {
  if (e.op() == Op::Const) return e;
  if (e.op() == Op::Var) return env_.has(e.symbol()) ? position(e.symbol()) : e;
  if (e.is_load()) return access(e);
  if (is_index_arithmetic(e))
    if (auto l = linear(e)) return l->expr();
  Exprs args;
  for (const auto& a : e.args()) args.push_back(lower(a));
  return with_args(e, std::move(args));
}

// A position that may not exist becomes at most the axis's last, so that what is read there exists.
Expr PointLowering::position(Symbol axis) const {
  const Tile& tile = env_.tile(axis);
  PTO_CHECK(tile.bound != Tile::Range, kWhere, "axis " + axis.str() + " is not bound");
  const Expr at = tile.at.expr();
  if (tile.bound == Tile::Point && tile.exists)
    return min(at, emitter_.plan.kernel.axis(axis)->extent - Expr(1));
  return at;
}

// The condition of an access whose indices depend on the lanes, where some of these may not exist. One
// that is the same in all lanes needs the first.
Expr PointLowering::lanes_exist(const Exprs& index, int lanes) const {
  const Tile* tile = env_.lanes();
  if (!tile || !tile->exists) return {};
  if (lanes > 1) return tile->exists;
  const bool depends =
      std::any_of(index.begin(), index.end(), [&](const Expr& i) { return uses_var(i, env_.lane_axis()); });
  return depends && !tile->extent.is_const() ? Expr(0) < tile->extent : Expr();
}

Expr PointLowering::access(const Expr& e) {
  const Kernel& kernel = emitter_.plan.kernel;
  if (const Param* p = kernel.param(e.symbol())) {
    Exprs index;
    for (const auto& i : e.indices()) index.push_back(lower(i));
    int lanes = 1;
    for (const auto& i : index) lanes = std::max(lanes, i.lanes());
    Expr predicate, other = constant(p->dtype, 0);
    if (e.op() == Op::LoadIf) {
      predicate = lower(e.arg(0));
      other = lower(e.arg(1));
      lanes = std::max({lanes, predicate.lanes(), other.lanes()});
    }
    if (const Expr exists = lanes_exist(e.indices(), lanes))
      predicate = predicate ? predicate & exists : exists;
    if (!predicate) return load(p->name, p->dtype, std::move(index));
    return load_if(p->name, p->dtype, predicate, other, std::move(index));
  }
  auto local = locals_.find(e.symbol());
  if (local != locals_.end()) return local->second;
  const ValuePlan& v = emitter_.plan.plan_of(e.symbol());
  if (!v.inlined) return emitter_.read(emitter_.storage(e.symbol()), env_);
  for (size_t c = 0; c < v.value->names.size(); c++) {
    const Symbol name = v.value->names[c];
    const Expr body = lower(v.value->body[c]);
    locals_[name] = is_plain(v.value->body[c]) ? body : emitter_.named(out_, name.str(), body);
  }
  return locals_.at(e.symbol());
}

// Sums of loop counters with constant factors; divisions that they decide are done here.
std::optional<Linear> PointLowering::linear(const Expr& e) {
  if (e.op() == Op::Const) return plus(Linear{}, e.as_int());
  if (e.op() == Op::Var) {
    if (!env_.has(e.symbol())) return atom(e, kNotNegative);
    const Tile& tile = env_.tile(e.symbol());
    if (tile.bound == Tile::Point && tile.exists) return atom(position(e.symbol()), kNotNegative);
    return tile.at;
  }
  if (!is_index_arithmetic(e)) {
    const Expr value = lower(e);
    if (value.lanes() > 1) return std::nullopt;
    return atom(value);
  }
  auto a = linear(e.arg(0));
  if (!a) return std::nullopt;
  auto b = linear(e.arg(1));
  if (!b) return std::nullopt;
  if (!is_moderate(*a) || !is_moderate(*b)) return std::nullopt;
  auto is_constant = [](const Linear& l) { return l.terms.empty() && !l.stride; };
  auto is_small = [&](const Linear& l) { return is_constant(l) && std::abs(l.constant) < (1 << 30); };
  switch (e.op()) {
    case Op::Add: return add(std::move(*a), *b);
    case Op::Sub: return add(std::move(*a), scaled(*b, -1));
    case Op::Mul: {
      if (is_small(*b)) return scaled(std::move(*a), b->constant);
      if (is_small(*a)) return scaled(std::move(*b), a->constant);
      if (a->stride && b->stride) return std::nullopt;
      if (b->stride) std::swap(a, b);
      const bool positive = not_negative(*a) && not_negative(*b);
      const Expr factor = b->base();
      Linear product = atom(a->base() * factor, positive ? kNotNegative : kAnySign);
      if (a->stride) {
        product.stride = a->stride.is_const(1) ? factor : a->stride * factor;
        product.lanes = a->lanes;
      }
      return product;
    }
    default: {
      // Data may be so large that its multiples wrap: it is divided as it is.
      const bool counters =
          std::all_of(a->terms.begin(), a->terms.end(), [](const Term& t) { return t.count != kAnySign; });
      if (is_constant(*b) && b->constant > 0 && counters) {
        auto q = divide(*a, b->constant);
        if (!q) return std::nullopt;
        return e.op() == Op::FloorDiv ? q->quotient : q->remainder;
      }
      if (a->stride || b->stride) return std::nullopt;
      const Expr x = a->base(), y = b->base();
      return atom(e.op() == Op::FloorDiv ? floordiv(x, y) : mod(x, y));
    }
  }
}

}  // namespace pto::lowering
