#include "loop_passes/unroll.h"

#include "base/error.h"
#include "loop_passes/body.h"
#include "loop_passes/fold.h"
#include "loop_passes/unique_names.h"

namespace pto::passes {
namespace {

constexpr int64_t kMostStatements = 4096;  // that one loop may become, if it need not be unrolled

int64_t trips(const Stmt& s) {
  PTO_CHECK(s.lo.is_const() && s.hi.is_const() && s.step.is_const(), "loop_passes/unroll",
            "the unrolled loop " + s.name.str() + " runs a number of times that is not constant");
  const int64_t lo = s.lo.as_int(), hi = s.hi.as_int(), step = s.step.as_int();
  return hi <= lo ? 0 : (hi - lo + step - 1) / step;
}

int64_t statements(const Stmts& body) {
  int64_t n = 0;
  for (const auto& s : body) {
    const bool copies = s->kind == StmtKind::For && s->for_kind == ForKind::Unrolled;
    n += 1 + (copies ? trips(*s) : 1) * (statements(s->body) + statements(s->orelse));
  }
  return n;
}

class Unroller {
 public:
  explicit Unroller(const LoopProgram& p) : names_(p) {
    for_each_stmt(p.body, [&](const Stmt& s) {
      if (s.kind == StmtKind::Alloc && s.scope == Scope::Register) registers_.insert(s.name);
    });
  }

  Stmts body(const Stmts& stmts) {
    Stmts out;
    for (const auto& s : stmts) {
      if (s->kind == StmtKind::For && s->for_kind == ForKind::Unrolled) {
        unrolled(out, s);
      } else {
        out.push_back(statement(s));
      }
    }
    return out;
  }

 private:
  Expr expr(const Expr& e) const {
    if (renaming_.empty()) return e;
    return rewrite(e, [&](const Expr& n) { return fold_node(renamed_node(n, renaming_)); });
  }

  StmtPtr statement(const StmtPtr& s) {
    StmtPtr r = with_exprs(s, [&](const Expr& e) { return expr(e); });
    const auto to = renaming_.buffers.find(s->name);
    if (s->kind == StmtKind::Store && to != renaming_.buffers.end())
      r = store(to->second, r->index, r->value, r->mask, r->loc);
    if (copying_ && binds(*s)) r = bind(r);
    return s->body.empty() && s->orelse.empty() ? r : with_bodies(r, body(s->body), body(s->orelse));
  }

  // A copy's own name.
  StmtPtr bind(const StmtPtr& s) {
    Stmt copy = *s;
    copy.name = names_.fresh(s->name.str());
    switch (s->kind) {
      case StmtKind::Alloc: renaming_.buffers[s->name] = copy.name; break;
      case StmtKind::For: renaming_.vars[s->name] = var(copy.name); break;
      default: renaming_.vars[s->name] = var(copy.name, s->value.type(), s->value.lanes()); break;
    }
    return std::make_shared<const Stmt>(std::move(copy));
  }

  void unrolled(Stmts& out, const StmtPtr& s) {
    const int64_t n = trips(*s);
    // Copies that are guarded one by one gain nothing over a loop.
    const bool guarded = s->body.size() == 1 && s->body[0]->kind == StmtKind::If;
    if ((guarded || n * (1 + statements(s->body)) > kMostStatements) && !indexes_register(*s)) {
      Stmt copy = *s;
      copy.for_kind = ForKind::Serial;
      out.push_back(statement(std::make_shared<const Stmt>(std::move(copy))));
      return;
    }
    const Renaming outside = renaming_;
    const bool copying = copying_;
    for (int64_t i = 0; i < n; i++) {
      renaming_ = outside;
      copying_ = copying || i > 0;  // the first copy keeps the names
      renaming_.vars[s->name] = Expr(s->lo.as_int() + i * s->step.as_int());
      append(out, body(s->body));
    }
    renaming_ = outside;
    copying_ = copying;
  }

  // Does an index of a register depend on the loop, perhaps by way of lets?
  bool indexes_register(const Stmt& loop) const {
    std::unordered_set<Symbol> dependent{loop.name};
    bool found = false;
    const auto depends = [&](const Expr& e) {
      bool d = false;
      visit(e, [&](const Expr& n) { d |= n.is_var() && dependent.count(n.symbol()) > 0; });
      return d;
    };
    for_each_stmt(loop.body, [&](const Stmt& s) {
      for_each_expr(s, [&](const Expr& root) {
        visit(root, [&](const Expr& e) {
          if (!e.is_load() || !registers_.count(e.symbol())) return;
          for (const auto& i : e.indices()) found |= depends(i);
        });
        if ((s.kind == StmtKind::Let || s.kind == StmtKind::For) && depends(root)) dependent.insert(s.name);
      });
      if (s.kind == StmtKind::Store && registers_.count(s.name))
        for (const auto& i : s.index) found |= depends(i);
    });
    return found;
  }

  Names names_;
  std::unordered_set<Symbol> registers_;
  Renaming renaming_;
  bool copying_ = false;
};

}  // namespace

LoopProgram unroll(const LoopProgram& program, const Target&) {
  const LoopProgram p = unique_names(program);
  return with_body(p, Unroller(p).body(p.body));
}

}  // namespace pto::passes
