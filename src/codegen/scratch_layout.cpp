// Where allocs stand in the scratch memory of a program.
#include "base/error.h"
#include "codegen/codegen.h"

namespace pto {
namespace {

constexpr int64_t kAlignment = 64;

class Layout {
 public:
  // Blocks inside begin where what is alive around them ends, and share that memory with one another.
  void visit(const std::vector<StmtPtr>& body, Size shared, Size local) {
    for (const auto& s : body) {
      if (s->kind == StmtKind::Alloc && s->scope != Scope::Register) {
        Size& at = s->scope == Scope::Shared ? shared : local;
        result.offsets.emplace_back(s->name, at);
        at = simplify(at + bytes(*s));
      }
      visit(s->body, shared, local);
      visit(s->orelse, shared, local);
    }
    grow(result.shared_bytes, shared);
    grow(result.private_bytes, local);
  }

  ScratchLayout result{Expr(0), Expr(0), {}};

 private:
  static Size bytes(const Stmt& s) {
    const Size exact = product(s.shape) * Expr(size_of(s.dtype));
    return simplify(ceil_div(exact, Expr(kAlignment)) * Expr(kAlignment));
  }

  static void grow(Size& size, const Size& to) {
    if (prove_less(to, size + Expr(1)) == true) return;
    size = prove_less(size, to + Expr(1)) == true ? to : simplify(max(size, to));
  }
};

}  // namespace

ScratchLayout scratch_layout(const LoopProgram& program) {
  Layout layout;
  layout.visit(program.body, Expr(0), Expr(0));
  return layout.result;
}

}  // namespace pto
