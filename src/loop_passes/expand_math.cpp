#include "loop_passes/expand_math.h"

#include "expr/expand.h"
#include "loop_passes/body.h"

namespace pto::loop_passes {
namespace {

Expr transformed(const Expr& e) { return form_fma(expand_all_math(promote_halves(e))); }

// An fma is a step of a contraction, whose factors are expressions of their own.
Expr step_or_expression(const Expr& e) {
  if (e.op() == Op::Select && e.arg(1).op() == Op::Fma)
    return with_args(e, {transformed(e.arg(0)), step_or_expression(e.arg(1)), transformed(e.arg(2))});
  if (e.op() != Op::Fma || is_half(e.type())) return transformed(e);
  Exprs args;
  for (const auto& a : e.args()) args.push_back(transformed(a));
  return with_args(e, std::move(args));
}

class Expander {
 public:
  explicit Expander(const LoopProgram& p) : names_(p) {}

  Stmts body(const Stmts& stmts) {
    Stmts out;
    for (const auto& s : stmts) {
      StmtPtr r = with_exprs(s, [&](const Expr& e) { return expanded(out, e); });
      const bool nested = !s->body.empty() || !s->orelse.empty();
      out.push_back(nested ? with_bodies(r, body(s->body), body(s->orelse)) : r);
    }
    return out;
  }

 private:
  Expr expanded(Stmts& out, const Expr& e) {
    if (e.is_const() || e.is_var()) return e;
    const Expr r = step_or_expression(e);
    std::unordered_set<const ExprNode*> added;   // products in sums
    visit(r, [&](const Expr& n) {
      if (!is_float(n.type()) || (n.op() != Op::Add && n.op() != Op::Sub)) return;
      for (const auto& a : n.args())
        if (a.op() == Op::Mul) added.insert(a.get());
    });
    if (added.empty()) return r;
    std::unordered_map<const ExprNode*, Expr> done;
    visit(r, [&](const Expr& n) {
      Exprs args;
      for (const auto& a : n.args()) args.push_back(done.at(a.get()));
      Expr here = with_args(n, std::move(args));
      if (added.count(n.get())) {
        const Symbol name = names_.fresh("product");
        out.push_back(let(name, here));
        here = var(name, here.type(), here.lanes());
      }
      done.emplace(n.get(), std::move(here));
    });
    return done.at(r.get());
  }

  Names names_;
};

}  // namespace

LoopProgram expand_math(const LoopProgram& program, const Target&) {
  return with_body(program, Expander(program).body(program.body));
}

}  // namespace pto::loop_passes
