// Text of loop programs, both ways.
#include <algorithm>
#include <unordered_map>

#include "loop/loop.h"

namespace pto {
namespace {

constexpr int kMaxDepth = 256;   // of nested statements in a text

constexpr std::pair<std::string_view, ForKind> kLoops[] = {{"for", ForKind::Serial},
                                                           {"parallel", ForKind::Parallel},
                                                           {"unroll", ForKind::Unrolled},
                                                           {"vector", ForKind::Vector}};
constexpr std::pair<std::string_view, Scope> kScopes[] = {
    {"shared", Scope::Shared}, {"private", Scope::Private}, {"register", Scope::Register}};

template <class Table, class Value>
std::string keyword(const Table& table, Value value) {
  for (const auto& [text, v] : table)
    if (v == value) return std::string(text);
  return "<none>";
}

std::string list(const Exprs& exprs) {
  std::string out;
  for (size_t i = 0; i < exprs.size(); i++) out += (i ? ", " : "") + exprs[i].str();
  return out;
}

std::string typed(Symbol name, DType type, const Shape& shape) {
  return name.str() + ": " + std::string(pto::name(type)) + shape_text(shape);
}

// What is missing in a wrong program is printed as <none>.
class Printer {
 public:
  std::string out;

  void body(const std::vector<StmtPtr>& stmts, int indent) {
    for (const auto& s : stmts) {
      out.append(static_cast<size_t>(indent), ' ');
      if (s) {
        statement(*s, indent);
      } else {
        out += "<none>";
      }
      out += "\n";
    }
  }

  // Without the margin before it and the end of line after it.
  void statement(const Stmt& s, int indent) {
    switch (s.kind) {
      case StmtKind::Block: braces(s.body, indent); break;
      case StmtKind::For:
        out += keyword(kLoops, s.for_kind) + " " + s.name.str() + " in " + s.lo.str() + " .. " + s.hi.str();
        if (!s.step.is_const(1)) out += " step " + s.step.str();
        out += " ";
        braces(s.body, indent);
        break;
      case StmtKind::If:
        out += "if " + s.value.str() + " ";
        braces(s.body, indent);
        if (s.orelse.empty()) break;
        out += " else ";
        if (s.orelse.size() == 1 && s.orelse[0] && s.orelse[0]->kind == StmtKind::If) {
          statement(*s.orelse[0], indent);
        } else {
          braces(s.orelse, indent);
        }
        break;
      case StmtKind::Let: out += "let " + s.name.str() + " = " + s.value.str(); break;
      case StmtKind::Store:
        out += s.name.str() + "[" + list(s.index) + "] = " + s.value.str();
        if (s.mask) out += " if " + s.mask.str();
        break;
      case StmtKind::Alloc:
        out += "alloc " + typed(s.name, s.dtype, s.shape) + " " + keyword(kScopes, s.scope);
        break;
      case StmtKind::Barrier: out += "barrier"; break;
      case StmtKind::Check: out += "check " + s.value.str() + ", " + std::to_string(s.number); break;
    }
  }

 private:
  void braces(const std::vector<StmtPtr>& stmts, int indent) {
    out += "{\n";
    body(stmts, indent + 2);
    out.append(static_cast<size_t>(indent), ' ');
    out += "}";
  }
};

class Parser {
 public:
  explicit Parser(Lexer& in) : in_(in) {}

  LoopProgram parse() {
    in_.expect("loop");
    p_.name = Symbol(in_.name());
    if (in_.accept("[")) {
      while (!in_.accept("]")) {
        if (!p_.sizes.empty()) in_.expect(",");
        p_.sizes.push_back(define(in_.name(), DType::I64));
      }
    }
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!p_.params.empty()) in_.expect(",");
      param();
    }
    in_.expect("{");
    while (!in_.accept("}")) {
      if (const bool message = names_string("message"); message || names_string("because")) {
        in_.next();
        (message ? p_.messages : p_.because).push_back(in_.string());
      } else {
        p_.body.push_back(statement());
      }
    }
    return std::move(p_);
  }

 private:
  bool names_string(std::string_view word) { return in_.at(word) && in_.peek(1).kind == Token::String; }

  // Names must be new; those of a body are forgotten at its end.
  Symbol define(const std::string& name, VarType type) {
    const Symbol symbol(name);
    if (!types_.emplace(symbol, type).second) in_.fail("'" + name + "' is defined twice");
    log_.push_back(symbol);
    return symbol;
  }

  Expr expr() {
    return parse_expr(in_, [this](Symbol s) {
      const auto it = types_.find(s);
      if (it == types_.end()) in_.fail("unknown name '" + s.str() + "'");
      return it->second;
    });
  }

  Expr scalar(DType type, const char* what) {
    Expr e = expr();
    if (e.type() != type || e.lanes() != 1)
      in_.fail(std::string(what) + " must be one " + std::string(name(type)));
    return e;
  }

  DType type() {
    if (in_.peek().kind != Token::Name || !dtype_from_name(in_.peek().text)) in_.fail("expected a type");
    return *dtype_from_name(in_.next().text);
  }

  Shape shape() {
    Shape out;
    in_.expect("[");
    while (!in_.accept("]")) {
      if (!out.empty()) in_.expect(",");
      out.push_back(scalar(DType::I64, "a size"));
    }
    return out;
  }

  void param() {
    LoopParam p;
    p.output = in_.at("out") && in_.peek(1).kind == Token::Name;
    if (p.output) in_.next();
    const std::string name = in_.name();
    in_.expect(":");
    p.dtype = type();
    p.shape = shape();
    p.name = define(name, p.dtype);
    p_.params.push_back(std::move(p));
  }

