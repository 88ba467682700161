#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "codegen/llvm/emit.h"

namespace pto::llvm_codegen {
namespace {

constexpr std::string_view kWhere = "codegen/llvm";
constexpr int kAnalysisDepth = 8;   // analyses of indices give up on what is deeper

// Sums and products of what analyses of indices combine; constants are folded.
Expr combine(Op op, const Expr& x, const Expr& y) {
  if (x.is_const() && y.is_const()) {
    const auto a = static_cast<uint64_t>(x.as_int()), c = static_cast<uint64_t>(y.as_int());
    return Expr(static_cast<int64_t>(op == Op::Add ? a + c : op == Op::Sub ? a - c : a * c));
  }
  if (y.is_const(0) && op != Op::Mul) return x;
  if (x.is_const(0) && op == Op::Add) return y;
  if (op == Op::Mul && (x.is_const(0) || y.is_const(1))) return x;
  if (op == Op::Mul && (y.is_const(0) || x.is_const(1))) return y;
  return make(op, {x, y});
}

}  // namespace

// Operands first, with a stack of its own. Vector indices and comparisons of them are looked at as
// expressions, and usually need none of their lanes.
Value* FunctionEmitter::value(const Expr& root) {
  std::vector<std::pair<Expr, size_t>> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [e, next] = stack.back();
    if (next == 0 && memo_.count(e.get())) {
      stack.pop_back();
    } else if (next < evaluated_operands(e)) {
      Expr operand = e.arg(next++);
      stack.emplace_back(std::move(operand), 0);
    } else {
      const Expr done = std::move(e);
      stack.pop_back();
      bool reads = done.is_load();
      for (size_t i = 0, n = evaluated_operands(done); i < n; i++)
        reads |= memo_.at(done.arg(i).get()).reads_memory;
      Value* v = node(done);
      memo_[done.get()] = {v, reads};
      (reads ? reads_ : log_).push_back(done);
    }
  }
  return memo_.at(root.get()).value;
}

// The number of leading operands that a node needs as values.
size_t FunctionEmitter::evaluated_operands(const Expr& e) const {
  if (e.op() == Op::Load) return 0;
  if (e.op() == Op::LoadIf) return 2;
  return lane_bound(e) ? 0 : e.args().size();
}

void FunctionEmitter::forget_reads() {
  for (const auto& e : reads_) memo_.erase(e.get());
  reads_.clear();
}

void FunctionEmitter::forget_since(size_t mark) {
  for (size_t i = mark; i < log_.size(); i++) memo_.erase(log_[i].get());
  log_.resize(mark);
}

Value* FunctionEmitter::node(const Expr& e) {
  const auto arg = [&](size_t i) { return memo_.at(e.arg(i).get()).value; };
  switch (e.op()) {
    case Op::Const: return constant_of(context_, e.value());
    case Op::Var: {
      const auto it = bindings_.find(e.symbol());
      PTO_CHECK(it != bindings_.end(), std::string(kWhere), "unbound variable " + e.symbol().str());
      return it->second.value;
    }
    case Op::Load:
    case Op::LoadIf: return load(e);
    case Op::Select: {
      const int lanes = std::max({lanes_of(arg(0)), lanes_of(arg(1)), lanes_of(arg(2))});
      Value* condition = lanes_of(arg(0)) == 1 ? arg(0) : ops_.splat_lanes(arg(0), lanes);
      return b.CreateSelect(condition, ops_.splat_lanes(arg(1), lanes), ops_.splat_lanes(arg(2), lanes));
    }
    case Op::Cast: return ops_.cast(arg(0), e.arg(0).type(), e.type());
    case Op::Bitcast: return b.CreateBitCast(arg(0), register_type(context_, e.type(), lanes_of(arg(0))));
    case Op::Broadcast: return ops_.splat_lanes(arg(0), e.lanes());
    case Op::Ramp: {
      llvm::SmallVector<llvm::Constant*> steps;
      for (int i = 0; i < e.lanes(); i++)
        steps.push_back(constant_of(context_, Scalar::from_int(e.type(), i)));
      Value* offsets = b.CreateMul(llvm::ConstantVector::get(steps), ops_.splat_lanes(arg(1), e.lanes()));
      return b.CreateAdd(ops_.splat_lanes(arg(0), e.lanes()), offsets);
    }
    case Op::HReduce: return ops_.hreduce(e.reduce_op(), e.type(), arg(0));
    case Op::FloorDiv:
    case Op::Mod: return e.type() == DType::I64 ? integer_division(e) : operation(e);
    case Op::Lt:
    case Op::Le: {
      const LaneBound bound = lane_bound(e);
      return bound ? compare(e, bound) : operation(e);
    }
    default: return operation(e);
  }
}

