#include "loop_passes/vectorise.h"

#include "loop_passes/body.h"
#include "loop_passes/fold.h"
#include "loop_passes/unique_names.h"

namespace pto::passes {
namespace {

constexpr int64_t kMostLanes = 64;

class Vectoriser {
 public:
  Vectoriser(const Stmt& loop, Names& names) : loop_(loop), fresh_(names) {
    const int64_t span = loop.hi.as_int() - loop.lo.as_int(), step = loop.step.as_int();
    lanes_ = span <= 0 ? 0 : (span + step - 1) / step;
  }

  // False: the loop must stay serial.
  bool run(Stmts& out) {
    if (lanes_ == 0) return true;
    if (lanes_ > kMostLanes) return false;
    const Expr index = lanes_ == 1 ? loop_.lo : ramp(loop_.lo, loop_.step, static_cast<int>(lanes_));
    names_.vars[loop_.name] = index;
    out = body(loop_.body, {});
    if (lanes_ > 1) possible_ &= lanes_apart();
    return possible_;
  }

 private:
  Stmts body(const Stmts& stmts, const Expr& mask) {
    Stmts out;
    for (const auto& s : stmts) {
      if (!possible_) break;
      statement(out, *s, mask);
    }
    return out;
  }

  void statement(Stmts& out, const Stmt& s, const Expr& mask) {
    switch (s.kind) {
      case StmtKind::Let: {
        const Expr value = expr(s.value, mask);
        out.push_back(let(s.name, value));
        names_.vars[s.name] = var(s.name, value.type(), value.lanes());
        return;
      }
      case StmtKind::Store: {
        Exprs index;
        for (const auto& i : s.index) index.push_back(expr(i, mask));
        Expr m = s.mask ? expr(s.mask, mask) : Expr();
        if (mask) m = m ? m & mask : mask;
        stores_.push_back({s.name, index});
        out.push_back(store(s.name, lanes_of(index), expr(s.value, mask), m, s.loc));
        return;
      }
      case StmtKind::If: {
        const Expr condition = expr(s.value, mask);
        if (condition.lanes() == 1) {
          out.push_back(if_then(condition, body(s.body, mask), body(s.orelse, mask), s.loc));
          return;
        }
        // By name: what stands under it may change what it reads.
        const Symbol name = fresh_.fresh("holds");
        out.push_back(let(name, condition));
        const Expr holds = var(name, DType::Bool, condition.lanes()), fails = make(Op::Not, {holds});
        append(out, body(s.body, mask ? mask & holds : holds));
        append(out, body(s.orelse, mask ? mask & fails : fails));
        return;
      }
      case StmtKind::For: {
        const Expr lo = expr(s.lo, mask), hi = expr(s.hi, mask), step = expr(s.step, mask);
        possible_ &= lo.lanes() == 1 && hi.lanes() == 1 && step.lanes() == 1;
        if (possible_) out.push_back(for_loop(s.for_kind, s.name, lo, hi, step, body(s.body, mask), s.loc));
        return;
      }
      case StmtKind::Block: append(out, body(s.body, mask)); return;
      case StmtKind::Check: {
        Expr holds = expr(s.value, mask);
        if (mask) holds = holds | make(Op::Not, {mask});
        out.push_back(check(holds, s.number, s.loc));
        return;
      }
      case StmtKind::Alloc:
      case StmtKind::Barrier: possible_ = false; return;
    }
  }

  // In lanes; what is read under a condition of the lanes is read where it holds.
  Expr expr(const Expr& root, const Expr& mask) {
    bool vectors = false;
    visit(root, [&](const Expr& e) { vectors |= e.lanes() > 1 || e.op() == Op::HReduce; });
    possible_ &= !vectors;
    if (!possible_) return root;
    return rewrite(root, [&](const Expr& e) {
      if (!e.is_load()) return fold_node(renamed_node(e, names_));
      loads_.push_back({e.symbol(), e.indices()});
      if (!mask) return e;
      const Expr wanted = e.op() == Op::LoadIf ? e.arg(0) & mask : mask;
      const Expr other = e.op() == Op::LoadIf ? e.arg(1) : constant(e.type(), 0);
      return load_if(e.symbol(), e.type(), wanted, other, e.indices());
    });
  }

  Exprs lanes_of(Exprs index) const {
    if (!index.empty() && lanes_ > 1)
      for (const auto& i : index)
        if (i.lanes() > 1) return index;
    // One place: the last lane's value stays, as in the loop.
    if (!index.empty()) index[0] = broadcast(index[0], static_cast<int>(lanes_));
    return index;
  }

  struct Access {
    Symbol buffer;
    Exprs index;
  };

  // What is stored is read or stored elsewhere in the loop at the same place only, and that is another
  // place in each lane.
  bool lanes_apart() const {
    for (const auto& s : stores_) {
      size_t met = 0;
      for (const auto* list : {&loads_, &stores_})
        for (const auto& a : *list) {
          if (a.buffer != s.buffer) continue;
          met++;
          if (a.index != s.index) return false;
        }
      bool apart = false;
      for (const auto& i : s.index) apart |= i.op() == Op::Ramp;  // its stride is not 0
      for (const auto& i : s.index)
        apart &= i.op() != Op::Ramp || (i.arg(1).is_const() && !i.arg(1).is_const(0));
      if (met > 1 && !apart) return false;
    }
    return true;
  }

  const Stmt& loop_;
  Names& fresh_;
  int64_t lanes_;
  bool possible_ = true;
  Renaming names_;
  std::vector<Access> loads_, stores_;
};

Stmts in_lanes(const Stmts& stmts, Names& names) {
  Stmts out;
  for (const auto& s : stmts) {
    StmtPtr r = s->body.empty() && s->orelse.empty()
                    ? s
                    : with_bodies(s, in_lanes(s->body, names), in_lanes(s->orelse, names));
    if (s->kind != StmtKind::For || s->for_kind != ForKind::Vector) {
      out.push_back(std::move(r));
      continue;
    }
    Stmts lanes;
    if (Vectoriser(*r, names).run(lanes)) {
      append(out, std::move(lanes));
      continue;
    }
    Stmt serial = *r;
    serial.for_kind = ForKind::Serial;
    out.push_back(std::make_shared<const Stmt>(std::move(serial)));
  }
  return out;
}

}  // namespace

LoopProgram vectorise(const LoopProgram& program, const Target&) {
  const LoopProgram p = unique_names(program);
  Names names(p);
  return with_body(p, in_lanes(p.body, names));
}

}  // namespace pto::passes
