#include "loop_passes/fold.h"

#include "expr/eval.h"

namespace pto::passes {
namespace {

bool is_plain_int(const Expr& e) { return !is_float(e.type()) && e.type() != DType::Bool; }

// Arithmetic of indices: scalars of i64 in sums.
bool is_sum(const Expr& e) {
  if (e.type() != DType::I64 || e.lanes() != 1) return false;
  return e.op() == Op::Add || e.op() == Op::Sub || e.op() == Op::Neg ||
         (e.op() == Op::Mul && (e.arg(0).is_const() || e.arg(1).is_const()));
}

uint64_t wrap(int64_t n) { return static_cast<uint64_t>(n); }

void add_to(Sum& s, const Expr& e, uint64_t factor) {
  if (e.is_const()) {
    s.constant = static_cast<int64_t>(wrap(s.constant) + factor * wrap(e.as_int()));
    return;
  }
  if (is_sum(e)) {
    switch (e.op()) {
      case Op::Add:
        add_to(s, e.arg(0), factor);
        add_to(s, e.arg(1), factor);
        return;
      case Op::Sub:
        add_to(s, e.arg(0), factor);
        add_to(s, e.arg(1), 0 - factor);
        return;
      case Op::Neg: add_to(s, e.arg(0), 0 - factor); return;
      default: {
        const bool left = e.arg(0).is_const();
        add_to(s, e.arg(left ? 1 : 0), factor * wrap(e.arg(left ? 0 : 1).as_int()));
        return;
      }
    }
  }
  for (auto& [term, f] : s.terms)
    if (term == e) {
      f = static_cast<int64_t>(wrap(f) + factor);
      return;
    }
  s.terms.emplace_back(e, static_cast<int64_t>(factor));
}

Expr scaled(const Expr& e, int64_t factor) { return factor == 1 ? e : e * Expr(factor); }

Expr constant_lanes(const Expr& like, Scalar value) { return broadcast(Expr(value), like.lanes()); }

// Of the lanes of a comparison of constants: what they all give, if they agree.
Expr fold_compared_lanes(const Expr& e) {
  for (const auto& a : e.args()) {
    const bool known = a.is_const() || (a.op() == Op::Broadcast && a.arg(0).is_const()) ||
                       (a.op() == Op::Ramp && a.arg(0).is_const() && a.arg(1).is_const());
    if (!known) return e;
  }
  const auto lane = [](const Expr& a, int l) {
    if (a.is_const()) return a.value();
    if (a.op() == Op::Broadcast) return a.arg(0).value();
    const uint64_t n = wrap(a.arg(0).as_int()) + static_cast<uint64_t>(l) * wrap(a.arg(1).as_int());
    return Scalar::from_int(a.type(), static_cast<int64_t>(n));
  };
  Scalar first;
  for (int l = 0; l < e.lanes(); l++) {
    const Scalar args[] = {lane(e.arg(0), l), lane(e.arg(1), l)};
    const Scalar here = eval_op(e.op(), args);
    if (l > 0 && !(here == first)) return e;
    first = here;
  }
  return constant_lanes(e, first);
}

struct Strided {
  Expr base, stride;  // empty: not a ramp or a scalar in all lanes
};
Strided strided(const Expr& e) {
  if (e.op() == Op::Ramp) return {e.arg(0), e.arg(1)};
  if (e.op() == Op::Broadcast) return {e.arg(0), constant(e.type(), 0)};
  return {};
}

// Sums and multiples of ramps are ramps.
Expr fold_ramps(const Expr& e) {
  const Strided x = strided(e.arg(0)), y = strided(e.arg(1));
  if (!x.base || !y.base) return e;
  const auto join = [&](const Expr& a, const Expr& b) { return fold_node(make(e.op(), {a, b})); };
  Expr base = join(x.base, y.base), stride;
  if (e.op() != Op::Mul) {
    stride = join(x.stride, y.stride);
  } else if (y.stride.is_const(0)) {
    stride = join(x.stride, y.base);
  } else if (x.stride.is_const(0)) {
    stride = join(x.base, y.stride);
  } else {
    return e;
  }
  return stride.is_const(0) ? broadcast(base, e.lanes()) : ramp(base, stride, e.lanes());
}

bool is_zero(const Expr& e) {
  const ExprNode* c = lanes_constant(e);
  return c && !is_float(c->type) && c->bits == 0;
}
bool is_one(const Expr& e) {
  const ExprNode* c = lanes_constant(e);
  return c && !is_float(c->type) && c->bits == 1;
}

Expr fold_int(const Expr& e) {
  const Expr &x = e.arg(0), y = e.args().size() > 1 ? e.arg(1) : Expr();
  switch (e.op()) {
    case Op::Add:
      if (is_zero(y)) return x;
      if (is_zero(x)) return y;
      break;
    case Op::Sub:
      if (is_zero(y)) return x;
      break;
    case Op::Mul:
      if (is_one(y) || is_zero(x)) return x;
      if (is_one(x) || is_zero(y)) return y;
      break;
    case Op::FloorDiv:
      if (is_one(y)) return x;
      return e;
    case Op::Mod:
      if (is_one(y)) return constant_lanes(e, Scalar::from_int(e.type(), 0));
      return e;
    case Op::Min:
    case Op::Max: return x == y ? x : e;
    default: return e;
  }
  return e.lanes() > 1 ? fold_ramps(e) : e;
}

Expr fold_bool(const Expr& e) {
  const Expr &x = e.arg(0), y = e.args().size() > 1 ? e.arg(1) : Expr();
  switch (e.op()) {
    case Op::And:
    case Op::Mul:
    case Op::Min:
      if (always(x, true) || always(y, false)) return y;
      if (always(y, true) || always(x, false) || x == y) return x;
      return e;
    case Op::Or:
    case Op::Add:
    case Op::Max:
      if (always(x, false) || always(y, true)) return y;
      if (always(y, false) || always(x, true) || x == y) return x;
      return e;
    case Op::Not: return x.op() == Op::Not ? x.arg(0) : e;
    default: return e;
  }
}

// A select whose arm is a product keeps it away from a sum around it.
bool may_show(const Expr& arm) { return !is_float(arm.type()) || arm.op() != Op::Mul; }

Expr fold_structural(const Expr& e) {
  switch (e.op()) {
    case Op::Select:
      if (always(e.arg(0), true) && may_show(e.arg(1))) return e.arg(1);
      if (always(e.arg(0), false) && may_show(e.arg(2))) return e.arg(2);
      return e.arg(1) == e.arg(2) && may_show(e.arg(1)) ? e.arg(1) : e;
    case Op::LoadIf:
      if (always(e.arg(0), false) && may_show(e.arg(1))) return e.arg(1);
      if (always(e.arg(0), true)) {
        const Expr r = load(e.symbol(), e.type(), e.indices());
        return r.lanes() == e.lanes() ? r : broadcast(r, e.lanes());
      }
      return e;
    case Op::Ramp: return is_zero(e.arg(1)) ? broadcast(e.arg(0), e.lanes()) : e;
    case Op::Cast:
      if (e.arg(0).is_const()) return Expr(convert(e.arg(0).value(), e.type()));
      if (e.arg(0).op() == Op::Broadcast)
        return broadcast(fold_node(cast(e.type(), e.arg(0).arg(0))), e.lanes());
      return e;
    default: return e;
  }
}

}  // namespace

const ExprNode* lanes_constant(const Expr& e) {
  if (!e) return nullptr;
  if (e.is_const()) return e.get();
  return e.op() == Op::Broadcast && e.arg(0).is_const() ? e.arg(0).get() : nullptr;
}

bool always(const Expr& condition, bool value) {
  const ExprNode* c = lanes_constant(condition);
  return c && c->type == DType::Bool && (c->bits != 0) == value;
}

Sum sum_of(const Expr& e) {
  Sum s;
  add_to(s, e, 1);
  return s;
}

Expr sum_expr(const Sum& s) {
  Expr total;
  const auto add = [&](const Expr& e) { total = total ? total + e : e; };
  for (const auto& [term, factor] : s.terms)
    if (factor > 0) add(scaled(term, factor));
  const bool negative = !total && s.constant != 0;  // the constant goes first
  if (negative) total = Expr(s.constant);
  for (const auto& [term, factor] : s.terms) {
    if (factor >= 0) continue;
    if (!total) total = Expr(0);
    const auto positive = static_cast<int64_t>(0 - wrap(factor));
    total = positive > 0 ? total - scaled(term, positive) : total + term * Expr(factor);
  }
  if (!total) return Expr(s.constant);
  if (negative || s.constant == 0) return total;
  const auto opposite = static_cast<int64_t>(0 - wrap(s.constant));
  return s.constant > 0 || opposite <= 0 ? total + Expr(s.constant) : total - Expr(opposite);
}

Expr fold_node(const Expr& e) {
  const OpInfo& op = info(e.op());
  if (op.cls == OpClass::Structural) return fold_structural(e);
  if (op.cls == OpClass::math || is_half(e.type())) return e;
  bool constants = true, lanes = e.lanes() > 1;
  for (const auto& a : e.args()) {
    constants &= lanes_constant(a) != nullptr;
    lanes &= a.op() == Op::Broadcast;
  }
  if (constants) {
    Scalar args[3];
    for (size_t i = 0; i < e.args().size(); i++) {
      const ExprNode* c = lanes_constant(e.arg(i));
      args[i] = {c->type, c->bits};
    }
    if (!is_half(args[0].type)) return constant_lanes(e, eval_op(e.op(), args));
  }
  const DType operands = e.arg(0).type();
  if (is_float(operands)) return e;
  if (lanes) {  // one operation for all lanes
    Exprs scalars;
    for (const auto& a : e.args()) scalars.push_back(a.arg(0));
    return broadcast(fold_node(make(e.op(), std::move(scalars))), e.lanes());
  }
  if (op.cls == OpClass::cmp) return e.lanes() > 1 ? fold_compared_lanes(e) : e;
  return is_plain_int(e) ? fold_int(e) : fold_bool(e);
}

Expr fold(const Expr& root) {
  if (root.is_const() || root.is_var()) return root;
  return rewrite(root, [](const Expr& e) {
    // Of a sum the outermost node would be enough; the inner ones are short.
    return is_sum(e) ? sum_expr(sum_of(e)) : fold_node(e);
  });
}

}  // namespace pto::passes
