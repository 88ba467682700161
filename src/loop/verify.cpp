// Is a loop program well formed? Names are unique and stand after their definitions, types and lanes
// agree, what all workers share is written by one of them at a time.
#include <unordered_map>

#include "base/error.h"
#include "loop/loop.h"

namespace pto {
namespace {

class Verifier {
 public:
  Verifier(const LoopProgram& program, std::string_view where)
      : p_(program), where_(where), parallel_(program.parallel()) {}

  void run() {
    for (Symbol s : p_.sizes) define(s, {Kind::Size, DType::I64});
    for (const auto& p : p_.params) {
      Entry e{Kind::Buffer, p.dtype, 1, p.shape.size(), Scope::Param, p.output};
      define(p.name, e);
      for (const auto& d : p.shape) check_size(d, "the shape of " + p.name.str());
    }
    body(p_.body);
  }

 private:
  enum class Kind { Size, Variable, Buffer };
  struct Entry {
    Kind kind;
    DType type;
    int lanes = 1;                // of a variable
    size_t rank = 0;              // of a buffer
    Scope scope = Scope::Param;
    bool writable = true;
  };

  void require(bool condition, const char* message) const {
    if (!condition) fail(message);
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw InternalError(std::string(where_), "loop program " + p_.name.str() + ": " + message, to_text(p_));
  }

  void define(Symbol name, Entry entry) {
    require(!name.empty(), "a definition without a name");
    if (!names_.emplace(name, entry).second) fail(name.str() + " is defined twice");
    log_.push_back(name);
  }

  void forget_since(size_t mark) {
    for (size_t i = mark; i < log_.size(); i++) names_.erase(log_[i]);
    log_.resize(mark);
  }

  void body(const std::vector<StmtPtr>& stmts) {
    depth_++;
    const size_t mark = log_.size();
    for (const auto& s : stmts) {
      require(s != nullptr, "an empty statement");
      statement(*s);
    }
    forget_since(mark);
    depth_--;
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::Block: body(s.body); break;
      case StmtKind::For: loop(s); break;
      case StmtKind::If:
        expect(s.value, DType::Bool, 1, "a condition");
        body(s.body);
        body(s.orelse);
        break;
      case StmtKind::Let:
        check_expr(s.value, "let " + s.name.str());
        define(s.name, {Kind::Variable, s.value.type(), s.value.lanes()});
        break;
      case StmtKind::Store: store(s); break;
      case StmtKind::Alloc: alloc(s); break;
      case StmtKind::Barrier: require(parallel_depth_ == 0, "a barrier inside a parallel loop"); break;
      case StmtKind::Check:
        expect(s.value, DType::Bool, s.value ? s.value.lanes() : 1, "a check");
        if (s.number < 0 || static_cast<size_t>(s.number) >= p_.messages.size())
          fail("a check names message " + std::to_string(s.number) + " of " +
               std::to_string(p_.messages.size()));
        break;
    }
  }

  void loop(const Stmt& s) {
    const std::string what = "loop " + s.name.str();
    for (const auto& bound : {s.lo, s.hi, s.step}) expect(bound, DType::I64, 1, what);
    if (s.step.is_const() && s.step.as_int() < 1) fail(what + " has a step that is not positive");
    if ((s.for_kind == ForKind::Unrolled || s.for_kind == ForKind::Vector) &&
        !(s.lo.is_const() && s.hi.is_const() && s.step.is_const()))
      fail(what + " is to be unrolled, and its bounds are not constant");
    const bool parallel = s.for_kind == ForKind::Parallel;
    const size_t mark = log_.size();
    define(s.name, {Kind::Variable, DType::I64});
    parallel_depth_ += parallel;
    body(s.body);
    parallel_depth_ -= parallel;
    forget_since(mark);
  }

