// Barriers between the nests of a program.
#include "loop/lower_emit.h"

namespace pto::lowering {
namespace {

struct Accesses {
  std::set<Symbol> reads, writes;
};

void collect(const Expr& e, const std::set<Symbol>& shared, Accesses& out) {
  visit(e, [&](const Expr& n) {
    if (n.is_load() && shared.count(n.symbol())) out.reads.insert(n.symbol());
  });
}

void collect(const Stmt& s, const std::set<Symbol>& shared, Accesses& out) {
  for (const auto& child : s.body) collect(*child, shared, out);
  for (const auto& child : s.orelse) collect(*child, shared, out);
  for (const auto& e : {s.lo, s.hi, s.step, s.value, s.mask})
    if (e) collect(e, shared, out);
  for (const auto& e : s.index) collect(e, shared, out);
  if (s.kind == StmtKind::Store && shared.count(s.name)) out.writes.insert(s.name);
}

bool meet(const std::set<Symbol>& a, const std::set<Symbol>& b) {
  for (Symbol s : a)
    if (b.count(s)) return true;
  return false;
}

}  // namespace

Stmts with_barriers(Stmts root, const std::set<Symbol>& shared) {
  Stmts out;
  Accesses open;   // since the last barrier
  for (auto& s : root) {
    Accesses here;
    collect(*s, shared, here);
    if (meet(here.reads, open.writes) || meet(here.writes, open.writes) || meet(here.writes, open.reads)) {
      out.push_back(barrier());
      open = {};
    }
    open.reads.insert(here.reads.begin(), here.reads.end());
    open.writes.insert(here.writes.begin(), here.writes.end());
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace pto::lowering
