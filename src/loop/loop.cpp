// Makers of statements: each checks what can be checked without knowing the program around it.
#include "loop/loop.h"

#include <algorithm>

#include "base/error.h"

namespace pto {
namespace {

constexpr const char* kWhere = "loop";

void check_scalar(const Expr& e, DType type, const std::string& what) {
  PTO_CHECK(e && e.type() == type && e.lanes() == 1, kWhere,
            what + " must be one " + std::string(name(type)) + ", not " + e.str());
}

void check_body(const std::vector<StmtPtr>& body) {
  for (const auto& s : body) PTO_CHECK(s, kWhere, "an empty statement in a body");
}

bool has_parallel(const std::vector<StmtPtr>& body) {
  return std::any_of(body.begin(), body.end(), [](const StmtPtr& s) {
    return s && ((s->kind == StmtKind::For && s->for_kind == ForKind::Parallel) || has_parallel(s->body) ||
                 has_parallel(s->orelse));
  });
}

StmtPtr finish(Stmt s) { return std::make_shared<const Stmt>(std::move(s)); }

}  // namespace

StmtPtr block(std::vector<StmtPtr> body) {
  check_body(body);
  Stmt s{StmtKind::Block};
  s.body = std::move(body);
  return finish(std::move(s));
}

StmtPtr for_loop(ForKind kind, Symbol var, Expr lo, Expr hi, Expr step, std::vector<StmtPtr> body, Loc loc) {
  PTO_CHECK(!var.empty(), kWhere, "a loop without a variable");
  for (const auto& bound : {lo, hi, step}) check_scalar(bound, DType::I64, "a bound of loop " + var.str());
  PTO_CHECK(!step.is_const() || step.as_int() > 0, kWhere,
            "the step of loop " + var.str() + " must be positive, not " + step.str());
  check_body(body);
  Stmt s{StmtKind::For};
  s.loc = loc;
  s.for_kind = kind;
  s.name = var;
  s.lo = std::move(lo);
  s.hi = std::move(hi);
  s.step = std::move(step);
  s.body = std::move(body);
  return finish(std::move(s));
}

StmtPtr if_then(Expr condition, std::vector<StmtPtr> then, std::vector<StmtPtr> orelse, Loc loc) {
  check_scalar(condition, DType::Bool, "a condition");
  check_body(then);
  check_body(orelse);
  Stmt s{StmtKind::If};
  s.loc = loc;
  s.value = std::move(condition);
  s.body = std::move(then);
  s.orelse = std::move(orelse);
  return finish(std::move(s));
}

StmtPtr let(Symbol name, Expr value) {
  PTO_CHECK(!name.empty() && value, kWhere, "a let without a name or a value");
  Stmt s{StmtKind::Let};
  s.name = name;
  s.value = std::move(value);
  return finish(std::move(s));
}

// A scalar among vectors is the same in all lanes.
StmtPtr store(Symbol buffer, Exprs index, Expr value, Expr mask, Loc loc) {
  PTO_CHECK(!buffer.empty() && value, kWhere, "a store without a buffer or a value");
  const std::string what = "the store to " + buffer.str();
  PTO_CHECK(!mask || mask.type() == DType::Bool, kWhere, what + " has a mask that is not bool");
  int lanes = std::max(value.lanes(), mask ? mask.lanes() : 1);
  for (const auto& i : index) {
    PTO_CHECK(i && i.type() == DType::I64, kWhere, what + " has an index that is not i64: " + i.str());
    lanes = std::max(lanes, i.lanes());
  }
  for (const auto& i : index)
    PTO_CHECK(i.lanes() == 1 || i.lanes() == lanes, kWhere, what + " has indices of unequal lanes");
  PTO_CHECK(value.lanes() == 1 || value.lanes() == lanes, kWhere, what + " has a value of other lanes");
  PTO_CHECK(!mask || mask.lanes() == 1 || mask.lanes() == lanes, kWhere, what + " has a mask of other lanes");
  Stmt s{StmtKind::Store};
  s.loc = loc;
  s.name = buffer;
  s.index = std::move(index);
  s.value = broadcast(std::move(value), lanes);
  if (mask) s.mask = broadcast(std::move(mask), lanes);
  return finish(std::move(s));
}

StmtPtr alloc(Symbol name, DType dtype, Shape shape, Scope scope) {
  PTO_CHECK(!name.empty() && scope != Scope::Param, kWhere, "an alloc without a name or a scope of its own");
  for (const auto& d : shape) check_scalar(d, DType::I64, "a size of " + name.str());
  Stmt s{StmtKind::Alloc};
  s.name = name;
  s.dtype = dtype;
  s.shape = std::move(shape);
  s.scope = scope;
  return finish(std::move(s));
}

StmtPtr barrier() { return finish(Stmt{StmtKind::Barrier}); }

StmtPtr check(Expr condition, int number, Loc loc) {
  PTO_CHECK(condition && condition.type() == DType::Bool, kWhere,
            "a check must be bool, not " + condition.str());
  PTO_CHECK(number >= 0, kWhere, "a check with a negative number");
  Stmt s{StmtKind::Check};
  s.loc = loc;
  s.value = std::move(condition);
  s.number = number;
  return finish(std::move(s));
}

bool LoopProgram::parallel() const { return has_parallel(body); }

}  // namespace pto
