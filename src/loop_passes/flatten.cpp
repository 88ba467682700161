#include "loop_passes/flatten.h"

#include "base/error.h"
#include "loop_passes/body.h"
#include "loop_passes/fold.h"

namespace pto::passes {
namespace {

class Flattener {
 public:
  explicit Flattener(const LoopProgram& p) {
    for (const auto& param : p.params) add(param.name, param.shape);
    for_each_stmt(p.body, [&](const Stmt& s) {
      if (s.kind == StmtKind::Alloc) add(s.name, s.shape);
    });
  }

  Stmts body(const Stmts& stmts) const {
    Stmts out;
    for (const auto& s : stmts) out.push_back(statement(s));
    return out;
  }

 private:
  StmtPtr statement(const StmtPtr& s) const {
    if (s->kind == StmtKind::Alloc)
      return s->shape.size() == 1 ? s : alloc(s->name, s->dtype, {product(s->shape)}, s->scope);
    StmtPtr r =
        with_exprs(s, [&](const Expr& e) { return rewrite(e, [&](const Expr& n) { return access(n); }); });
    if (s->kind == StmtKind::Store && s->index.size() != 1)
      r = store(s->name, {flat(s->name, r->index)}, r->value, r->mask, r->loc);
    return s->body.empty() && s->orelse.empty() ? r : with_bodies(r, body(s->body), body(s->orelse));
  }

  Expr access(const Expr& e) const {
    if (!e.is_load() || e.args().size() == (e.op() == Op::Load ? 1 : 3)) return e;
    const Expr index = flat(e.symbol(), e.indices());
    if (e.op() == Op::Load) return load(e.symbol(), e.type(), {index});
    return load_if(e.symbol(), e.type(), e.arg(0), e.arg(1), {index});
  }

  Expr flat(Symbol buffer, const Exprs& index) const {
    const auto& strides = strides_.at(buffer);
    PTO_CHECK(strides.size() == index.size(), "loop_passes/flatten",
              "an access to " + buffer.str() + " has " + std::to_string(index.size()) + " indices");
    Expr total;
    for (size_t d = 0; d < index.size(); d++) {
      const Expr part = fold_node(index[d] * strides[d]);
      total = total ? fold_node(total + part) : part;
    }
    return total ? total : Expr(0);
  }

  void add(Symbol buffer, const Shape& shape) { strides_[buffer] = row_major_strides(shape); }

  std::unordered_map<Symbol, std::vector<Size>> strides_;
};

}  // namespace

LoopProgram flatten(const LoopProgram& program, const Target&) {
  LoopProgram out = with_body(program, Flattener(program).body(program.body));
  for (auto& p : out.params)
    if (p.shape.size() != 1) p.shape = {product(p.shape)};
  return out;
}

}  // namespace pto::passes
