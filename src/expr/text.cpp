// Text of expressions: a precedence climber both ways.
#include <functional>

#include "base/error.h"
#include "expr/expr.h"

namespace pto {
namespace {

// Binding strength of an infix operation; 0 for those written as calls.
int precedence(Op op) {
  switch (op) {
    case Op::Or: return 1;
    case Op::Xor: return 2;
    case Op::And: return 3;
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le: return 4;
    case Op::Shl:
    case Op::Shr: return 5;
    case Op::Add:
    case Op::Sub: return 6;
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod: return 7;
    default: return 0;
  }
}

void print(const Expr& e, int context, std::string& out) {
  auto list = [&](const Exprs& args, size_t from = 0) {
    for (size_t i = from; i < args.size(); i++) {
      if (i > from) out += ", ";
      print(args[i], 0, out);
    }
  };
  switch (e.op()) {
    case Op::Const:
      if (e.type() == DType::I64 || e.type() == DType::Bool) {
        out += e.value().str();
      } else {
        out += std::string(name(e.type())) + "(" + e.value().str() + ")";
      }
      return;
    case Op::Var: out += e.symbol().str(); return;
    case Op::Load:
      out += e.symbol().str() + "[";
      list(e.args());
      out += "]";
      return;
    case Op::LoadIf:
      out += e.symbol().str() + "[";
      list(e.args(), 2);
      out += " if ";
      print(e.arg(0), 0, out);
      out += " else ";
      print(e.arg(1), 0, out);
      out += "]";
      return;
    case Op::Cast:
    case Op::Bitcast:
      out += std::string(info(e.op()).text) + "(" + std::string(name(e.type())) + ", ";
      list(e.args());
      out += ")";
      return;
    case Op::Ramp:
    case Op::Broadcast:
      out += std::string(info(e.op()).text) + "(";
      list(e.args());
      out += ", " + std::to_string(e.lanes()) + ")";
      return;
    case Op::HReduce:
      out += "hreduce(" + std::string(info(e.reduce_op()).id) + ", ";
      list(e.args());
      out += ")";
      return;
    default: break;
  }
  const int own = precedence(e.op());
  if (own == 0) {
    out += std::string(info(e.op()).text) + "(";
    list(e.args());
    out += ")";
    return;
  }
  const bool parens = own < context;
  if (parens) out += "(";
  print(e.arg(0), own == 4 ? own + 1 : own, out);
  out += " " + std::string(info(e.op()).text) + " ";
  print(e.arg(1), own + 1, out);
  if (parens) out += ")";
}

constexpr int kMaxDepth = 1000;    // of nested expressions in a text
constexpr int kMaxChain = 10'000;  // of operations on one level, which nest to the left

class Parser {
 public:
  Parser(Lexer& in, const TypeOf& types) : in_(in), types_(types) {}

  Expr parse(int context) {
    if (++depth_ > kMaxDepth) in_.fail("an expression nested too deeply");
    Expr left = primary();
    for (int length = 0;; length++) {
      if (length > kMaxChain) in_.fail("an expression too long");
      Op op;
      const Token& t = in_.peek();
      if (t.kind != Token::Punct || !op_from_name(t.text, op)) break;
      const int own = precedence(op);
      if (own == 0 || own < context) break;
      in_.next();
      Expr right = parse(own + 1);
      check_pair(left, right);
      left = make(op, {left, right});
    }
    depth_--;
    return left;
  }

 private:
  void check_pair(const Expr& a, const Expr& b) {
    if (a.type() != b.type())
      in_.fail("operands of different types " + std::string(name(a.type())) + " and " +
               std::string(name(b.type())));
  }

  Exprs list(std::string_view end) {
    Exprs args;
    while (!in_.accept(end)) {
      if (!args.empty()) in_.expect(",");
      args.push_back(parse(1));
    }
    return args;
  }

