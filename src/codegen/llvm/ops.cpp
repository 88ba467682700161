#include "codegen/llvm/ops.h"

#include <llvm/IR/Intrinsics.h>

#include "base/error.h"

namespace pto::llvm_codegen {
namespace {

constexpr std::string_view kWhere = "codegen/llvm";

llvm::Type* with_lanes(llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

[[noreturn]] void unexpected(Op op, DType type) {
  throw InternalError(std::string(kWhere), std::string(info(op).text) + " of " + std::string(name(type)) +
                                               " should have been rewritten by a loop pass");
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, DType type, int lanes) {
  if (type == DType::Bool) return with_lanes(llvm::Type::getInt1Ty(context), lanes);
  return memory_type(context, type, lanes);
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType type, int lanes) {
  switch (type) {
    case DType::F32: return with_lanes(llvm::Type::getFloatTy(context), lanes);
    case DType::F64: return with_lanes(llvm::Type::getDoubleTy(context), lanes);
    default:
      return with_lanes(llvm::Type::getIntNTy(context, static_cast<unsigned>(size_of(type)) * 8), lanes);
  }
}

int lanes_of(const Value* v) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Constant* constant_of(llvm::LLVMContext& context, Scalar value) {
  llvm::Type* type = register_type(context, value.type, 1);
  if (value.type == DType::F32)
    return llvm::ConstantFP::get(context,
                                 llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, value.bits)));
  if (value.type == DType::F64)
    return llvm::ConstantFP::get(context,
                                 llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, value.bits)));
  return llvm::ConstantInt::get(type, value.bits);
}

llvm::Type* OpEmitter::as_lanes(llvm::Type* scalar, const Value* like) {
  return with_lanes(scalar, lanes_of(like));
}

Value* OpEmitter::int_like(const Value* like, uint64_t n) {
  const unsigned width = like->getType()->getScalarSizeInBits();
  return llvm::ConstantInt::get(like->getType(), llvm::APInt(width, n, false, /*implicitTrunc=*/true));
}

Value* OpEmitter::float_like(const Value* like, double x) {
  return llvm::ConstantFP::get(like->getType(), x);
}

Value* OpEmitter::splat_lanes(Value* v, int lanes) {
  return lanes_of(v) == lanes ? v : b.CreateVectorSplat(static_cast<unsigned>(lanes), v);
}

Value* OpEmitter::shuffle(Value* v, llvm::ArrayRef<int> lanes) { return b.CreateShuffleVector(v, lanes); }

Value* OpEmitter::op(Op op, DType type, llvm::ArrayRef<Value*> args) {
  if (type == DType::Bool) return bool_op(op, args);
  if (is_half(type) || is_math(op)) unexpected(op, type);
  return is_float(type) ? float_op(op, type, args) : int_op(op, type, args);
}

Value* OpEmitter::bool_op(Op op, llvm::ArrayRef<Value*> args) {
  Value *x = args[0], *y = args.size() > 1 ? args[1] : nullptr;
  switch (op) {
    case Op::Add:
    case Op::Max:
    case Op::Or: return b.CreateOr(x, y);
    case Op::Mul:
    case Op::Min:
    case Op::And: return b.CreateAnd(x, y);
    case Op::Xor:
    case Op::Ne: return b.CreateXor(x, y);
    case Op::Eq: return b.CreateNot(b.CreateXor(x, y));
    case Op::Lt: return b.CreateAnd(b.CreateNot(x), y);
    case Op::Le: return b.CreateOr(b.CreateNot(x), y);
    case Op::Not: return b.CreateNot(x);
    default: unexpected(op, DType::Bool);
  }
}

Value* OpEmitter::int_op(Op op, DType type, llvm::ArrayRef<Value*> args) {
  Value *x = args[0], *y = args.size() > 1 ? args[1] : nullptr;
  const bool s = is_signed(type);
  switch (op) {
    case Op::Add: return b.CreateAdd(x, y);
    case Op::Sub: return b.CreateSub(x, y);
    case Op::Mul: return b.CreateMul(x, y);
    case Op::FloorDiv: return floor_div(type, x, y);
    case Op::Mod: return floor_mod(type, x, y);
    case Op::Min: return b.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case Op::Max: return b.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case Op::Neg: return b.CreateNeg(x);
    case Op::Abs: return s ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
    case Op::And: return b.CreateAnd(x, y);
    case Op::Or: return b.CreateOr(x, y);
    case Op::Xor: return b.CreateXor(x, y);
    case Op::Not: return b.CreateNot(x);
    case Op::Shl:
    case Op::Shr: return shift(op, type, x, y);
    case Op::Eq: return b.CreateICmpEQ(x, y);
    case Op::Ne: return b.CreateICmpNE(x, y);
    case Op::Lt: return s ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    case Op::Le: return s ? b.CreateICmpSLE(x, y) : b.CreateICmpULE(x, y);
    default: unexpected(op, type);
  }
}

