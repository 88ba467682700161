// Folds and scans: where accumulators live, their identities, steps, and the combination of those
// that unrolled parts and lanes have of their own.
#include "base/error.h"
#include "loop/lower_emit.h"

namespace pto::lowering {
namespace {

constexpr const char* kWhere = "loop/lower";

bool is_scan(const ValuePlan& v) { return v.value->kind == ValueKind::Scan; }

Expr identity(const ValuePlan& v, size_t component) {
  if (v.value->kind != ValueKind::Contract) return v.value->monoid.init[component];
  return Expr(Scalar::from_int(v.value->types[0], 0));
}

// Where in the list of parts a point of unrolled loops is.
Expr part_of(const ValuePlan& v, const Env& env) {
  Linear part;
  for (const auto& p : env.parts())
    if (contains(v.value->over, p.axis)) part = plus(scaled(std::move(part), p.count), 1, p.index, p.count);
  return part.expr();
}

Exprs further_indices(const ValuePlan& v, const Expr& part) {
  Exprs out;
  if (v.parts > 1) out.push_back(part);
  if (v.lanes > 1) out.push_back(ramp(Expr(0), Expr(1), v.lanes));
  return out;
}

}  // namespace

// Are the accumulators the value's own storage, from beginning to end?
bool Emitter::folds_in_place(const ValuePlan& v) const {
  return !is_scan(v) && !v.combines() && (v.in_registers || v.window < 0);
}

const Storage& Emitter::accumulator_base(const ValuePlan& v, size_t c) const {
  const Symbol name = v.value->names[c];
  return is_scan(v) || v.combines() ? accumulators_.at(name) : storages_.at(name);
}

const Storage& Emitter::accumulator(const ValuePlan& v, size_t c) const {
  if (folds_in_place(v)) return storages_.at(v.value->names[c]);
  return v.window >= 0 ? windows_.at(v.value->names[c]) : accumulator_base(v, c);
}

Stmts Emitter::make_accumulators(const ValuePlan& v, const Env& env, std::map<Symbol, Storage>& to,
                                 Scope scope) {
  std::vector<LayoutDim> dims;
  for (Symbol a : v.value->axes)
    if (!is_scan(v) || a != v.value->over[0]) dims.push_back({LayoutDim::Whole, a, 1});
  std::vector<int64_t> further;
  if (v.parts > 1) further.push_back(v.parts);
  if (v.lanes > 1) further.push_back(v.lanes);
  Stmts out;
  for (size_t c = 0; c < v.value->names.size(); c++) {
    const Symbol name = v.value->names[c];
    const Storage s =
        make_storage(name.str() + "_acc", v.value->types[c], scope, dims, v.padding, env, further);
    to[name] = s;
    out.push_back(alloc(s.name, s.dtype, s.shape, s.scope));
  }
  return out;
}

// The loops from `outermost` to the fold's leaf that are not over folded axes.
std::vector<LoopForm> Emitter::free_loops(const ValuePlan& v, int outermost) const {
  std::vector<LoopForm> out;
  for (int loop : plan.placement.path(v.leaf))
    if (loop >= outermost && !contains(v.value->over, plan.node(loop).axis)) out.push_back(form(loop));
  return out;
}

Stmts Emitter::begin_fold(const ValuePlan& v, const Env& env) {
  Stmts out;
  const bool window_is_all = v.window == v.fold;
  if (!folds_in_place(v)) {
    if (window_is_all) {
      append(out, make_accumulators(v, env, windows_, Scope::Register));
    } else if (is_scan(v) || v.combines()) {
      append(out, make_accumulators(v, env, accumulators_, Scope::Private));
    }
  }
  append(out, loops(free_loops(v, v.fold), env, [&](const Env& e) {
           Stmts init;
           for (size_t c = 0; c < v.value->names.size(); c++) {
             const Storage& to =
                 folds_in_place(v) || window_is_all ? accumulator(v, c) : accumulator_base(v, c);
             for (int64_t part = 0; part < v.parts; part++)
               append(init, write(to, e, identity(v, c), further_indices(v, Expr(part)), v.value->loc));
           }
           return init;
         }));
  return out;
}

Stmts Emitter::end_fold(const ValuePlan& v, const Env& env) {
  if (is_scan(v) || folds_in_place(v)) return {};
  if (!v.combines() && v.window != v.fold) return {};   // the window was written back
  return loops(free_loops(v, v.fold), env, [&](const Env& e) {
    Stmts out;
    std::vector<Exprs> parts;
    for (int64_t part = 0; part < v.parts; part++) {
      Exprs components;
      for (size_t c = 0; c < v.value->names.size(); c++) {
        const Storage& from = v.window == v.fold ? accumulator(v, c) : accumulator_base(v, c);
        const Expr acc = read(from, e, further_indices(v, Expr(part)));
        components.push_back(named(out, v.value->names[c].str() + "_part", acc));
      }
      parts.push_back(std::move(components));
    }
    Exprs result = combine_parts(out, v, std::move(parts));
    if (v.lanes > 1) result = combine_lanes(out, v, std::move(result));
    for (size_t c = 0; c < result.size(); c++)
      append(out, write(storage(v.value->names[c]), e, result[c], {}, v.value->loc));
    return out;
  });
}

// Memory to registers before the loops of a window, and back after them.
Stmts Emitter::copy_accumulators(const ValuePlan& v, const Env& env, bool to_window) {
  return loops(free_loops(v, v.window), env, [&](const Env& e) {
    Stmts out;
    for (size_t c = 0; c < v.value->names.size(); c++) {
      const Storage &window = windows_.at(v.value->names[c]), &base = accumulator_base(v, c);
      for (int64_t part = 0; part < v.parts; part++) {
        const Exprs further = further_indices(v, Expr(part));
        const Expr value = read(to_window ? base : window, e, further);
        append(out, write(to_window ? window : base, e, value, further, v.value->loc));
      }
    }
    return out;
  });
}

Stmts Emitter::enter_window(const ValuePlan& v, const Env& env) {
  if (v.window == v.fold || folds_in_place(v)) return {};
  Stmts out = make_accumulators(v, env, windows_, Scope::Register);
  append(out, copy_accumulators(v, env, true));
  return out;
}

Stmts Emitter::leave_window(const ValuePlan& v, const Env& env) {
  if (v.window == v.fold || folds_in_place(v)) return {};
  return copy_accumulators(v, env, false);
}

// One element of a fold, in each lane; of a scan, also its result there.
Stmts Emitter::step(const ValuePlan& v, const Env& env, Locals& locals) {
  const TileValue& value = *v.value;
  Stmts out;
  Exprs elements;
  {
    PointLowering point(*this, env, locals, out);
    if (value.kind == ValueKind::Contract) {
      for (const auto& factor : value.body[0].args()) elements.push_back(point.lower(factor));
    } else {
      for (size_t c = 0; c < value.body.size(); c++)
        elements.push_back(named(out, value.names[c].str() + "_in", point.lower(value.body[c])));
    }
  }
  const Exprs further = further_indices(v, part_of(v, env));
  Exprs acc;
  for (size_t c = 0; c < value.names.size(); c++)
    acc.push_back(v.folds() ? read(accumulator(v, c), env, further) : identity(v, c));
  Exprs next;
  if (value.kind != ValueKind::Contract) {
    next = combined(out, v, acc, elements);
  } else if (is_float(value.types[0])) {
    next = {make(Op::Fma, {elements[0], elements[1], acc[0]})};
  } else {
    next = {acc[0] + elements[0] * elements[1]};
  }
  if (!v.folds()) {   // an empty list of axes: the fold is this one step
    define(out, v, env, locals, next);
    return out;
  }
  // Lanes that do not exist leave their accumulators as they were.
  if (v.lanes > 1 && env.lanes()->exists)
    for (size_t c = 0; c < next.size(); c++) next[c] = select(env.lanes()->exists, next[c], acc[c]);
  // All components are known before the first is overwritten.
  if (next.size() > 1 || is_scan(v))
    for (size_t c = 0; c < next.size(); c++) next[c] = named(out, value.names[c].str() + "_next", next[c]);
  for (size_t c = 0; c < next.size(); c++)
    append(out, write(accumulator(v, c), env, next[c], further, value.loc));
  if (is_scan(v)) define(out, v, env, locals, next);
  return out;
}

// The components of the combination, each an expression of its own.
Exprs Emitter::combined(Stmts& out, const ValuePlan& v, const Exprs& a, const Exprs& b) {
  if (v.value->kind == ValueKind::Contract) return {a[0] + b[0]};
  Exprs result = v.value->monoid.apply(a, b);
  if (result.size() > 1)
    for (auto& r : result) r = named(out, v.value->names[0].str() + "_next", r);
  return result;
}

// HReduce's tree over a list: halves are combined until one is left; an odd one is carried.
Exprs Emitter::combine_parts(Stmts& out, const ValuePlan& v, std::vector<Exprs> parts) {
  while (parts.size() > 1) {
    const size_t half = parts.size() / 2;
    for (size_t i = 0; i < half; i++) {
      parts[i] = combined(out, v, parts[i], parts[i + half]);
      for (auto& c : parts[i]) c = named(out, v.value->names[0].str() + "_part", c);
    }
    if (parts.size() % 2) parts[half] = parts.back();
    parts.resize(half + parts.size() % 2);
  }
  return parts[0];
}

// The same tree over lanes. One operation is an hreduce; all else is halved in registers.
Exprs Emitter::combine_lanes(Stmts& out, const ValuePlan& v, Exprs lanes) {
  const TileValue& value = *v.value;
  if (value.kind == ValueKind::Contract) return {hreduce(Op::Add, lanes[0])};
  const Expr& combine = value.monoid.combine[0];
  if (value.names.size() == 1 && info(combine.op()).arity == 2 && !is_math(combine.op()) &&
      combine.args()[0] == component('a', 0, value.types[0]) &&
      combine.args()[1] == component('b', 0, value.types[0]))
    return {hreduce(combine.op(), lanes[0])};
  std::vector<Symbol> halves;
  for (size_t c = 0; c < lanes.size(); c++) {
    halves.push_back(fresh(value.names[c].str() + "_lanes"));
    out.push_back(alloc(halves[c], value.types[c], {Expr(v.lanes)}, Scope::Register));
    out.push_back(pto::store(halves[c], {ramp(Expr(0), Expr(1), v.lanes)}, broadcast(lanes[c], v.lanes)));
  }
  auto at = [&](size_t c, int first, int count) {
    return load(halves[c], value.types[c], {ramp(Expr(first), Expr(1), count)});
  };
  for (int left = v.lanes; left > 1; left = left / 2 + left % 2) {
    const int half = left / 2;
    Exprs a, b;
    for (size_t c = 0; c < lanes.size(); c++) {
      a.push_back(at(c, 0, half));
      b.push_back(at(c, half, half));
    }
    Exprs next = combined(out, v, a, b);
    for (auto& n : next) n = named(out, value.names[0].str() + "_half", n);
    for (size_t c = 0; c < lanes.size(); c++) {
      out.push_back(pto::store(halves[c], {ramp(Expr(0), Expr(1), half)}, broadcast(next[c], half)));
      if (left % 2) out.push_back(pto::store(halves[c], {Expr(half)}, at(c, left - 1, 1)));
    }
  }
  Exprs result;
  for (size_t c = 0; c < lanes.size(); c++) result.push_back(at(c, 0, 1));
  return result;
}

}  // namespace pto::lowering
