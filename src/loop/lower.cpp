// Lowering: a definition and a schedule become a loop program. lower_plan.h decides, lower_emit.h
// writes; here is the walk over the tree.
#include "base/error.h"
#include "loop/lower_emit.h"
#include "loop/opaque.h"

namespace pto {
namespace lowering {

void append(Stmts& to, Stmts from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

Env Env::with(Symbol axis, Tile tile) const {
  Env e = *this;
  e.tiles_[axis] = std::move(tile);
  return e;
}

Env Env::with(Part part) const {
  Env e = *this;
  e.parts_.push_back(std::move(part));
  return e;
}

Symbol Env::lane_axis() const {
  for (const auto& [axis, tile] : tiles_)
    if (tile.bound == Tile::Lanes) return axis;
  return {};
}

Emitter::Emitter(const Plan& plan) : plan(plan) {
  for (const auto& p : plan.kernel.params) used_names_.insert(p.name);
  for (Symbol s : plan.kernel.sizes) used_names_.insert(s);
}

Symbol Emitter::fresh(const std::string& base) {
  for (;;) {
    const int n = name_counts_[base]++;
    const Symbol name(n == 0 ? base : base + "_" + std::to_string(n));
    if (used_names_.insert(name).second) return name;
  }
}

Expr Emitter::named(Stmts& out, const std::string& base, const Expr& value) {
  if (value.is_const() || value.is_var()) return value;
  const Symbol name = fresh(base);
  out.push_back(let(name, value));
  return var(name, value.type(), value.lanes());
}

Stmts Emitter::body(int n, const Env& env) {
  Stmts out;
  for (const auto& v : plan.values)
    if (v.stored && v.home == n) append(out, allocate(v, env));
  for (int m : plan.children(n)) {
    if (!plan.is_leaf(m)) {
      append(out, child(m, env));
    } else if (plan.first_leaf(m) == m) {
      append(out, leaf(m, env));
    }
  }
  return out;
}

// A loop with what stands around it.
Stmts Emitter::child(int n, const Env& env) {
  Stmts out;
  for (const auto& v : plan.values)
    if (v.folds() && v.fold == n) append(out, begin_fold(v, env));
  for (const auto& v : plan.values)
    if (v.folds() && v.window == n) append(out, enter_window(v, env));
  int last = n;
  std::vector<LoopForm> chain{form(n)};
  while (plan.node(last).kind == LoopKind::Parallel) {
    const std::vector<int> inside = plan.children(last);
    if (inside.size() != 1 || !plan.has_parallel(inside[0])) break;
    last = inside[0];
    chain.push_back(form(last));
  }
  append(out, loops(chain, env, [&](const Env& e) { return body(last, e); }));
  for (const auto& v : plan.values)
    if (v.folds() && v.window == n) append(out, leave_window(v, env));
  for (const auto& v : plan.values)
    if (v.folds() && v.fold == n) append(out, end_fold(v, env));
  for (const auto& c : plan.checks)
    if (c.fold == n) append(out, check_after(c, env, {}));
  return out;
}

// Nests run one after the other. What is not parallel is one worker's: it becomes a parallel loop of
// one iteration, unless nothing is parallel and one worker runs it all.
Stmts Emitter::root(const Env& env) {
  Stmts out, alone;
  auto flush = [&] {
    if (alone.empty()) return;
    out.push_back(for_loop(ForKind::Parallel, fresh("once"), Expr(0), Expr(1), Expr(1), std::move(alone)));
    alone.clear();
  };
  auto add = [&](Stmts nest, bool is_parallel) {
    if (plan.parallel && !is_parallel) {
      append(alone, std::move(nest));
      return;
    }
    flush();
    append(out, std::move(nest));
  };
  for (const auto& c : plan.checks)
    if (c.leaf < 0 && c.fold < 0) add(check_nest(c, env), !c.check->axes.empty());
  std::set<Symbol> shared;
  for (const auto& v : plan.values) {
    if (!v.stored || v.home >= 0) continue;
    append(shared_, allocate(v, env));
    for (Symbol name : v.value->names) shared.insert(storage(name).name);
  }
  for (int n : plan.children(-1)) {
    if (!plan.is_leaf(n)) {
      add(child(n, env), plan.has_parallel(n));
    } else if (plan.first_leaf(n) == n) {
      add(leaf(n, env), false);
    }
  }
  flush();
  return plan.parallel ? with_barriers(std::move(out), shared) : out;
}

Env Emitter::whole_axes() const {
  Env env;
  for (const auto& axis : plan.kernel.axes) {
    Tile t;
    t.extent = simplify(axis.extent);
    t.width = t.extent.is_const() ? t.extent.as_int() : 0;
    env = env.with(axis.name, std::move(t));
  }
  return env;
}

LoopProgram Emitter::run() {
  const Kernel& k = plan.kernel;
  LoopProgram p;
  p.name = k.name;
  p.sizes = k.sizes;
  for (const auto& param : k.params) p.params.push_back({param.name, param.dtype, param.shape, param.output});
  Stmts nests = root(whole_axes());
  p.body = std::move(shared_);
  append(p.body, std::move(nests));
  for (const auto& c : k.checks) p.messages.push_back(c.message);
  p.because = k.because;
  p.because.insert(p.because.end(), plan.schedule.because.begin(), plan.schedule.because.end());
  return p;
}

namespace {

// Names that nothing uses: masks of vectors whose accesses all have room, lets that are stored only.
class UsedNames {
 public:
  explicit UsedNames(const Stmts& body) { count(body); }

  Stmts without_unused(const Stmts& body) const {
    Stmts out;
    for (const auto& s : body) {
      if (s->kind == StmtKind::Let && !used_.count(s->name)) continue;
      if (s->body.empty() && s->orelse.empty()) {
        out.push_back(s);
        continue;
      }
      Stmt copy = *s;
      copy.body = without_unused(s->body);
      copy.orelse = without_unused(s->orelse);
      out.push_back(std::make_shared<const Stmt>(std::move(copy)));
    }
    return out;
  }

 private:
  // Backwards, so that what only unused lets use is unused.
  void count(const Stmts& body) {
    for (auto s = body.rbegin(); s != body.rend(); ++s) {
      if ((*s)->kind == StmtKind::Let && !used_.count((*s)->name)) continue;
      count((*s)->orelse);
      count((*s)->body);
      for (const auto& e : {(*s)->lo, (*s)->hi, (*s)->step, (*s)->value, (*s)->mask}) add(e);
      for (const auto& e : (*s)->index) add(e);
    }
  }

  void add(const Expr& e) {
    visit(e, [&](const Expr& n) {
      if (n.is_var()) used_.insert(n.symbol());
    });
  }

  std::set<Symbol> used_;
};

}  // namespace
}  // namespace lowering

LoopProgram lower(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  if (!kernel.opaque.empty()) return lower_opaque(kernel, target);
  const lowering::Plan plan(kernel, schedule, target);
  LoopProgram program = lowering::Emitter(plan).run();
  program.body = lowering::UsedNames(program.body).without_unused(program.body);
  return program;
}

}  // namespace pto