// The divisor is replaced by 1 where the instruction would trap or overflow; x // 1 = x is right for
// INT_MIN // -1, and the quotient by zero is set to zero.
Value* OpEmitter::floor_div(DType type, Value* x, Value* y) {
  Value *zero = int_like(y, 0), *one = int_like(y, 1);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  if (!is_signed(type))
    return b.CreateSelect(by_zero, zero, b.CreateUDiv(x, b.CreateSelect(by_zero, one, y)));
  const unsigned width = x->getType()->getScalarSizeInBits();
  Value* least = int_like(x, uint64_t{1} << (width - 1));
  Value* wraps = b.CreateAnd(b.CreateICmpEQ(x, least), b.CreateICmpEQ(y, int_like(y, ~uint64_t{0})));
  Value* divisor = b.CreateSelect(b.CreateOr(by_zero, wraps), one, y);
  Value* quotient = b.CreateSDiv(x, divisor);
  Value* rest = b.CreateSub(x, b.CreateMul(quotient, divisor));
  Value* inexact = b.CreateICmpNE(rest, zero);
  Value* unequal_signs = b.CreateICmpSLT(b.CreateXor(rest, divisor), zero);
  Value* floored = b.CreateSelect(b.CreateAnd(inexact, unequal_signs), b.CreateSub(quotient, one), quotient);
  return b.CreateSelect(by_zero, zero, floored);
}

Value* OpEmitter::floor_mod(DType type, Value* x, Value* y) {
  Value *zero = int_like(y, 0), *one = int_like(y, 1);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  // x % 1 = 0 is the answer in all the cases that the instruction refuses.
  if (!is_signed(type)) return b.CreateURem(x, b.CreateSelect(by_zero, one, y));
  Value* refused = b.CreateOr(by_zero, b.CreateICmpEQ(y, int_like(y, ~uint64_t{0})));
  Value* divisor = b.CreateSelect(refused, one, y);
  Value* rest = b.CreateSRem(x, divisor);
  Value* inexact = b.CreateICmpNE(rest, zero);
  Value* unequal_signs = b.CreateICmpSLT(b.CreateXor(rest, divisor), zero);
  return b.CreateSelect(b.CreateAnd(inexact, unequal_signs), b.CreateAdd(rest, divisor), rest);
}

// In doubles, for want of an instruction: a quotient below an integer is so by a part in x or more,
// which is more than the division rounds away. The bits of 2^52 + n are those of 2^52 plus n.
Value* OpEmitter::vector_division(Value* x, Value* y) {
  llvm::Type* wide = as_lanes(b.getDoubleTy(), x);
  Value *bits = int_like(x, uint64_t{0x433} << 52), *offset = llvm::ConstantFP::get(wide, 0x1p52);
  const auto as_double = [&](Value* n) {
    return b.CreateFSub(b.CreateBitCast(b.CreateOr(n, bits), wide), offset);
  };
  Value* quotient = b.CreateFDiv(as_double(x), as_double(y));
  Value* floored = b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient);
  return b.CreateXor(b.CreateBitCast(b.CreateFAdd(floored, offset), x->getType()), bits);
}

Value* OpEmitter::shift(Op op, DType type, Value* x, Value* count) {
  const unsigned width = x->getType()->getScalarSizeInBits();
  if (op == Op::Shr && is_signed(type))
    return b.CreateAShr(x, b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, int_like(count, width - 1)));
  Value* in_range = b.CreateICmpULT(count, int_like(count, width));
  Value* shifted = op == Op::Shl ? b.CreateShl(x, count) : b.CreateLShr(x, count);
  return b.CreateSelect(in_range, shifted, int_like(x, 0));
}

Value* OpEmitter::float_op(Op op, DType type, llvm::ArrayRef<Value*> args) {
  Value *x = args[0], *y = args.size() > 1 ? args[1] : nullptr;
  const auto unary = [&](llvm::Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, x); };
  switch (op) {
    case Op::Add: return b.CreateFAdd(x, y);
    case Op::Sub: return b.CreateFSub(x, y);
    case Op::Mul: return b.CreateFMul(x, y);
    case Op::Div: return b.CreateFDiv(x, y);
    case Op::FloorDiv: return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b.CreateFDiv(x, y));
    case Op::Mod: return float_mod(x, y);
    // A comparison and a selection are one instruction on x86 (the second operand wins where either
    // is NaN), and a NaN on the left needs two more.
    case Op::Min:
      return b.CreateSelect(b.CreateFCmpUNO(x, x), x, b.CreateSelect(b.CreateFCmpOLT(x, y), x, y));
    case Op::Max:
      return b.CreateSelect(b.CreateFCmpUNO(x, x), x, b.CreateSelect(b.CreateFCmpOGT(x, y), x, y));
    case Op::Neg: return b.CreateFNeg(x);
    case Op::Abs: return unary(llvm::Intrinsic::fabs);
    case Op::Floor: return unary(llvm::Intrinsic::floor);
    case Op::Ceil: return unary(llvm::Intrinsic::ceil);
    case Op::Trunc: return unary(llvm::Intrinsic::trunc);
    case Op::Round: return unary(llvm::Intrinsic::roundeven);
    case Op::Sqrt: return unary(llvm::Intrinsic::sqrt);
    case Op::Fma: return fma(x, y, args[2]);
    case Op::CopySign: return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
    case Op::Eq: return b.CreateFCmpOEQ(x, y);
    case Op::Ne: return b.CreateFCmpUNE(x, y);
    case Op::Lt: return b.CreateFCmpOLT(x, y);
    case Op::Le: return b.CreateFCmpOLE(x, y);
    default: unexpected(op, type);
  }
}

