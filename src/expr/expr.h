#pragma once
// Scalar expressions: one language for symbolic sizes, the bodies of tile values, and the
// expressions of loop programs. Immutable, shared, compared by structure.
//
// What the operations mean, for every evaluator and every generated program:
// - Evaluation is pure; operands are evaluated in any order; both arms of `select` may be
//   evaluated (nothing traps). A Load outside its buffer is a compiler bug; LoadIf reads only
//   where its predicate holds, and gives its `other` elsewhere.
// - Integers wrap. `//` and `%` floor as in Python; x // 0 = 0, x % 0 = 0, INT_MIN // -1 wraps;
//   `/` is for floating types only. Float `//` is floor(x / y), `%` has the sign of y.
// - Shl and Shr: a count of the type's width or more gives 0 (or the sign, for signed Shr); counts
//   are read as unsigned. Shr is arithmetic exactly for signed types.
// - Floating operations round to nearest even, once each; halves compute in float32 and round.
//   Min and Max give NaN if either operand is NaN; max(-0, +0) is either zero.
//   Lt, Le, Eq with a NaN are false, Ne is true. Round is to nearest even.
//   NaN payloads and signs are unspecified. No operation depends on the floating environment.
// - On bool: Add and Max are "or", Mul and Min are "and", Lt is "not a and b"; Not is logical.
// - Cast rounds to nearest even; float to integer saturates, NaN gives 0; to bool is != 0.
// - Fma is a single rounding. Nothing else is ever fused.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/scalar.h"
#include "base/symbol.h"
#include "base/text.h"

namespace pto {

enum class Op : uint8_t {
  Const,      // value()
  Var,        // symbol(): a size, an axis, a loop variable, a let
  Load,       // symbol(): a buffer or a value; args: indices (i64)
  LoadIf,     // the same; args: predicate, other, then indices
  Select,     // condition, then, else
  Cast,       // to type()
  Bitcast,    // to type(), of the same width
  Ramp,       // base, base + stride, ...; args: base, stride (scalars); lanes()
  Broadcast,  // one scalar in every lane
  HReduce,    // combines the lanes of a vector in a fixed tree: halves, quarters, ...; reduce_op()
#define PTO_OP(id, text, arity, cls) id,
#include "expr/ops.def"
#undef PTO_OP
};

enum class OpClass : uint8_t { Structural, arith, bits, cmp, Float, math };

struct OpInfo {
  std::string_view id, text;
  int arity;  // -1: it varies
  OpClass cls;
};
const OpInfo& info(Op op);
// By text or, for the functions, by name; false if there is none.
bool op_from_name(std::string_view text, Op& out);
inline bool is_math(Op op) { return info(op).cls == OpClass::math; }

class Expr;

struct ExprNode {
  Op op;
  DType type;
  uint16_t lanes;
  uint32_t extra;       // a Symbol's id, or an HReduce's Op
  uint64_t bits;        // a Const's value
  uint64_t hash;        // of the structure; stable within a process
  std::vector<Expr> args;
  mutable std::atomic<uint32_t> refs{0};
};

class Expr {
 public:
  Expr() = default;
  Expr(int64_t value);               // NOLINT: an i64 constant reads well in size arithmetic
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}  // NOLINT
  explicit Expr(Scalar value);
  Expr(const Expr& other) noexcept : p_(other.p_) { retain(); }
  Expr(Expr&& other) noexcept : p_(other.p_) { other.p_ = nullptr; }
  Expr& operator=(Expr other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Expr() { release(); }

  explicit operator bool() const { return p_ != nullptr; }
  const ExprNode* get() const { return p_; }

  Op op() const { return p_->op; }
  DType type() const { return p_->type; }
  int lanes() const { return p_->lanes; }
  const std::vector<Expr>& args() const { return p_->args; }
  const Expr& arg(size_t i) const { return p_->args[i]; }
  Symbol symbol() const { return Symbol::from_id(p_->extra); }
  Op reduce_op() const { return static_cast<Op>(p_->extra); }
  Scalar value() const { return {p_->type, p_->bits}; }
  uint64_t hash() const { return p_->hash; }

  bool is_const() const { return p_->op == Op::Const; }
  bool is_const(int64_t v) const { return is_const() && !is_float(type()) && value().to_int() == v; }
  bool is_var() const { return p_->op == Op::Var; }
  bool is_load() const { return p_->op == Op::Load || p_->op == Op::LoadIf; }
  // The indices of a Load or LoadIf.
  std::vector<Expr> indices() const;
  int64_t as_int() const { return value().to_int(); }

  // Structural equality.
  bool operator==(const Expr& other) const;

  std::string str() const;

 private:
  friend Expr make_node(Op, DType, int, uint32_t, uint64_t, std::vector<Expr>);
  void retain() const {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void release();
  const ExprNode* p_ = nullptr;
};

using Exprs = std::vector<Expr>;
struct ExprHash {
  size_t operator()(const Expr& e) const { return e ? e.hash() : 0; }
};

// --- construction: every maker checks its operands' types and lanes (InternalError) -------------
// Of a let, with the lanes of its value.
Expr var(Symbol name, DType type = DType::I64, int lanes = 1);
Expr var(std::string_view name, DType type = DType::I64, int lanes = 1);
Expr load(Symbol buffer, DType type, Exprs indices);
Expr load_if(Symbol buffer, DType type, Expr predicate, Expr other, Exprs indices);
Expr make(Op op, Exprs args);  // any operation of ops.def
Expr select(Expr condition, Expr then, Expr otherwise);
Expr cast(DType type, Expr value);
Expr bitcast(DType type, Expr value);
Expr ramp(Expr base, Expr stride, int lanes);
Expr broadcast(Expr scalar, int lanes);
Expr hreduce(Op op, Expr vector);
// A constant of `like`'s type and lanes.
Expr constant_like(const Expr& like, double value);
Expr constant(DType type, double value);
// The same node with other operands (the same number); `e` itself if nothing changed.
Expr with_args(const Expr& e, Exprs args);

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
inline Expr operator>(const Expr& a, const Expr& b) { return b < a; }
inline Expr operator>=(const Expr& a, const Expr& b) { return b <= a; }
Expr floordiv(const Expr& a, const Expr& b);
Expr mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr equal(const Expr& a, const Expr& b);

// --- walks ------------------------------------------------------------------------------------
// Bottom-up rebuild: `f` gets each node with its operands already rebuilt. Shared nodes are
// visited once.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f);
using Substitution = std::unordered_map<Symbol, Expr>;
Expr substitute(const Expr& e, const Substitution& vars);
// Each distinct node once, operands first.
void visit(const Expr& e, const std::function<void(const Expr&)>& f);
bool uses_var(const Expr& e, Symbol name);
size_t count_nodes(const Expr& e);

// --- text -------------------------------------------------------------------------------------
// Infix for arithmetic and comparisons, calls for the rest; constants other than i64 and bool
// name their type: f32(0.5). Variables and buffers get their types from `types` when parsing.
std::string to_text(const Expr& e);
struct VarType {
  DType type;
  int lanes;
  VarType(DType type, int lanes = 1) : type(type), lanes(lanes) {}  // NOLINT: most have one lane
};
using TypeOf = std::function<VarType(Symbol)>;
Expr parse_expr(Lexer& in, const TypeOf& types);

}  // namespace pto
