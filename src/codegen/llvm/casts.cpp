// Conversions between element types: nearest even, saturating to integers, halves through their bits.
#include <algorithm>
#include <cmath>

#include "codegen/llvm/ops.h"

namespace pto::llvm_codegen {

Value* OpEmitter::as_int(Value* v) {
  return b.CreateBitCast(v, as_lanes(b.getIntNTy(v->getType()->getScalarSizeInBits()), v));
}
Value* OpEmitter::as_float(Value* v, llvm::Type* scalar) { return b.CreateBitCast(v, as_lanes(scalar, v)); }

Value* OpEmitter::cast(Value* v, DType from, DType to) {
  if (from == to) return v;
  if (to == DType::Bool) {
    if (is_half(from)) return b.CreateICmpNE(b.CreateAnd(v, int_like(v, 0x7FFF)), int_like(v, 0));
    return is_float(from) ? b.CreateFCmpUNE(v, float_like(v, 0)) : b.CreateICmpNE(v, int_like(v, 0));
  }
  if (is_half(from)) return cast(from == DType::F16 ? f16_to_f32(v) : bf16_to_f32(v), DType::F32, to);
  if (is_half(to)) {
    // Narrow integers are exact in a float; the others round once, to odd, on the way.
    if (!is_float(from) && size_of(from) <= 2)
      v = int_to_float(v, from, DType::F32);
    else if (!is_float(from))
      v = f64_to_odd_f32(int_to_float(v, from, DType::F64));
    else if (from == DType::F64)
      v = f64_to_odd_f32(v);
    return to == DType::F16 ? f32_to_f16(v) : f32_to_bf16(v);
  }
  llvm::Type* type = as_lanes(register_type(b.getContext(), to, 1), v);
  if (is_float(from) && is_float(to))
    return to == DType::F64 ? b.CreateFPExt(v, type) : b.CreateFPTrunc(v, type);
  if (is_float(from)) return float_to_int(v, to);
  if (is_float(to)) return int_to_float(v, from, to);
  return is_signed(from) ? b.CreateSExtOrTrunc(v, type) : b.CreateZExtOrTrunc(v, type);
}

Value* OpEmitter::int_to_float(Value* v, DType from, DType to) {
  llvm::Type* type = as_lanes(register_type(b.getContext(), to, 1), v);
  return is_signed(from) ? b.CreateSIToFP(v, type) : b.CreateUIToFP(v, type);
}

// A scalar's saturation is a few instructions; LLVM takes vectors apart for it, and these are clamped.
Value* OpEmitter::float_to_int(Value* v, DType to) {
  llvm::Type* type = as_lanes(register_type(b.getContext(), to, 1), v);
  const bool is_signed = pto::is_signed(to);
  if (lanes_of(v) == 1) {
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, v->getType()}, {v});
  }
  const int width = size_of(to) * 8, digits = v->getType()->getScalarType()->isDoubleTy() ? 53 : 24;
  const int power = is_signed ? width - 1 : width;
  const double beyond = std::ldexp(1.0, power), least = is_signed ? -beyond : 0;
  // The largest integer, or the largest float below it that is one.
  const double most = power <= digits ? beyond - 1 : beyond - std::ldexp(1.0, power - digits);
  Value* x = b.CreateSelect(b.CreateFCmpORD(v, v), v, float_like(v, 0));
  x = b.CreateSelect(b.CreateFCmpOLT(x, float_like(v, least)), float_like(v, least), x);
  x = b.CreateSelect(b.CreateFCmpOGT(x, float_like(v, most)), float_like(v, most), x);
  // Narrow integers are made by way of 32 bits, for which there are instructions.
  llvm::Type* wide = as_lanes(b.getIntNTy(static_cast<unsigned>(std::max(width, 32))), v);
  const bool unsigned_wide = !is_signed && width >= 32;
  Value* n = b.CreateTrunc(unsigned_wide ? b.CreateFPToUI(x, wide) : b.CreateFPToSI(x, wide), type);
  if (power <= digits) return n;
  const uint64_t largest = ~uint64_t{0} >> (64 - power);
  return b.CreateSelect(b.CreateFCmpOGE(v, float_like(v, beyond)), int_like(n, largest), n);
}