  void store(const Stmt& s) {
    const std::string what = "the store to " + s.name.str();
    const Entry& to = buffer(s.name, what);
    if (!to.writable) fail(what + " writes an input");
    if (s.index.size() != to.rank) fail(what + " has " + std::to_string(s.index.size()) + " indices");
    int lanes = 1;
    auto operand = [&](const Expr& e, DType type, const std::string& part) {
      expect(e, type, e ? e.lanes() : 1, part);
      if (e.lanes() > 1 && lanes > 1 && e.lanes() != lanes) fail(what + " has operands of unequal lanes");
      lanes = std::max(lanes, e.lanes());
    };
    for (const auto& i : s.index) operand(i, DType::I64, what + ", an index");
    operand(s.value, to.type, what);
    if (s.mask) operand(s.mask, DType::Bool, what + ", its mask");
    const bool common = to.scope == Scope::Param || to.scope == Scope::Shared;
    if (common && parallel_ && parallel_depth_ == 0)
      fail(what + " stands outside of parallel loops: every worker would do it");
  }

  void alloc(const Stmt& s) {
    const std::string what = "alloc " + s.name.str();
    Size elements(1);
    for (const auto& d : s.shape) {
      check_size(d, what);
      elements = elements * d;
    }
    if (s.scope == Scope::Param) fail(what + " has a parameter's scope");
    if (s.scope == Scope::Shared && depth_ > 1) fail(what + " is shared, and not at the top level");
    if (s.scope == Scope::Register && !is_static(simplify(elements)))
      fail(what + " is a register whose size is not constant");
    define(s.name, {Kind::Buffer, s.dtype, 1, s.shape.size(), s.scope});
  }

  const Entry& buffer(Symbol name, const std::string& what) const {
    const auto it = names_.find(name);
    if (it == names_.end() || it->second.kind != Kind::Buffer)
      fail(what + " names " + name.str() + ", which is no buffer there");
    return it->second;
  }

  void expect(const Expr& e, DType type, int lanes, const std::string& what) const {
    if (!e) fail(what + " is empty");
    if (e.type() != type || e.lanes() != lanes)
      fail(what + " must be " + std::string(name(type)) + (lanes == 1 ? "" : " in all lanes") + ", not " +
           std::string(name(e.type())) + " of " + std::to_string(e.lanes()) + " lanes: " + e.str());
    check_expr(e, what);
  }

  void check_size(const Size& size, const std::string& what) const {
    expect(size, DType::I64, 1, what);
    visit(size, [&](const Expr& n) {
      if (n.is_load()) fail(what + " has a size that reads memory: " + n.str());
      if (n.is_var() && names_.at(n.symbol()).kind != Kind::Size)
        fail(what + " has a size that depends on " + n.symbol().str());
    });
  }

  // Every variable and buffer is what it was defined to be.
  void check_expr(const Expr& e, const std::string& what) const {
    if (!e) fail(what + " is empty");
    visit(e, [&](const Expr& n) {
      if (n.is_var()) {
        const auto it = names_.find(n.symbol());
        if (it == names_.end() || it->second.kind == Kind::Buffer)
          fail(what + " uses " + n.symbol().str() + ", which is no variable there");
        if (n.type() != it->second.type || n.lanes() != it->second.lanes)
          fail(what + " uses " + n.symbol().str() + " as " + std::string(name(n.type())) + " of " +
               std::to_string(n.lanes()) + " lanes");
      } else if (n.is_load()) {
        const Entry& from = buffer(n.symbol(), what);
        if (n.type() != from.type) fail(what + " reads " + n.symbol().str() + " as another type");
        if (const size_t count = n.indices().size(); count != from.rank)
          fail(what + " reads " + n.symbol().str() + " with " + std::to_string(count) + " indices");
      }
    });
  }

  const LoopProgram& p_;
  std::string_view where_;
  const bool parallel_;
  std::unordered_map<Symbol, Entry> names_;
  std::vector<Symbol> log_;   // of names_, in order: those of a body are forgotten at its end
  int depth_ = 0, parallel_depth_ = 0;
};

}  // namespace

void verify(const LoopProgram& program, std::string_view where) { Verifier(program, where).run(); }

}  // namespace pto
