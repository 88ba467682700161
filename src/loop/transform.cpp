#include "loop/transform.h"

#include "expr/expand.h"

namespace pto {
namespace {

// Most expressions are indices, of which nothing is transformed.
bool has_float_operations(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& n) { found |= !n.args().empty() && !n.is_load() && is_float(n.arg(0).type()); });
  return found;
}

Expr transformed(const Expr& e) {
  if (!has_float_operations(e)) return e;
  return form_fma(expand_all_math(promote_halves(e)));
}

}  // namespace

Expr as_computed(const Expr& e) {
  // Lanes that do not exist keep an accumulator.
  if (e.op() == Op::Select && e.arg(1).op() == Op::Fma)
    return with_args(e, {transformed(e.arg(0)), as_computed(e.arg(1)), transformed(e.arg(2))});
  if (e.op() != Op::Fma || is_half(e.type())) return transformed(e);
  Exprs args;
  for (const auto& a : e.args()) args.push_back(transformed(a));
  return with_args(e, std::move(args));
}

}  // namespace pto