  // A literal's text up to the closing parenthesis: numbers with signs, inf, nan_0x...
  Expr literal(DType type) {
    std::string text;
    while (!in_.at(")")) {
      if (in_.done()) in_.fail("expected ')'");
      text += in_.next().text;
    }
    in_.expect(")");
    Scalar value;
    if (!parse_scalar(text, type, value)) in_.fail("bad " + std::string(name(type)) + " constant " + text);
    return Expr(value);
  }

  Expr primary() {
    if (in_.accept("(")) {
      Expr e = parse(1);
      in_.expect(")");
      return e;
    }
    if (in_.peek().kind == Token::Number || in_.at("-")) return Expr(in_.integer());
    if (in_.accept("true")) return Expr(Scalar::from_bool(true));
    if (in_.accept("false")) return Expr(Scalar::from_bool(false));
    const std::string id = in_.name();
    if (in_.accept("[")) return indexed(id);
    if (in_.accept("(")) return call(id);
    const VarType type = types_(Symbol(id));
    return var(Symbol(id), type.type, type.lanes);
  }

  Expr indexed(const std::string& id) {
    const DType type = types_(Symbol(id)).type;
    Exprs index;
    Expr predicate;
    while (!in_.accept("]")) {
      if (in_.accept("if")) {
        predicate = parse(1);
        in_.expect("else");
        Expr other = parse(1);
        in_.expect("]");
        return load_if(Symbol(id), type, predicate, other, index);
      }
      if (!index.empty()) in_.expect(",");
      index.push_back(parse(1));
    }
    return load(Symbol(id), type, index);
  }

  Expr call(const std::string& id) {
    if (auto type = dtype_from_name(id)) return literal(*type);
    if (id == "cast" || id == "bitcast") {
      auto type = dtype_from_name(in_.name());
      if (!type) in_.fail("expected a type");
      in_.expect(",");
      Expr e = parse(1);
      in_.expect(")");
      return id == "cast" ? cast(*type, e) : bitcast(*type, e);
    }
    if (id == "ramp" || id == "broadcast") {
      Expr base = parse(1), stride;
      in_.expect(",");
      if (id == "ramp") {
        stride = parse(1);
        in_.expect(",");
      }
      const int64_t lanes = in_.integer();
      if (lanes < 1 || lanes > 4096) in_.fail("bad number of lanes");
      in_.expect(")");
      return id == "ramp" ? ramp(base, stride, static_cast<int>(lanes))
                          : broadcast(base, static_cast<int>(lanes));
    }
    if (id == "hreduce") {
      const std::string op_id = in_.name();
      for (size_t i = static_cast<size_t>(Op::HReduce) + 1; i <= static_cast<size_t>(Op::Pow); i++) {
        if (info(static_cast<Op>(i)).id != op_id) continue;
        in_.expect(",");
        Expr e = parse(1);
        in_.expect(")");
        return hreduce(static_cast<Op>(i), e);
      }
      in_.fail("unknown operation " + op_id);
    }
    Exprs args = list(")");
    if (id == "select" && args.size() == 3) {
      check_pair(args[1], args[2]);
      return select(args[0], args[1], args[2]);
    }
    Op op;
    if (!op_from_name(id, op)) in_.fail("unknown function '" + id + "'");
    if (static_cast<int>(args.size()) != info(op).arity)
      in_.fail("'" + id + "' takes " + std::to_string(info(op).arity) + " operands");
    for (const auto& a : args) check_pair(args[0], a);
    return make(op, args);
  }

  Lexer& in_;
  const TypeOf& types_;
  int depth_ = 0;
};

}  // namespace

std::string to_text(const Expr& e) {
  std::string out;
  print(e, 0, out);
  return out;
}

// What the makers refuse is a mistake in the text.
Expr parse_expr(Lexer& in, const TypeOf& types) {
  try {
    return Parser(in, types).parse(1);
  } catch (const InternalError& e) {
    const std::string message = e.what();
    in.fail(message.substr(message.find(": ") + 2));
  }
}

}  // namespace pto
