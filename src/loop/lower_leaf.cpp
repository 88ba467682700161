// Leaves: maps, stores and checks at one point, or in the lanes of one vector.
#include "base/error.h"
#include "loop/lower_emit.h"

namespace pto::lowering {
namespace {

constexpr const char* kWhere = "loop/lower";

}  // namespace

Stmts Emitter::leaf(int first, const Env& env) {
  Stmts out;
  Locals locals;
  std::map<Symbol, int> stores_seen;
  auto after = [&](const Placed& item) {
    for (const auto& c : plan.checks)
      if (c.leaf == first && !item.store && plan.values[c.value].value->names[0] == item.name)
        append(out, check_after(c, env, locals));
  };
  for (int n : plan.leaves_beside(first)) {
    for (const auto& item : plan.node(n).leaf) {
      if (item.store) {
        // The n-th store of the text to a parameter is its n-th in the kernel.
        int skip = stores_seen[item.name]++;
        for (size_t i = 0; i < plan.kernel.stores.size(); i++) {
          const bool here = plan.first_leaf(plan.placement.store_leaf[i]) == first;
          if (here && plan.kernel.stores[i].param == item.name && skip-- == 0)
            append(out, store_result(plan.kernel.stores[i], env, locals));
        }
      } else {
        const ValuePlan& v = plan.plan_of(item.name);
        append(out, v.value->kind == ValueKind::Map ? map(v, env, locals) : step(v, env, locals));
      }
      after(item);
    }
  }
  return out;
}

Stmts Emitter::map(const ValuePlan& v, const Env& env, Locals& locals) {
  Stmts out;
  Exprs results;
  {
    PointLowering point(*this, env, locals, out);
    for (size_t c = 0; c < v.value->body.size(); c++) results.push_back(point.lower(v.value->body[c]));
  }
  define(out, v, env, locals, results);
  return out;
}

// The components of a value at this point: by name for the rest of the leaf, stored for others.
void Emitter::define(Stmts& out, const ValuePlan& v, const Env& env, Locals& locals, const Exprs& results) {
  for (size_t c = 0; c < results.size(); c++)
    locals[v.value->names[c]] = named(out, v.value->names[c].str(), results[c]);
  if (!v.stored) return;
  for (Symbol name : v.value->names)
    append(out, write(storage(name), env, locals.at(name), {}, v.value->loc));
}

Stmts Emitter::store_result(const TileStore& s, const Env& env, Locals& locals) {
  Stmts out;
  PointLowering point(*this, env, locals, out);
  Exprs index;
  int lanes = 1;
  for (const auto& i : s.index) {
    index.push_back(point.lower(i));
    lanes = std::max(lanes, index.back().lanes());
  }
  Expr value = point.lower(s.value);
  Expr mask = s.predicate ? point.lower(s.predicate) : Expr();
  lanes = std::max(lanes, value.lanes());
  if (mask) lanes = std::max(lanes, mask.lanes());
  if (lanes > 1) {
    const Tile* tile = env.lanes();
    PTO_CHECK(tile && tile->at.lanes == lanes, kWhere, "lanes of a store to " + s.param.str());
    value = broadcast(value, lanes);
    if (tile->exists) mask = mask ? mask & tile->exists : tile->exists;
  }
  const bool lane_mask = lanes > 1 && mask;
  const StmtPtr st =
      pto::store(s.param, std::move(index), value, lane_mask ? broadcast(mask, lanes) : Expr(), s.loc);
  out.push_back(mask && !lane_mask ? if_then(mask, {st}) : st);
  return out;
}

// Over the current tiles of the axes that are not bound here.
Stmts Emitter::check_after(const CheckPlan& c, const Env& env, const Locals& locals) {
  std::vector<LoopForm> chain;
  for (Symbol axis : c.check->axes) {
    if (env.tile(axis).bound != Tile::Range) continue;
    LoopForm f;
    f.axis = axis;
    chain.push_back(f);
  }
  return loops(chain, env, [&](const Env& e) {
    Stmts out;
    Locals here = locals;
    PointLowering point(*this, e, here, out);
    Expr condition = point.lower(c.check->condition);
    if (condition.lanes() > 1 && e.lanes()->exists) {
      const Expr absent = make(Op::Not, {e.lanes()->exists});
      condition = condition | absent;
    }
    out.push_back(check(condition, c.number, c.check->loc));
    return out;
  });
}

// A check of parameters alone runs before everything else, in parallel and in lanes.
Stmts Emitter::check_nest(const CheckPlan& c, const Env& env) {
  constexpr int64_t kChunk = 1024;
  std::vector<LoopForm> chain;
  const auto& axes = c.check->axes;
  for (size_t i = 0; i < axes.size(); i++) {
    const bool last = i + 1 == axes.size();
    LoopForm f;
    f.kind = plan.parallel ? LoopKind::Parallel : LoopKind::Serial;
    f.axis = axes[i];
    f.step = last ? kChunk : 1;
    f.one_code = true;
    chain.push_back(f);
    if (!last) continue;
    f.kind = LoopKind::Vector;
    f.step = plan.target.lanes(size_of(DType::I64));
    f.one_code = false;
    chain.push_back(f);
  }
  return loops(chain, env, [&](const Env& e) { return check_after(c, e, {}); });
}

}  // namespace pto::lowering
