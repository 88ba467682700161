#include "loop_passes/hoist.h"

#include <algorithm>

#include "loop_passes/body.h"
#include "loop_passes/fold.h"
#include "loop_passes/unique_names.h"

namespace pto::passes {
namespace {

constexpr int kPinned = 1 << 20;  // reads memory: stays in its statement

class Hoister {
 public:
  explicit Hoister(const LoopProgram& p) : names_(p) {
    for (Symbol s : p.sizes) home_[s] = 0;
  }

  Stmts run(const Stmts& stmts) { return body(stmts, false, {}); }

 private:
  // A body that is being written; those around it are not finished either.
  struct Frame {
    Stmts out;
    bool is_loop = false;
    std::unordered_map<Expr, Expr, ExprHash> named;
  };

  Stmts body(const Stmts& stmts, bool is_loop, Symbol var) {
    frames_.emplace_back();
    const size_t here = frames_.size() - 1;
    frames_[here].is_loop = is_loop;
    if (!var.empty()) home_[var] = static_cast<int>(here);
    for (const auto& s : stmts) {
      StmtPtr r = s->kind == StmtKind::Alloc ? s : with_exprs(s, [&](const Expr& e) { return expr(e); });
      if (s->kind == StmtKind::Let) home_[s->name] = static_cast<int>(here);
      if (!s->body.empty() || !s->orelse.empty()) {
        const bool loop = s->kind == StmtKind::For;
        Stmts first = body(s->body, loop, loop ? s->name : Symbol());
        r = with_bodies(r, std::move(first), s->orelse.empty() ? Stmts{} : body(s->orelse, false, {}));
      }
      frames_[here].out.push_back(std::move(r));
    }
    Stmts out = std::move(frames_[here].out);
    frames_.pop_back();
    return out;
  }

  Expr expr(const Expr& root) {
    if (root.is_const() || root.is_var()) return root;
    std::unordered_map<const ExprNode*, Expr> done;
    return moved(root, done);
  }

  // The innermost frame of the variables of `e`.
  int home(const Expr& e) {
    if (e.is_const()) return 0;
    if (e.is_var()) {
      const auto it = home_.find(e.symbol());
      return it == home_.end() ? kPinned : it->second;
    }
    if (e.is_load()) return kPinned;
    const auto it = homes_.find(e);
    if (it != homes_.end()) return it->second;
    int h = 0;
    for (const auto& a : e.args()) h = std::max(h, home(a));
    homes_.emplace(e, h);
    return h;
  }

  // Is there a loop between the frame and the statement at hand?
  bool leaves_loop(int frame) const {
    for (size_t f = static_cast<size_t>(frame) + 1; f < frames_.size(); f++)
      if (frames_[f].is_loop) return true;
    return false;
  }

  Expr moved(const Expr& e, std::unordered_map<const ExprNode*, Expr>& done) {
    if (e.is_const() || e.is_var()) return e;
    const auto it = done.find(e.get());
    if (it != done.end()) return it->second;
    Expr r = e;
    const bool integer = !is_float(e.type()) && e.lanes() == 1 && info(e.op()).cls != OpClass::Structural;
    if (integer && home(e) < kPinned && leaves_loop(home(e))) {
      r = named(e);
    } else if (integer && e.type() == DType::I64 && (e.op() == Op::Add || e.op() == Op::Sub)) {
      r = regrouped(e, done);
    } else {
      Exprs args;
      for (const auto& a : e.args()) args.push_back(moved(a, done));
      r = with_args(e, std::move(args));
    }
    done.emplace(e.get(), r);
    return r;
  }

  // Terms of outer loops first; each partial sum that is complete outside of a loop gets a name.
  Expr regrouped(const Expr& e, std::unordered_map<const ExprNode*, Expr>& done) {
    Sum sum = sum_of(e);
    std::stable_sort(sum.terms.begin(), sum.terms.end(),
                     [&](const auto& a, const auto& b) { return home(a.first) < home(b.first); });
    Sum total;
    for (size_t i = 0; i < sum.terms.size();) {
      const int h = home(sum.terms[i].first);
      const bool outside = h < kPinned && leaves_loop(h);
      const size_t first = i;
      for (; i < sum.terms.size() && home(sum.terms[i].first) == h; i++) {
        const Expr& term = sum.terms[i].first;
        total.terms.emplace_back(outside ? term : moved(term, done), sum.terms[i].second);
      }
      const bool trivial =
          total.terms.size() == 1 && total.terms[0].second == 1 && total.terms[0].first.is_var();
      if (outside && first < i && !trivial) {
        const Expr part = sum_expr(total);
        total.terms = {{part.is_const() ? part : named(part), 1}};
      }
    }
    total.constant = sum.constant;
    return sum_expr(total);
  }

  Expr named(const Expr& e) {
    const int h = home(e);
    Frame& frame = frames_[static_cast<size_t>(h)];
    const auto it = frame.named.find(e);
    if (it != frame.named.end()) return it->second;
    // Its parts may belong further out.
    std::unordered_map<const ExprNode*, Expr> done;
    const size_t inner = frames_.size();
    std::vector<Frame> set_aside;
    for (size_t f = static_cast<size_t>(h) + 1; f < inner; f++) set_aside.push_back(std::move(frames_[f]));
    frames_.resize(static_cast<size_t>(h) + 1);
    const Expr value = moved(e, done);
    for (auto& f : set_aside) frames_.push_back(std::move(f));
    Expr name = value;
    if (!value.is_var() && !value.is_const()) {
      const Symbol symbol = names_.fresh(e.type() == DType::Bool ? "holds" : "at");
      home_[symbol] = h;
      name = var(symbol, value.type(), value.lanes());
      frames_[static_cast<size_t>(h)].out.push_back(let(symbol, value));
    }
    frames_[static_cast<size_t>(h)].named.emplace(e, name);
    return name;
  }

  Names names_;
  std::vector<Frame> frames_;
  std::unordered_map<Symbol, int> home_;           // the frame that binds a variable
  std::unordered_map<Expr, int, ExprHash> homes_;  // of expressions; names are unique
};

}  // namespace

LoopProgram hoist(const LoopProgram& program, const Target&) {
  const LoopProgram p = unique_names(program);
  return with_body(p, Hoister(p).run(p.body));
}

}  // namespace pto::passes
