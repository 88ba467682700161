#include "expr/expr.h"

#include <unordered_map>

#include "base/error.h"

namespace pto {
namespace {

constexpr std::string_view kWhere = "expr";

constexpr OpInfo kOps[] = {
    {"Const", "const", 0, OpClass::Structural},         {"Var", "var", 0, OpClass::Structural},
    {"Load", "load", -1, OpClass::Structural},          {"LoadIf", "load_if", -1, OpClass::Structural},
    {"Select", "select", 3, OpClass::Structural},       {"Cast", "cast", 1, OpClass::Structural},
    {"Bitcast", "bitcast", 1, OpClass::Structural},     {"Ramp", "ramp", 2, OpClass::Structural},
    {"Broadcast", "broadcast", 1, OpClass::Structural}, {"HReduce", "hreduce", 1, OpClass::Structural},
#define float Float
#define PTO_OP(id, text, arity, cls) {#id, text, arity, OpClass::cls},
#include "expr/ops.def"
#undef PTO_OP
#undef float
};

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<int>(op)]; }

bool op_from_name(std::string_view text, Op& out) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> t;
    for (size_t i = static_cast<size_t>(Op::HReduce) + 1; i < std::size(kOps); i++)
      t.emplace(kOps[i].text, static_cast<Op>(i));
    return t;
  }();
  auto it = table.find(text);
  if (it == table.end()) return false;
  out = it->second;
  return true;
}

Expr make_node(Op op, DType type, int lanes, uint32_t extra, uint64_t bits, Exprs args) {
  auto* node = new ExprNode{op, type, static_cast<uint16_t>(lanes), extra, bits, 0, std::move(args)};
  uint64_t h = hash_combine(static_cast<uint64_t>(op) << 24 | static_cast<uint64_t>(type) << 16 | lanes,
                            hash_combine(extra, bits));
  for (const auto& a : node->args) h = hash_combine(h, a.hash());
  node->hash = h;
  Expr e;
  e.p_ = node;
  e.retain();
  return e;
}

