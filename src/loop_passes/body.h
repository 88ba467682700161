#pragma once
// What the passes share: statements rebuilt with other expressions or bodies, and new names.
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "loop/loop.h"

namespace pto::passes {

using Stmts = std::vector<StmtPtr>;
using ExprMap = std::function<Expr(const Expr&)>;

void append(Stmts& to, Stmts from);

// The expressions of a statement itself, those of its body excluded.
void for_each_expr(const Stmt& s, const std::function<void(const Expr&)>& f);
// The statement with each of them replaced; itself if none changes.
StmtPtr with_exprs(const StmtPtr& s, const ExprMap& f);
StmtPtr with_bodies(const StmtPtr& s, Stmts body, Stmts orelse);
LoopProgram with_body(const LoopProgram& p, Stmts body);

// Every statement, outer ones first.
void for_each_stmt(const Stmts& body, const std::function<void(const Stmt&)>& f);

// Where a name stands for another expression, or a buffer for another buffer.
struct Renaming {
  Substitution vars;
  std::unordered_map<Symbol, Symbol> buffers;
  bool empty() const { return vars.empty() && buffers.empty(); }
};
// One node, its operands renamed already.
Expr renamed_node(const Expr& e, const Renaming& names);

// Names that a program uses, and new ones beside them.
class Names {
 public:
  explicit Names(const LoopProgram& p);
  Symbol fresh(const std::string& base);  // base, base.1, base.2, ...
  bool add(Symbol name) { return used_.insert(name).second; }

 private:
  std::unordered_set<Symbol> used_;
  std::unordered_map<std::string, int> counts_;
};

// Does the statement bind its name: a loop, a let, an alloc?
bool binds(const Stmt& s);

}  // namespace pto::passes