// Narrows towards zero and sets the last bit if anything was lost, so that a second rounding sees it.
Value* OpEmitter::f64_to_odd_f32(Value* v) {
  Value* near = b.CreateFPTrunc(v, as_lanes(b.getFloatTy(), v));
  Value* wide = b.CreateFPExt(near, v->getType());
  const auto magnitude = [&](Value* x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
  Value* inexact = b.CreateFCmpONE(wide, v);  // false for NaN
  Value* finite = b.CreateFCmpONE(magnitude(wide), llvm::ConstantFP::getInfinity(v->getType()));
  Value* bits = as_int(near);
  Value* beyond = b.CreateFCmpOGT(magnitude(wide), magnitude(v));
  Value* truncated = b.CreateSelect(beyond, b.CreateSub(bits, int_like(bits, 1)), bits);
  Value* odd = b.CreateOr(truncated, int_like(bits, 1));
  return as_float(b.CreateSelect(b.CreateAnd(inexact, finite), odd, bits), b.getFloatTy());
}

Value* OpEmitter::f32_to_f16(Value* v) {
  // The instructions for halves came with those for fma.
  if (target_.fma) return as_int(b.CreateFPTrunc(v, as_lanes(b.getHalfTy(), v)));
  Value* bits = as_int(v);
  const auto c = [&](uint64_t n) { return int_like(bits, n); };
  Value* magnitude = b.CreateAnd(bits, c(0x7FFFFFFF));
  Value* sign = b.CreateAnd(b.CreateLShr(bits, c(16)), c(0x8000));
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, c(13)), c(1));
  Value* rounded = b.CreateAdd(b.CreateAdd(magnitude, c(0xFFF)), odd);
  Value* normal = b.CreateLShr(b.CreateSub(rounded, c(0x38000000)), c(13));
  // Where the result is subnormal, adding 0.5 rounds at its last place, 2^-24.
  Value* shifted = b.CreateFAdd(as_float(magnitude, b.getFloatTy()), float_like(v, 0.5));
  Value* subnormal = b.CreateSub(as_int(shifted), c(0x3F000000));
  Value* nan = b.CreateOr(c(0x7E00), b.CreateAnd(b.CreateLShr(magnitude, c(13)), c(0x3FF)));
  Value* half = b.CreateSelect(b.CreateICmpULT(magnitude, c(0x38800000)), subnormal, normal);
  half = b.CreateSelect(b.CreateICmpUGE(magnitude, c(0x477FF000)), c(0x7C00), half);
  half = b.CreateSelect(b.CreateICmpUGT(magnitude, c(0x7F800000)), nan, half);
  return b.CreateTrunc(b.CreateOr(half, sign), as_lanes(b.getInt16Ty(), v));
}

Value* OpEmitter::f16_to_f32(Value* v) {
  llvm::Type* f32 = as_lanes(b.getFloatTy(), v);
  if (target_.fma) return b.CreateFPExt(as_float(v, b.getHalfTy()), f32);
  Value* bits = b.CreateZExt(v, as_lanes(b.getInt32Ty(), v));
  const auto c = [&](uint64_t n) { return int_like(bits, n); };
  Value* sign = b.CreateShl(b.CreateAnd(bits, c(0x8000)), c(16));
  Value* magnitude = b.CreateAnd(bits, c(0x7FFF));
  Value* shifted = b.CreateShl(magnitude, c(13));
  Value* normal = b.CreateAdd(shifted, c(0x38000000));
  // A subnormal is its fraction times 2^-24; infinities and NaNs have the largest exponent.
  Value* fraction = b.CreateSIToFP(magnitude, f32);
  Value* subnormal = as_int(b.CreateFMul(fraction, llvm::ConstantFP::get(f32, 0x1p-24)));
  Value* special = b.CreateOr(b.CreateAnd(shifted, c(0x007FE000)), c(0x7F800000));
  Value* wide = b.CreateSelect(b.CreateICmpULT(magnitude, c(0x400)), subnormal, normal);
  wide = b.CreateSelect(b.CreateICmpUGE(magnitude, c(0x7C00)), special, wide);
  return as_float(b.CreateOr(wide, sign), b.getFloatTy());
}

// In integers: the instruction that converts to bf16 flushes subnormals.
Value* OpEmitter::f32_to_bf16(Value* v) {
  Value* bits = as_int(v);
  const auto c = [&](uint64_t n) { return int_like(bits, n); };
  Value* high = b.CreateLShr(bits, c(16));
  Value* bias = b.CreateAdd(b.CreateAnd(high, c(1)), c(0x7FFF));
  Value* rounded = b.CreateLShr(b.CreateAdd(bits, bias), c(16));
  Value* nan = b.CreateOr(high, c(0x40));
  return b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(v, v), nan, rounded), as_lanes(b.getInt16Ty(), v));
}

Value* OpEmitter::bf16_to_f32(Value* v) {
  Value* bits = b.CreateZExt(v, as_lanes(b.getInt32Ty(), v));
  return as_float(b.CreateShl(bits, int_like(bits, 16)), b.getFloatTy());
}

}  // namespace pto::llvm_codegen