void Expr::release() {
  if (!p_ || p_->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Long chains are taken apart with a list rather than by recursion.
  std::vector<ExprNode*> dead{const_cast<ExprNode*>(p_)};
  p_ = nullptr;
  while (!dead.empty()) {
    ExprNode* node = dead.back();
    dead.pop_back();
    for (auto& a : node->args) {
      if (a.p_ && a.p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
        dead.push_back(const_cast<ExprNode*>(a.p_));
      a.p_ = nullptr;
    }
    delete node;
  }
}

Expr::Expr(int64_t value) : Expr(Scalar::from_int(DType::I64, value)) {}
Expr::Expr(Scalar value) { *this = make_node(Op::Const, value.type, 1, 0, value.bits, {}); }

bool Expr::operator==(const Expr& other) const {
  if (p_ == other.p_) return true;
  if (!p_ || !other.p_ || p_->hash != other.p_->hash) return false;
  return p_->op == other.p_->op && p_->type == other.p_->type && p_->lanes == other.p_->lanes &&
         p_->extra == other.p_->extra && p_->bits == other.p_->bits && p_->args == other.p_->args;
}

Exprs Expr::indices() const {
  const auto& a = args();
  return {a.begin() + (op() == Op::LoadIf ? 2 : 0), a.end()};
}

std::string Expr::str() const { return p_ ? to_text(*this) : "<none>"; }

Expr var(Symbol name, DType type, int lanes) { return make_node(Op::Var, type, lanes, name.id(), 0, {}); }
Expr var(std::string_view name, DType type, int lanes) { return var(Symbol(name), type, lanes); }

namespace {

int index_lanes(const Exprs& indices, int lanes = 1) {
  for (const auto& i : indices) {
    PTO_CHECK(i && i.type() == DType::I64, "expr", "a load's index must be i64");
    PTO_CHECK(i.lanes() == 1 || lanes == 1 || i.lanes() == lanes, "expr", "indices of unequal lanes");
    lanes = std::max(lanes, i.lanes());
  }
  return lanes;
}

// Scalars among vector operands are broadcast.
int unify_lanes(Exprs& args) {
  int lanes = 1;
  for (const auto& a : args) {
    PTO_CHECK(a.lanes() == 1 || lanes == 1 || a.lanes() == lanes, "expr",
              "operands of unequal lanes: " + a.str());
    lanes = std::max(lanes, a.lanes());
  }
  if (lanes > 1)
    for (auto& a : args)
      if (a.lanes() == 1) a = broadcast(a, lanes);
  return lanes;
}

}  // namespace

Expr load(Symbol buffer, DType type, Exprs indices) {
  const int lanes = index_lanes(indices);
  return make_node(Op::Load, type, lanes, buffer.id(), 0, std::move(indices));
}

Expr load_if(Symbol buffer, DType type, Expr predicate, Expr other, Exprs indices) {
  int lanes = index_lanes(indices, predicate.lanes());
  lanes = std::max(lanes, other.lanes());
  PTO_CHECK(predicate.type() == DType::Bool && other.type() == type, "expr",
            "load_if needs a bool predicate and an `other` of the loaded type");
  Exprs args{broadcast(predicate, lanes), broadcast(other, lanes)};
  for (auto& i : indices) args.push_back(std::move(i));
  return make_node(Op::LoadIf, type, lanes, buffer.id(), 0, std::move(args));
}

Expr make(Op op, Exprs args) {
  const OpInfo& o = info(op);
  PTO_CHECK(o.cls != OpClass::Structural, "expr", "make() is for plain operations");
  PTO_CHECK(static_cast<int>(args.size()) == o.arity, "expr",
            std::string(o.text) + " takes " + std::to_string(o.arity) + " operands");
  for (const auto& a : args) {
    PTO_CHECK(a, "expr", "an empty operand of " + std::string(o.text));
    PTO_CHECK(a.type() == args[0].type(), "expr",
              std::string(o.text) + " of " + std::string(name(args[0].type())) + " and " +
                  std::string(name(a.type())) + ": " + args[0].str() + ", " + a.str());
  }
  const DType type = args[0].type();
  if (o.cls == OpClass::bits) PTO_CHECK(!is_float(type), "expr", std::string(o.text) + " of a floating type");
  if (o.cls == OpClass::Float || o.cls == OpClass::math)
    PTO_CHECK(is_float(type), "expr", std::string(o.text) + " of " + std::string(name(type)));
  const int lanes = unify_lanes(args);
  return make_node(op, o.cls == OpClass::cmp ? DType::Bool : type, lanes, 0, 0, std::move(args));
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  PTO_CHECK(condition.type() == DType::Bool && then.type() == otherwise.type(), "expr",
            "select(" + condition.str() + ", " + then.str() + ", " + otherwise.str() + ")");
  Exprs args{std::move(condition), std::move(then), std::move(otherwise)};
  const int lanes = unify_lanes(args);
  const DType type = args[1].type();
  return make_node(Op::Select, type, lanes, 0, 0, std::move(args));
}

Expr cast(DType type, Expr value) {
  if (value.type() == type) return value;
  const int lanes = value.lanes();
  return make_node(Op::Cast, type, lanes, 0, 0, {std::move(value)});
}

Expr bitcast(DType type, Expr value) {
  if (value.type() == type) return value;
  PTO_CHECK(size_of(type) == size_of(value.type()), "expr", "bitcast between widths");
  const int lanes = value.lanes();
  return make_node(Op::Bitcast, type, lanes, 0, 0, {std::move(value)});
}

Expr ramp(Expr base, Expr stride, int lanes) {
  PTO_CHECK(base.lanes() == 1 && stride.lanes() == 1 && base.type() == stride.type(), "expr", "ramp");
  if (lanes == 1) return base;
  const DType type = base.type();
  return make_node(Op::Ramp, type, lanes, 0, 0, {std::move(base), std::move(stride)});
}

Expr broadcast(Expr scalar, int lanes) {
  if (scalar.lanes() == lanes) return scalar;
  PTO_CHECK(scalar.lanes() == 1, "expr", "broadcast of a vector");
  const DType type = scalar.type();
  return make_node(Op::Broadcast, type, lanes, 0, 0, {std::move(scalar)});
}

Expr hreduce(Op op, Expr vector) {
  if (vector.lanes() == 1) return vector;
  PTO_CHECK(info(op).arity == 2 && info(op).cls != OpClass::cmp && !is_math(op), "expr",
            "hreduce's operation");
  const DType type = vector.type();
  return make_node(Op::HReduce, type, 1, static_cast<uint32_t>(op), 0, {std::move(vector)});
}

Expr constant(DType type, double value) { return Expr(Scalar::from_double(type, value)); }
Expr constant_like(const Expr& like, double value) {
  return broadcast(constant(like.type(), value), like.lanes());
}

Expr with_args(const Expr& e, Exprs args) {
  bool same = args.size() == e.args().size();
  for (size_t i = 0; same && i < args.size(); i++) same = args[i].get() == e.arg(i).get();
  if (same) return e;
  switch (e.op()) {
    case Op::Load: return load(e.symbol(), e.type(), std::move(args));
    case Op::LoadIf: {
      Expr p = args[0], o = args[1];
      args.erase(args.begin(), args.begin() + 2);
      return load_if(e.symbol(), e.type(), p, o, std::move(args));
    }
    case Op::Select: return select(args[0], args[1], args[2]);
    case Op::Cast: return cast(e.type(), args[0]);
    case Op::Bitcast: return bitcast(e.type(), args[0]);
    case Op::Ramp: return ramp(args[0], args[1], e.lanes());
    case Op::Broadcast: return broadcast(args[0], e.lanes());
    case Op::HReduce: return hreduce(e.reduce_op(), args[0]);
    case Op::Const:
    case Op::Var: return e;
    default: return make(e.op(), std::move(args));
  }
}

Expr operator+(const Expr& a, const Expr& b) { return make(Op::Add, {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return make(Op::Sub, {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return make(Op::Mul, {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return make(Op::Div, {a, b}); }
Expr operator&(const Expr& a, const Expr& b) { return make(Op::And, {a, b}); }
Expr operator|(const Expr& a, const Expr& b) { return make(Op::Or, {a, b}); }
Expr operator<(const Expr& a, const Expr& b) { return make(Op::Lt, {a, b}); }
Expr operator<=(const Expr& a, const Expr& b) { return make(Op::Le, {a, b}); }
Expr floordiv(const Expr& a, const Expr& b) { return make(Op::FloorDiv, {a, b}); }
Expr mod(const Expr& a, const Expr& b) { return make(Op::Mod, {a, b}); }
Expr min(const Expr& a, const Expr& b) { return make(Op::Min, {a, b}); }
Expr max(const Expr& a, const Expr& b) { return make(Op::Max, {a, b}); }
Expr equal(const Expr& a, const Expr& b) { return make(Op::Eq, {a, b}); }

namespace {

// The nodes of a walk, numbered in the order in which they are added. Most walks are short, and fit
// into what stands on the stack.
class NodeNumbers {
 public:
  // The node's number; a new one if `is_new`.
  int add(const ExprNode* node, bool& is_new) {
    if (2 * (count_ + 1) > capacity_) grow();
    Slot& slot = find(node);
    is_new = !slot.node;
    if (is_new) slot = {node, count_++};
    return slot.number;
  }
  int of(const ExprNode* node) { return find(node).number; }

 private:
  struct Slot {
    const ExprNode* node = nullptr;
    int number = 0;
  };
  static constexpr int kFew = 64;

  Slot& find(const ExprNode* node) {
    size_t at = (reinterpret_cast<uintptr_t>(node) * 0x9E3779B97F4A7C15ull) >> 32;
    for (;; at++) {
      Slot& slot = slots_[at & static_cast<size_t>(capacity_ - 1)];
      if (!slot.node || slot.node == node) return slot;
    }
  }

  void grow() {
    std::vector<Slot> larger(static_cast<size_t>(capacity_) * 4);
    Slot* old = slots_;
    const int n = capacity_;
    capacity_ *= 4;
    slots_ = larger.data();
    for (int i = 0; i < n; i++)
      if (old[i].node) find(old[i].node) = old[i];
    many_.swap(larger);
  }

  Slot few_[kFew];
  std::vector<Slot> many_;
  Slot* slots_ = few_;
  int capacity_ = kFew, count_ = 0;   // a power of two
};

// Calls f(node, its number) in post-order, with an explicit stack: expressions may be as deep as they
// like.
template <class F>
void walk(const Expr& root, NodeNumbers& numbers, F f) {
  struct Open {
    const Expr* e;
    size_t next;
  };
  bool is_new = false;
  std::vector<Open> stack{{&root, 0}};
  numbers.add(root.get(), is_new);
  while (!stack.empty()) {
    Open& top = stack.back();
    if (top.next < top.e->args().size()) {
      const Expr& child = top.e->arg(top.next++);
      numbers.add(child.get(), is_new);
      if (is_new) stack.push_back({&child, 0});
    } else {
      const Expr& done = *top.e;
      stack.pop_back();
      f(done, numbers.of(done.get()));
    }
  }
}

}  // namespace

void visit(const Expr& root, const std::function<void(const Expr&)>& f) {
  if (!root) return;
  const Expr alive = root;
  if (alive.args().empty()) return f(alive);
  NodeNumbers numbers;
  walk(alive, numbers, [&](const Expr& e, int) { f(e); });
}

Expr rewrite(const Expr& root, const std::function<Expr(const Expr&)>& f) {
  if (!root) return root;
  const Expr alive = root;
  if (alive.args().empty()) return f(alive);
  NodeNumbers numbers;
  std::vector<Expr> results;   // by number
  walk(alive, numbers, [&](const Expr& e, int number) {
    Exprs args;
    args.reserve(e.args().size());
    for (const auto& a : e.args()) args.push_back(results[static_cast<size_t>(numbers.of(a.get()))]);
    if (results.size() <= static_cast<size_t>(number)) results.resize(static_cast<size_t>(number) + 16);
    results[static_cast<size_t>(number)] = f(with_args(e, std::move(args)));
  });
  return results[static_cast<size_t>(numbers.of(alive.get()))];
}

Expr substitute(const Expr& e, const Substitution& vars) {
  if (vars.empty()) return e;
  return rewrite(e, [&](const Expr& n) {
    if (n.op() != Op::Var) return n;
    auto it = vars.find(n.symbol());
    return it == vars.end() ? n : it->second;
  });
}

bool uses_var(const Expr& e, Symbol name) {
  bool found = false;
  visit(e, [&](const Expr& n) { found |= n.op() == Op::Var && n.symbol() == name; });
  return found;
}

size_t count_nodes(const Expr& e) {
  size_t n = 0;
  visit(e, [&](const Expr&) { n++; });
  return n;
}

}  // namespace pto