// The exact remainder, by the C library lane by lane, moved to the sign of the divisor.
Value* OpEmitter::float_mod(Value* x, Value* y) {
  Value* zero = float_like(x, 0);
  Value* rest = b.CreateFRem(x, y);
  Value* unequal_signs = b.CreateXor(b.CreateFCmpOLT(rest, zero), b.CreateFCmpOLT(y, zero));
  Value* moved = b.CreateSelect(unequal_signs, b.CreateFAdd(rest, y), rest);
  return b.CreateSelect(b.CreateFCmpOEQ(rest, zero),
                        b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, y), moved);
}

Value* OpEmitter::fma(Value* x, Value* y, Value* z) {
  if (target_.fma || x->getType()->getScalarType()->isDoubleTy())
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  // Without the instruction, in double precision: the product is exact; the sum is rounded to odd
  // (its last bit is set where it is inexact), so that the rounding to float sees what was lost.
  llvm::Type *wide = as_lanes(b.getDoubleTy(), x), *bits = as_lanes(b.getInt64Ty(), x);
  Value* product = b.CreateFMul(b.CreateFPExt(x, wide), b.CreateFPExt(y, wide));
  Value* addend = b.CreateFPExt(z, wide);
  Value* sum = b.CreateFAdd(product, addend);
  Value* from_product = b.CreateFSub(sum, addend);
  Value* lost = b.CreateFAdd(b.CreateFSub(product, from_product),
                             b.CreateFSub(addend, b.CreateFSub(sum, from_product)));
  Value* sum_bits = b.CreateBitCast(sum, bits);
  // An inexact sum that is even moves to its odd neighbour on the side of what was lost.
  Value* inexact = b.CreateFCmpONE(lost, float_like(lost, 0));
  Value* even = b.CreateICmpEQ(b.CreateAnd(sum_bits, int_like(sum_bits, 1)), int_like(sum_bits, 0));
  Value* outwards =
      b.CreateICmpSGE(b.CreateXor(sum_bits, b.CreateBitCast(lost, bits)), int_like(sum_bits, 0));
  Value* step = b.CreateSelect(outwards, int_like(sum_bits, 1), int_like(sum_bits, ~uint64_t{0}));
  Value* moved = b.CreateSelect(b.CreateAnd(inexact, even), b.CreateAdd(sum_bits, step), sum_bits);
  return b.CreateFPTrunc(b.CreateBitCast(moved, wide), x->getType());
}

// Halves of the lanes are combined until one is left; an odd lane waits for the next round.
Value* OpEmitter::hreduce(Op op, DType type, Value* v) {
  if (type == DType::Bool && lanes_of(v) > 1) {  // in any order
    if (op == Op::Add || op == Op::Max || op == Op::Or) return b.CreateOrReduce(v);
    if (op == Op::Mul || op == Op::Min || op == Op::And) return b.CreateAndReduce(v);
  }
  const auto combine = [&](Value* x, Value* y) {
    if (!is_half(type)) return this->op(op, type, {x, y});
    return cast(this->op(op, DType::F32, {cast(x, type, DType::F32), cast(y, type, DType::F32)}), DType::F32,
                type);
  };
  for (int n = lanes_of(v); n > 1; n = n / 2 + n % 2) {
    const int half = n / 2;
    llvm::SmallVector<int> low, high, all;
    for (int i = 0; i < half; i++) {
      low.push_back(i);
      high.push_back(half + i);
    }
    if (n == 2 || n == 3) {
      Value* combined = combine(b.CreateExtractElement(v, uint64_t{0}), b.CreateExtractElement(v, 1));
      if (n == 2) return combined;
      v = b.CreateInsertElement(shuffle(v, {0, 2}), combined, uint64_t{0});
      continue;
    }
    Value* combined = combine(shuffle(v, low), shuffle(v, high));
    if (n % 2 == 0) {
      v = combined;
      continue;
    }
    for (int i = 0; i < half; i++) all.push_back(i);
    all.push_back(0);
    v = b.CreateInsertElement(shuffle(combined, all), b.CreateExtractElement(v, n - 1), half);
  }
  return v;
}

}  // namespace pto::llvm_codegen
