#include "ops/size_context.h"

#include <algorithm>

#include "expr/eval.h"

namespace pto {
namespace {

thread_local SizeContext* current = nullptr;

void add_guard(const Expr& condition) {
  auto& guards = size_context().guards;
  if (std::find(guards.begin(), guards.end(), condition) == guards.end()) guards.push_back(condition);
}

// The value under the hints, if they cover it.
std::optional<Scalar> hinted(const Expr& e) {
  const Sizes& hints = size_context().hints;
  bool known = true;
  visit(e, [&](const Expr& part) { known = known && (!part.is_var() || hints.count(part.symbol())); });
  if (!known) return std::nullopt;
  EvalEnv env;
  env.var = [&](Symbol s) { return Scalar::from_int(DType::I64, hints.at(s)); };
  return eval_scalar(e, env);
}

std::optional<bool> negated(std::optional<bool> truth) {
  if (truth) truth = !*truth;
  return truth;
}

std::optional<bool> prove(const Expr& e) {
  if (e.is_const()) return e.value().to_bool();
  switch (e.op()) {
    case Op::Eq:
    case Op::Ne: {
      if (e.arg(0).type() != DType::I64) return std::nullopt;
      const auto equal = prove_equal(e.arg(0), e.arg(1));
      return e.op() == Op::Eq ? equal : negated(equal);
    }
    case Op::Lt:
    case Op::Le:
      if (e.arg(0).type() != DType::I64) return std::nullopt;
      return e.op() == Op::Lt ? prove_less(e.arg(0), e.arg(1)) : negated(prove_less(e.arg(1), e.arg(0)));
    case Op::Not: return negated(prove(e.arg(0)));
    case Op::And:
    case Op::Or: {
      const bool decides = e.op() == Op::Or;
      const auto a = prove(e.arg(0)), b = prove(e.arg(1));
      if (a == decides || b == decides) return decides;
      if (a && b) return !decides;
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace

SizeContext& size_context() {
  thread_local SizeContext outermost;
  return current ? *current : outermost;
}

WithSizeContext::WithSizeContext(SizeContext& context) : previous_(current) { current = &context; }
WithSizeContext::~WithSizeContext() { current = previous_; }

bool sizes_agree(const Size& a, const Size& b) {
  if (const auto proved = prove_equal(a, b)) return *proved;
  // One spelling for both orders, so that it is one guard.
  const bool swapped = a.is_const() || (!b.is_const() && to_text(b) < to_text(a));
  const Expr condition = swapped ? equal(b, a) : equal(a, b);
  if (const auto value = hinted(condition); value && !value->to_bool()) return false;
  add_guard(condition);
  return true;
}

std::optional<bool> decide(const Expr& condition) {
  if (const auto proved = prove(condition)) return proved;
  const Expr simple = simplify(condition);
  if (const auto proved = prove(simple)) return proved;
  const auto value = hinted(simple);
  if (!value) return std::nullopt;
  add_guard(value->to_bool() ? simple : make(Op::Not, {simple}));
  return value->to_bool();
}

}  // namespace pto
