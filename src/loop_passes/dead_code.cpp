#include "loop_passes/dead_code.h"

#include "loop_passes/body.h"
#include "loop_passes/unique_names.h"

namespace pto::passes {
namespace {

class Sweeper {
 public:
  explicit Sweeper(const LoopProgram& p) {
    for (const auto& param : p.params) used_.insert(param.name);
    // A buffer may be read in an earlier statement of a loop than it is written in.
    for_each_stmt(p.body, [&](const Stmt& s) { for_each_expr(s, [&](const Expr& e) { add(e, true); }); });
  }

  // Backwards, so that what only unused names use is unused.
  Stmts body(const Stmts& stmts) {
    Stmts out;
    for (auto s = stmts.rbegin(); s != stmts.rend(); ++s)
      if (StmtPtr kept = statement(*s)) out.push_back(std::move(kept));
    return {out.rbegin(), out.rend()};
  }

 private:
  StmtPtr statement(const StmtPtr& s) {
    switch (s->kind) {
      case StmtKind::Let:
      case StmtKind::Store:
      case StmtKind::Alloc:
        if (!used_.count(s->name)) return nullptr;
        break;
      case StmtKind::For:
      case StmtKind::If:
      case StmtKind::Block: {
        Stmts orelse = body(s->orelse);
        Stmts first = body(s->body);
        if (first.empty() && orelse.empty()) return nullptr;
        for_each_expr(*s, [&](const Expr& e) { add(e, false); });
        return with_bodies(s, std::move(first), std::move(orelse));
      }
      default: break;
    }
    for_each_expr(*s, [&](const Expr& e) { add(e, false); });
    return s;
  }

  void add(const Expr& e, bool buffers) {
    if (e.is_const()) return;
    visit(e, [&](const Expr& n) {
      if (buffers ? n.is_load() : n.is_var()) used_.insert(n.symbol());
    });
  }

  std::unordered_set<Symbol> used_;
};

}  // namespace

LoopProgram dead_code(const LoopProgram& program, const Target&) {
  const LoopProgram p = unique_names(program);
  return with_body(p, Sweeper(p).body(p.body));
}

}  // namespace pto::passes
