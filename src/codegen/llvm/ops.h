#pragma once
// Scalar operations as LLVM instructions, on values of one lane or many. Booleans are i1; halves are
// their bits in i16, and occur in casts, selections, moves and hreduce only.
#include <llvm/Analysis/InstSimplifyFolder.h>
#include <llvm/IR/IRBuilder.h>

#include "expr/expr.h"
#include "schedule/target.h"

namespace pto::llvm_codegen {

// Folds and simplifies while it builds, so that less has to be optimised away.
using Builder = llvm::IRBuilder<llvm::InstSimplifyFolder>;
using llvm::Value;

llvm::Type* register_type(llvm::LLVMContext& context, DType type, int lanes);
llvm::Type* memory_type(llvm::LLVMContext& context, DType type, int lanes);
int lanes_of(const Value* v);
llvm::Constant* constant_of(llvm::LLVMContext& context, Scalar value);

class OpEmitter {
 public:
  OpEmitter(Builder& builder, const Target& target) : b(builder), target_(target) {}

  // One operation of ops.def; `type` is that of the operands.
  Value* op(Op op, DType type, llvm::ArrayRef<Value*> args);
  Value* cast(Value* v, DType from, DType to);
  Value* hreduce(Op op, DType type, Value* v);
  // The quotient of vectors of i64 from 0 (the divisor: 1) to kMaxVectorDividend.
  static constexpr double kMaxVectorDividend = 0x1p50;
  Value* vector_division(Value* x, Value* y);

  Value* splat_lanes(Value* v, int lanes);            // a scalar in every lane; a vector stays
  Value* shuffle(Value* v, llvm::ArrayRef<int> lanes);

 private:
  Value* bool_op(Op op, llvm::ArrayRef<Value*> args);
  Value* int_op(Op op, DType type, llvm::ArrayRef<Value*> args);
  Value* float_op(Op op, DType type, llvm::ArrayRef<Value*> args);
  Value* floor_div(DType type, Value* x, Value* y);
  Value* floor_mod(DType type, Value* x, Value* y);
  Value* shift(Op op, DType type, Value* x, Value* count);
  Value* float_mod(Value* x, Value* y);
  Value* fma(Value* x, Value* y, Value* z);
  Value* int_to_float(Value* v, DType from, DType to);
  Value* float_to_int(Value* v, DType to);
  Value* f64_to_odd_f32(Value* v);
  Value* f32_to_f16(Value* v);
  Value* f16_to_f32(Value* v);
  Value* f32_to_bf16(Value* v);
  Value* bf16_to_f32(Value* v);

  // A type or constant with the lanes of `like`.
  llvm::Type* as_lanes(llvm::Type* scalar, const Value* like);
  Value* int_like(const Value* like, uint64_t n);     // of like's type
  Value* float_like(const Value* like, double x);
  Value* as_int(Value* v);                            // the same bits
  Value* as_float(Value* v, llvm::Type* scalar);

  Builder& b;
  const Target& target_;
};

}  // namespace pto::llvm_codegen
