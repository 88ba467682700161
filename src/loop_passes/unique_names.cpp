#include "loop_passes/unique_names.h"

#include "loop_passes/body.h"

namespace pto::passes {
namespace {

class Renamer {
 public:
  explicit Renamer(const LoopProgram& p) : names_(p) {
    for (Symbol s : p.sizes) taken_.insert(s);
    for (const auto& param : p.params) taken_.insert(param.name);
  }

  Stmts body(const Stmts& stmts) {
    const Renaming outside = renaming_;
    Stmts out;
    for (const auto& s : stmts) out.push_back(statement(s));
    renaming_ = outside;
    return out;
  }

 private:
  StmtPtr statement(const StmtPtr& s) {
    StmtPtr r = renaming_.empty() ? s : with_exprs(s, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& n) { return renamed_node(n, renaming_); });
    });
    if (s->kind == StmtKind::Store && renaming_.buffers.count(s->name))
      r = store(renaming_.buffers.at(s->name), r->index, r->value, r->mask, r->loc);
    if (s->kind == StmtKind::For) {
      const Renaming outside = renaming_;
      r = bind(r);
      r = with_bodies(r, body(s->body), {});
      renaming_ = outside;
      return r;
    }
    if (binds(*s)) return bind(r);
    return s->body.empty() && s->orelse.empty() ? r : with_bodies(r, body(s->body), body(s->orelse));
  }

  StmtPtr bind(const StmtPtr& s) {
    if (taken_.insert(s->name).second) {  // the name means itself again
      renaming_.vars.erase(s->name);
      renaming_.buffers.erase(s->name);
      return s;
    }
    const Symbol name = names_.fresh(s->name.str());
    taken_.insert(name);
    if (s->kind == StmtKind::Alloc) {
      renaming_.buffers[s->name] = name;
    } else if (s->kind == StmtKind::For) {
      renaming_.vars[s->name] = var(name);
    } else {
      renaming_.vars[s->name] = var(name, s->value.type(), s->value.lanes());
    }
    Stmt copy = *s;
    copy.name = name;
    return std::make_shared<const Stmt>(std::move(copy));
  }

  Names names_;
  std::unordered_set<Symbol> taken_;  // by what stands before
  Renaming renaming_;
};

}  // namespace

LoopProgram unique_names(const LoopProgram& program) {
  return with_body(program, Renamer(program).body(program.body));
}

}  // namespace pto::passes
