// Expressions in C: operators where C means the same, functions of the prelude elsewhere.
#include <algorithm>
#include <functional>

#include "base/error.h"
#include "codegen/c_family/render.h"

namespace pto::c_family {
namespace {

constexpr const char* kWhere = "codegen/c_family";

// How tightly C's operators bind.
constexpr int kPrimary = 16, kUnary = 15, kProduct = 13, kSum = 12, kOrder = 10, kEquality = 9, kAnd = 8,
              kXor = 7, kOr = 6, kTernary = 3;

int binding_of(const std::string& op) {
  if (op == "*" || op == "/" || op == "%") return kProduct;
  if (op == "+" || op == "-") return kSum;
  if (op == "<" || op == "<=") return kOrder;
  if (op == "==" || op == "!=") return kEquality;
  return op == "&" ? kAnd : op == "^" ? kXor : kOr;
}

}  // namespace

// Text that may stand twice.
bool Renderer::is_short(const Expr& e) const {
  switch (e.op()) {
    case Op::Const:
    case Op::Var: return true;
    case Op::Broadcast: return is_short(e.arg(0));
    case Op::Ramp: return is_index(e) && count_nodes(e) <= 8;
    default: return is_index(e) && e.type() == DType::I64 && count_nodes(e) <= 5;
  }
}

bool Renderer::is_index(const Expr& e) const {
  if (e.type() != DType::I64) return false;
  switch (e.op()) {
    case Op::Const: return true;
    case Op::Var: return index_vars_.count(e.symbol()) > 0;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Ramp:
    case Op::Broadcast:
      for (const auto& a : e.args())
        if (!is_index(a)) return false;
      return true;
    default: return false;
  }
}

bool Renderer::not_negative(const Expr& e) const {
  switch (e.op()) {
    case Op::Const: return e.as_int() >= 0;
    case Op::Var: return natural_vars_.count(e.symbol()) > 0;
    case Op::Max: return is_index(e) && (not_negative(e.arg(0)) || not_negative(e.arg(1)));
    case Op::Add:
    case Op::Mul:
    case Op::Min:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Ramp:
    case Op::Broadcast:
      for (const auto& a : e.args())
        if (!not_negative(a)) return false;
      return is_index(e);
    default: return false;
  }
}

void Renderer::name_node(const Expr& e, const char* base) {
  const std::string name = fresh(base), value = fresh_text(e).text;
  line("const " + std::string(c_type(e.type())) + " " + name + " = " + value + ";");
  named_[e.get()] = name;
}

// Lanes that are combined stand in an array; nodes used in several places get a name. In a loop over
// lanes the nodes of one lane that read or compute are named before it.
void Renderer::prepare(const Exprs& roots) {
  std::unordered_map<const ExprNode*, int> uses;
  bool lanes = false;
  for (const auto& root : roots) {
    alive_.push_back(root);
    uses[root.get()]++;
    lanes |= root.lanes() > 1;
    visit(root, [&](const Expr& e) {
      for (const auto& a : e.args()) uses[a.get()]++;
    });
  }
  for (const auto& root : roots)
    visit(root, [&](const Expr& e) {
      if (e.lanes() > 1 || named_.count(e.get()) || is_short(e)) return;
      const bool of_all_lanes = lanes && !(is_index(e) && e.type() == DType::I64);
      if (uses.at(e.get()) < 2 && !of_all_lanes && e.op() != Op::HReduce) return;
      if (e.op() == Op::HReduce) {
        const std::string array = lanes_array(e.arg(0)), name = fresh("all");
        line("const " + std::string(c_type(e.type())) + " " + name + " = " +
             prelude_.hreduce(e.reduce_op(), e.type()) + "(" + array + ", " +
             std::to_string(e.arg(0).lanes()) + ");");
        named_[e.get()] = name;
      } else if (e.get() != root.get() || lanes) {
        name_node(e, "t");
      }
    });
}

// Inside the loop over lanes; what has one lane was prepared before it.
void Renderer::prepare_lanes(const Exprs& roots) {
  std::unordered_map<const ExprNode*, int> uses;
  Exprs order;
  const std::function<void(const Expr&)> count = [&](const Expr& e) {
    if (e.lanes() == 1 || named_.count(e.get()) || uses[e.get()]++ > 0) return;
    for (const auto& a : e.args()) count(a);
    order.push_back(e);
  };
  for (const auto& root : roots) count(root);
  for (const auto& e : order)
    if (uses.at(e.get()) > 1 && !is_short(e)) name_node(e, "v");
}

void Renderer::done() {
  named_.clear();
  alive_.clear();
}

std::string Renderer::scalar(const Expr& e) {
  prepare({e});
  return text(e);
}

std::string Renderer::lanes_array(const Expr& e) {
  const std::string name = fresh("lanes");
  line(std::string(c_type(e.type())) + " " + name + "[" + std::to_string(e.lanes()) + "];");
  const auto outside = named_;
  prepare({e});
  for_lanes(e.lanes(), [&] {
    const auto before = named_;
    prepare_lanes({e});
    line(name + "[lane] = " + text(e) + ";");
    named_ = before;
  });
  named_ = outside;
  return name;
}

std::string Renderer::text(const Expr& e) { return render(e).text; }

std::string Renderer::within(const Expr& e, int binding) {
  const Text t = render(e);
  return t.binding < binding ? "(" + t.text + ")" : t.text;
}

Renderer::Text Renderer::render(const Expr& e) {
  const auto it = named_.find(e.get());
  return it != named_.end() ? Text{it->second, kPrimary} : fresh_text(e);
}

std::string Renderer::element(Symbol buffer, DType type, const std::string& index) {
  const std::string at = c_name(buffer) + "[" + index + "]";
  return type == DType::Bool ? "(" + at + " != 0)" : at;
}

Renderer::Text Renderer::fresh_text(const Expr& e) {
  switch (e.op()) {
    case Op::Const: {
      const std::string s = literal(e.value());
      return {s, s[0] == '-' || s[0] == '(' ? kUnary : kPrimary};
    }
    case Op::Var: return {c_name(e.symbol()) + (e.lanes() > 1 ? "[lane]" : ""), kPrimary};
    case Op::Broadcast: return render(e.arg(0));
    case Op::Ramp: {
      if (!is_index(e)) {
        const Text base = render(e.arg(0)), stride = render(e.arg(1));
        const std::string type(c_type(e.type())),
            steps = is_float(e.type())
                        ? "(" + type + ")lane * " + within(e.arg(1), kUnary)
                        : prelude_.op(Op::Mul, e.type()) + "((" + type + ")lane, " + stride.text + ")";
        if (is_float(e.type())) return {within(e.arg(0), kSum) + " + " + steps, kSum};
        return {prelude_.op(Op::Add, e.type()) + "(" + base.text + ", " + steps + ")", kPrimary};
      }
      const std::string steps = e.arg(1).is_const(1) ? "lane" : "lane * " + within(e.arg(1), kUnary);
      if (e.arg(0).is_const(0)) return {steps, e.arg(1).is_const(1) ? kPrimary : kProduct};
      return {within(e.arg(0), kSum) + " + " + steps, kSum};
    }
    case Op::Load: return {element(e.symbol(), e.type(), text(e.arg(0))), kPrimary};
    case Op::LoadIf:
      return {within(e.arg(0), kTernary + 1) + " ? " + element(e.symbol(), e.type(), text(e.arg(2))) + " : " +
                  within(e.arg(1), kTernary),
              kTernary};
    case Op::Select:
      return {within(e.arg(0), kTernary + 1) + " ? " + within(e.arg(1), kTernary + 1) + " : " +
                  within(e.arg(2), kTernary),
              kTernary};
    case Op::Cast: {
      const DType from = e.arg(0).type(), to = e.type();
      if (const std::string f = prelude_.cast(from, to); !f.empty())
        return {f + "(" + text(e.arg(0)) + ")", kPrimary};
      if (to == DType::Bool) return {within(e.arg(0), kEquality + 1) + " != 0", kEquality};
      return {"(" + std::string(c_type(to)) + ")" + within(e.arg(0), kUnary), kUnary};
    }
    case Op::Bitcast:
      if (is_half(e.type()) && size_of(e.arg(0).type()) == 2 && e.arg(0).type() != DType::I16)
        return render(e.arg(0));
      return {prelude_.bitcast(e.arg(0).type(), e.type()) + "(" + text(e.arg(0)) + ")", kPrimary};
    case Op::HReduce: throw InternalError(kWhere, "lanes that were not prepared: " + e.str());
    default: return operation(e);
  }
}

Renderer::Text Renderer::operation(const Expr& e) {
  const DType type = e.arg(0).type();
  if (is_index(e)) {
    if (e.op() == Op::Add) return binary(e, "+", kSum);
    if (e.op() == Op::Sub) return binary(e, "-", kSum);
    if (e.op() == Op::Mul) return binary(e, "*", kProduct);
    const bool divides = e.op() == Op::FloorDiv || e.op() == Op::Mod;
    if (divides && e.arg(1).is_const() && e.arg(1).as_int() > 0 && not_negative(e.arg(0)))
      return binary(e, e.op() == Op::Mod ? "%" : "/", kProduct);
  }
  if (type == DType::Bool && e.op() == Op::Not) return {"!" + within(e.arg(0), kUnary), kUnary};
  if (is_float(type) && e.op() == Op::Neg) return {"-" + within(e.arg(0), kUnary + 1), kUnary};
  if (const std::string op = c_operator(e.op(), type); !op.empty()) return binary(e, op, binding_of(op));
  std::string f = c_function(e.op(), type);
  if (f.empty()) f = prelude_.op(e.op(), type);
  f += "(";
  for (size_t i = 0; i < e.args().size(); i++) f += (i ? ", " : "") + text(e.arg(i));
  return {f + ")", kPrimary};
}

Renderer::Text Renderer::binary(const Expr& e, const std::string& op, int binding) {
  // Comparisons and bits inside one another stand in parentheses, for readers and compilers alike.
  const int left = binding <= kEquality ? kSum : binding;
  return {within(e.arg(0), left) + " " + op + " " + within(e.arg(1), std::max(left, binding + 1)), binding};
}

}  // namespace pto::c_family
