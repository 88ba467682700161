#include "loop_passes/simplify.h"

#include "loop_passes/body.h"
#include "loop_passes/fold.h"
#include "loop_passes/unique_names.h"

namespace pto::passes {
namespace {

class Simplifier {
 public:
  Stmts body(const Stmts& stmts) {
    Stmts out;
    for (const auto& s : stmts) statement(out, s);
    return out;
  }

 private:
  Expr expr(const Expr& e) const {
    if (e.is_const()) return e;
    if (known_.empty()) return fold(e);
    if (e.is_var()) return renamed_node(e, known_);
    return fold(rewrite(e, [&](const Expr& n) { return renamed_node(n, known_); }));
  }

  void statement(Stmts& out, const StmtPtr& s) {
    const StmtPtr r = with_exprs(s, [&](const Expr& e) { return expr(e); });
    switch (r->kind) {
      case StmtKind::Let:
        if (is_plain(r->value))
          known_.vars[r->name] = r->value;
        else
          out.push_back(r);
        return;
      case StmtKind::If:
        if (always(r->value, true)) return splice(out, body(s->body));
        if (always(r->value, false)) return splice(out, body(s->orelse));
        out.push_back(with_bodies(r, body(s->body), body(s->orelse)));
        return;
      case StmtKind::For: return loop(out, r, s->body);
      case StmtKind::Block: return splice(out, body(s->body));
      case StmtKind::Store:
        if (always(r->mask, false)) return;
        out.push_back(always(r->mask, true) ? store(r->name, r->index, r->value, {}, r->loc) : r);
        return;
      case StmtKind::Check:
        if (!always(r->value, true)) out.push_back(r);
        return;
      default: out.push_back(r); return;
    }
  }

  void loop(Stmts& out, const StmtPtr& s, const Stmts& inside) {
    const bool shared = s->for_kind == ForKind::Parallel;  // an iteration is one worker's
    if (s->lo == s->hi) return;
    if (s->lo.is_const() && s->hi.is_const()) {
      if (s->hi.as_int() <= s->lo.as_int()) return;
      const bool once = s->step.is_const() && s->hi.as_int() - s->lo.as_int() <= s->step.as_int();
      if (once && !shared) {
        known_.vars[s->name] = s->lo;
        return splice(out, body(inside));
      }
    }
    out.push_back(with_bodies(s, body(inside), {}));
  }

  // What lives to the end of a block keeps a block.
  static void splice(Stmts& out, Stmts inside) {
    for (const auto& s : inside)
      if (s->kind == StmtKind::Alloc && s->scope == Scope::Private) {
        out.push_back(block(std::move(inside)));
        return;
      }
    append(out, std::move(inside));
  }

  static bool is_plain(const Expr& e) {
    if (e.op() == Op::Broadcast) return is_plain(e.arg(0));
    return e.is_const() || e.is_var();
  }

  Renaming known_;
};

}  // namespace

LoopProgram simplify(const LoopProgram& program, const Target&) {
  const LoopProgram p = unique_names(program);
  return with_body(p, Simplifier().body(p.body));
}

}  // namespace pto::passes