Value* FunctionEmitter::operation(const Expr& e) {
  llvm::SmallVector<Value*> args;
  int lanes = 1;
  for (const auto& a : e.args()) {
    args.push_back(memo_.at(a.get()).value);
    lanes = std::max(lanes, lanes_of(args.back()));
  }
  for (auto& a : args) a = ops_.splat_lanes(a, lanes);
  return ops_.op(e.op(), e.arg(0).type(), args);
}

// Indices are divided often, and hardly ever need the rules for signs and zeros.
Value* FunctionEmitter::integer_division(const Expr& e) {
  const bool div = e.op() == Op::FloorDiv;
  const Range dividend = range_of(e.arg(0)), divisor = range_of(e.arg(1));
  Value *x = memo_.at(e.arg(0).get()).value, *y = memo_.at(e.arg(1).get()).value;
  x = ops_.splat_lanes(x, e.lanes());
  y = ops_.splat_lanes(y, e.lanes());
  const bool fixed = divisor.lo == divisor.hi && divisor.lo >= 1 && divisor.hi <= kMaxSize;
  const auto n = static_cast<uint64_t>(fixed ? divisor.lo : 0);
  if (std::has_single_bit(n)) {
    Value* power = llvm::ConstantInt::get(y->getType(), static_cast<uint64_t>(std::countr_zero(n)));
    return div ? b.CreateAShr(x, power) : b.CreateAnd(x, llvm::ConstantInt::get(y->getType(), n - 1));
  }
  if (dividend.lo < 0 || divisor.lo < 1 || !dividend.known() || !divisor.known()) return operation(e);
  if (e.lanes() == 1) return div ? b.CreateUDiv(x, y) : b.CreateURem(x, y);
  if (dividend.hi > ops_.kMaxVectorDividend || divisor.hi > ops_.kMaxVectorDividend) return operation(e);
  Value* quotient = ops_.vector_division(x, y);
  return div ? quotient : b.CreateSub(x, b.CreateMul(quotient, y));
}

// a + i < b holds for the lanes i < b - a. This is what the masks of tails are: both sides linear,
// with strides that differ by one.
FunctionEmitter::LaneBound FunctionEmitter::lane_bound(const Expr& e) const {
  if ((e.op() != Op::Lt && e.op() != Op::Le) || e.lanes() == 1 || e.arg(0).type() != DType::I64) return {};
  const Linear left = linear(e.arg(0)), right = linear(e.arg(1));
  if (!left || !right || !left.stride.is_const() || !right.stride.is_const()) return {};
  const int64_t slope = left.stride.as_int() - right.stride.as_int();
  if ((slope != 1 && slope != -1) || !range_of(left.base).known() || !range_of(right.base).known()) return {};
  return {combine(Op::Sub, slope == 1 ? right.base : left.base, slope == 1 ? left.base : right.base),
          slope == 1};
}

