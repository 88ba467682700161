#include "loop_passes/expand_math.h"

#include "loop/transform.h"
#include "loop_passes/body.h"

namespace pto::passes {
namespace {

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
    const Expr r = as_computed(e);
    std::unordered_map<Expr, Expr, ExprHash> added;  // products in sums, and their names
    visit(r, [&](const Expr& n) {
      if (!is_float(n.type()) || (n.op() != Op::Add && n.op() != Op::Sub)) return;
      for (const auto& a : n.args()) {
        const Expr& one = a.op() == Op::Broadcast ? a.arg(0) : a;
        if (one.op() == Op::Mul) added.emplace(one, Expr());
      }
    });
    if (added.empty()) return r;
    std::unordered_map<const ExprNode*, Expr> done;
    visit(r, [&](const Expr& n) {
      const auto product = added.find(n);
      if (product != added.end() && product->second) {
        done.emplace(n.get(), product->second);
        return;
      }
      Exprs args;
      for (const auto& a : n.args()) args.push_back(done.at(a.get()));
      Expr here = with_args(n, std::move(args));
      if (product != added.end()) {
        const Symbol name = names_.fresh("product");
        out.push_back(let(name, here));
        here = product->second = var(name, here.type(), here.lanes());
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

}  // namespace pto::passes
