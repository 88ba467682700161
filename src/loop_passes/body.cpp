#include "loop_passes/body.h"

#include <iterator>

namespace pto::passes {

void append(Stmts& to, Stmts from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void for_each_expr(const Stmt& s, const std::function<void(const Expr&)>& f) {
  for (const Expr* e : {&s.lo, &s.hi, &s.step, &s.value, &s.mask})
    if (*e) f(*e);
  for (const auto& i : s.index) f(i);
  for (const auto& d : s.shape) f(d);
}

StmtPtr with_exprs(const StmtPtr& s, const ExprMap& f) {
  bool changed = false;
  const auto map = [&](const Expr& e) {
    if (!e) return e;
    Expr r = f(e);
    changed |= r.get() != e.get();
    return r;
  };
  Expr lo = map(s->lo), hi = map(s->hi), step = map(s->step), value = map(s->value), mask = map(s->mask);
  Exprs index;
  Shape shape;
  for (const auto& i : s->index) index.push_back(map(i));
  for (const auto& d : s->shape) shape.push_back(map(d));
  if (!changed) return s;
  if (s->kind == StmtKind::Store)
    return store(s->name, std::move(index), std::move(value), std::move(mask), s->loc);
  Stmt copy = *s;
  copy.lo = std::move(lo);
  copy.hi = std::move(hi);
  copy.step = std::move(step);
  copy.value = std::move(value);
  copy.shape = std::move(shape);
  return std::make_shared<const Stmt>(std::move(copy));
}

StmtPtr with_bodies(const StmtPtr& s, Stmts body, Stmts orelse) {
  if (body == s->body && orelse == s->orelse) return s;
  Stmt copy = *s;
  copy.body = std::move(body);
  copy.orelse = std::move(orelse);
  return std::make_shared<const Stmt>(std::move(copy));
}

LoopProgram with_body(const LoopProgram& p, Stmts body) {
  LoopProgram out = p;
  out.body = std::move(body);
  return out;
}

void for_each_stmt(const Stmts& body, const std::function<void(const Stmt&)>& f) {
  for (const auto& s : body) {
    f(*s);
    for_each_stmt(s->body, f);
    for_each_stmt(s->orelse, f);
  }
}

Expr renamed_node(const Expr& e, const Renaming& names) {
  if (e.is_var()) {
    const auto it = names.vars.find(e.symbol());
    return it == names.vars.end() ? e : it->second;
  }
  if (!e.is_load() || names.buffers.empty()) return e;
  const auto it = names.buffers.find(e.symbol());
  if (it == names.buffers.end()) return e;
  if (e.op() == Op::Load) return load(it->second, e.type(), e.indices());
  return load_if(it->second, e.type(), e.arg(0), e.arg(1), e.indices());
}

bool binds(const Stmt& s) {
  return s.kind == StmtKind::For || s.kind == StmtKind::Let || s.kind == StmtKind::Alloc;
}

Names::Names(const LoopProgram& p) {
  for (Symbol s : p.sizes) used_.insert(s);
  for (const auto& param : p.params) used_.insert(param.name);
  for_each_stmt(p.body, [&](const Stmt& s) {
    if (binds(s)) used_.insert(s.name);
  });
}

Symbol Names::fresh(const std::string& base) {
  int& n = counts_[base];
  for (;; n++) {
    const Symbol name(n == 0 ? base : base + "." + std::to_string(n));
    if (add(name)) return name;
  }
}

}  // namespace pto::passes
