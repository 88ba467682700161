#include "loop_passes/expand_math.h"

#include "loop/transform.h"
#include "loop_passes/body.h"

namespace pto::passes {
namespace {

// Operands that several nodes use. Text writes them out at each use, so that the large ones of nested
// functions must have names, lest it grow with the power of the depth.
class Repeats {
 public:
  explicit Repeats(const Expr& root) {
    visit(root, [&](const Expr& n) {
      double size = 1;
      for (const auto& a : n.args()) {
        uses_[a.get()]++;
        size += size_.at(a.get());
      }
      size_[n.get()] = size;
    });
    any_ = size_.at(root.get()) > kLarge;
    size_.clear();
  }

  bool any() const { return any_; }

  // Does the node, its own operands renamed, need a name? To be asked for operands first.
  bool take(const Expr& n, const Expr& renamed) {
    double size = 1;
    for (const auto& a : renamed.args()) size += size_of(a);
    const bool needs = size > kLarge && uses_[n.get()] > 1;
    if (!needs) size_[renamed.get()] = size;
    return needs;
  }

 private:
  static constexpr double kLarge = 64;  // nodes

  double size_of(const Expr& renamed) const {
    const auto it = size_.find(renamed.get());
    return it == size_.end() ? 1 : it->second;
  }

  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, double> size_;
  bool any_ = false;
};

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
    Repeats repeats(r);
    if (added.empty() && !repeats.any()) return r;
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
      } else if (repeats.take(n, here)) {
        const Symbol name = names_.fresh("shared");
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

}  // namespace pto::passes