// One comparison of narrow lane numbers with a clamped scalar.
Value* FunctionEmitter::compare(const Expr& e, const LaneBound& lane_bound) {
  const bool strict = e.op() == Op::Lt;
  const int lanes = e.lanes();
  Value* bound = value(lane_bound.bound);
  bound = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bound, b.getInt64(~uint64_t{0}));
  bound = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, bound, b.getInt64(static_cast<uint64_t>(lanes)));
  // Lanes as wide as a register's share, but wide enough to hold the bound.
  const int share = std::clamp(
      target_.vector_bytes * 8 / static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes))), 8, 64);
  auto* type = b.getIntNTy(static_cast<unsigned>(lanes < 128 ? share : std::max(share, 16)));
  llvm::SmallVector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; i++) numbers.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(i)));
  Value* i = llvm::ConstantVector::get(numbers);
  Value* limit = ops_.splat_lanes(b.CreateTrunc(bound, type), lanes);
  if (lane_bound.below) return strict ? b.CreateICmpSLT(i, limit) : b.CreateICmpSLE(i, limit);
  return strict ? b.CreateICmpSGT(i, limit) : b.CreateICmpSGE(i, limit);
}

Range FunctionEmitter::range_of(const Expr& e, int depth) const {
  constexpr Range unknown{-INFINITY, INFINITY};
  if (e.type() != DType::I64 || depth > kAnalysisDepth) return unknown;
  if (e.is_const()) {
    const auto n = static_cast<double>(e.as_int());
    return {n, n};
  }
  if (e.is_var()) {
    const auto it = bindings_.find(e.symbol());
    return it == bindings_.end() ? unknown : it->second.range;
  }
  if (e.is_load() || e.args().empty()) return unknown;
  const size_t first = e.op() == Op::Select ? 1 : 0;
  const Range x = range_of(e.arg(first), depth + 1);
  const Range y = e.args().size() > first + 1 ? range_of(e.arg(first + 1), depth + 1) : unknown;
  switch (e.op()) {
    case Op::Broadcast: return x;
    case Op::Ramp: {
      const double last = e.lanes() - 1;
      return {x.lo + std::min(0.0, y.lo * last), x.hi + std::max(0.0, y.hi * last)};
    }
    case Op::Add: return {x.lo + y.lo, x.hi + y.hi};
    case Op::Sub: return {x.lo - y.hi, x.hi - y.lo};
    case Op::Mul: {
      if (!x.known() || !y.known()) return unknown;
      const auto [lo, hi] = std::minmax({x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi});
      // A product of sizes and indices is a number of elements, or a position among them.
      if (e.arg(0).is_const() || e.arg(1).is_const()) return {lo, hi};
      return {std::max(lo, -kMaxSize), std::min(hi, kMaxSize)};
    }
    case Op::Min: return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
    case Op::Max: return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
    case Op::FloorDiv:
      return x.known() && y.lo >= 1 ? Range{std::min(x.lo, 0.0), std::max(x.hi, 0.0)} : unknown;
    case Op::Mod: return y.known() && y.lo >= 1 ? Range{0, y.hi - 1} : unknown;
    case Op::Select: return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
    default: return unknown;
  }
}

FunctionEmitter::Linear FunctionEmitter::linear(const Expr& e, int depth) const {
  if (e.lanes() == 1) return {e, Expr(0)};
  if (e.op() == Op::Ramp) return {e.arg(0), e.arg(1)};
  if (e.op() == Op::Broadcast) return {e.arg(0), Expr(0)};
  if (e.is_var()) {
    const auto it = bindings_.find(e.symbol());
    if (it == bindings_.end() || !it->second.definition) return {};
    return linear(it->second.definition, depth + 1);
  }
  if (depth > kAnalysisDepth || (e.op() != Op::Add && e.op() != Op::Sub && e.op() != Op::Mul)) return {};
  Linear x = linear(e.arg(0), depth + 1), y = linear(e.arg(1), depth + 1);
  if (!x || !y) return {};
  if (e.op() != Op::Mul) return {combine(e.op(), x.base, y.base), combine(e.op(), x.stride, y.stride)};
  if (x.stride.is_const(0)) std::swap(x, y);
  if (!y.stride.is_const(0)) return {};
  return {combine(Op::Mul, x.base, y.base), combine(Op::Mul, x.stride, y.base)};
}

}  // namespace pto::llvm_codegen