  std::vector<StmtPtr> body() {
    if (++depth_ > kMaxDepth) in_.fail("statements nested too deeply");
    const size_t mark = log_.size();
    std::vector<StmtPtr> out;
    in_.expect("{");
    while (!in_.accept("}")) out.push_back(statement());
    forget_since(mark);
    depth_--;
    return out;
  }

  void forget_since(size_t mark) {
    for (size_t i = mark; i < log_.size(); i++) types_.erase(log_[i]);
    log_.resize(mark);
  }

  // No statement but a store begins with a name and a bracket: buffers may be called as they like.
  StmtPtr statement() {
    if (in_.at("{")) return block(body());
    if (in_.peek().kind == Token::Name && in_.peek(1).kind == Token::Punct && in_.peek(1).text == "[")
      return store_to();
    for (const auto& [text, kind] : kLoops)
      if (in_.accept(text)) return loop(kind);
    if (in_.accept("if")) return branch();
    if (in_.accept("let")) {
      const std::string name = in_.name();
      in_.expect("=");
      const Expr value = expr();
      return let(define(name, {value.type(), value.lanes()}), value);
    }
    if (in_.accept("alloc")) {
      const std::string name = in_.name();
      in_.expect(":");
      const DType dtype = type();
      Shape dims = shape();
      for (const auto& [text, scope] : kScopes)
        if (in_.accept(text)) return alloc(define(name, dtype), dtype, std::move(dims), scope);
      in_.fail("expected shared, private or register");
    }
    if (in_.accept("barrier")) return barrier();
    if (in_.accept("check")) {
      const Expr condition = expr();
      if (condition.type() != DType::Bool) in_.fail("a check must be bool");
      in_.expect(",");
      const int64_t number = in_.integer();
      if (number < 0 || number > 1 << 20) in_.fail("bad number of a message");
      return check(condition, static_cast<int>(number));
    }
    in_.fail("expected a statement");
  }

  StmtPtr loop(ForKind kind) {
    const std::string name = in_.name();
    in_.expect("in");
    const Expr lo = scalar(DType::I64, "a bound");
    in_.expect("..");
    const Expr hi = scalar(DType::I64, "a bound");
    const Expr step = in_.accept("step") ? scalar(DType::I64, "a step") : Expr(1);
    if (step.is_const() && step.as_int() < 1) in_.fail("a step must be positive");
    const size_t mark = log_.size();
    const Symbol var = define(name, DType::I64);
    std::vector<StmtPtr> inside = body();
    forget_since(mark);
    return for_loop(kind, var, lo, hi, step, std::move(inside));
  }

  StmtPtr branch() {
    if (++depth_ > kMaxDepth) in_.fail("statements nested too deeply");
    const Expr condition = scalar(DType::Bool, "a condition");
    std::vector<StmtPtr> then = body(), orelse;
    if (in_.accept("else")) {
      if (in_.accept("if")) {
        orelse.push_back(branch());
      } else {
        orelse = body();
      }
    }
    depth_--;
    return if_then(condition, std::move(then), std::move(orelse));
  }

  // A mask stands on the line on which its store begins: the next one may begin an if.
  StmtPtr store_to() {
    const int line = in_.peek().line;
    const std::string name = in_.name();
    int lanes = 1;
    auto operand = [&](Expr e) {
      if (e.lanes() > 1 && lanes > 1 && e.lanes() != lanes) in_.fail("a store of unequal lanes");
      lanes = std::max(lanes, e.lanes());
      return e;
    };
    in_.expect("[");
    Exprs index;
    while (!in_.accept("]")) {
      if (!index.empty()) in_.expect(",");
      index.push_back(operand(expr()));
      if (index.back().type() != DType::I64) in_.fail("an index must be i64");
    }
    in_.expect("=");
    Expr value = operand(expr()), mask;
    if (in_.at("if") && in_.peek().line == line) {
      in_.next();
      mask = operand(expr());
      if (mask.type() != DType::Bool) in_.fail("a mask must be bool");
    }
    return store(Symbol(name), std::move(index), std::move(value), std::move(mask));
  }

  Lexer& in_;
  LoopProgram p_;
  std::unordered_map<Symbol, VarType> types_;
  std::vector<Symbol> log_;   // of types_, in order
  int depth_ = 0;
};

}  // namespace

std::string to_text(const StmtPtr& stmt, int indent) {
  Printer p;
  p.body({stmt}, indent);
  return std::move(p.out);
}

std::string to_text(const LoopProgram& program) {
  std::string out = "loop " + program.name.str();
  for (size_t i = 0; i < program.sizes.size(); i++) out += (i ? ", " : "[") + program.sizes[i].str();
  out += program.sizes.empty() ? "(" : "](";
  for (size_t i = 0; i < program.params.size(); i++) {
    const LoopParam& p = program.params[i];
    out += std::string(i ? ", " : "") + (p.output ? "out " : "") + typed(p.name, p.dtype, p.shape);
  }
  Printer p;
  p.out = std::move(out) + ") {\n";
  p.body(program.body, 2);
  for (const auto& m : program.messages) p.out += "  message " + quote(m) + "\n";
  for (const auto& b : program.because) p.out += "  because " + quote(b) + "\n";
  return std::move(p.out) + "}\n";
}

LoopProgram parse_loop(Lexer& in) { return Parser(in).parse(); }

}  // namespace pto
