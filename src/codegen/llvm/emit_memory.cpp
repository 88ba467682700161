#include <algorithm>

#include "base/error.h"
#include "codegen/llvm/emit.h"

namespace pto::llvm_codegen {
namespace {

constexpr std::string_view kWhere = "codegen/llvm";

bool is_all(const Value* mask, bool ones) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant && (ones ? constant->isAllOnesValue() : constant->isNullValue());
}

llvm::ElementCount lanes_count(int lanes) {
  return llvm::ElementCount::getFixed(static_cast<unsigned>(lanes));
}

bool is_constant(const Expr& e, int64_t n) { return e.is_const() && e.as_int() == n; }

}  // namespace

const FunctionEmitter::BufferInfo& FunctionEmitter::buffer(Symbol name) const {
  const auto it = buffers_.find(name);
  PTO_CHECK(it != buffers_.end() && it->second.address, std::string(kWhere), "unknown buffer " + name.str());
  return it->second;
}

// Of one element; registers are this function's own.
llvm::Align FunctionEmitter::alignment(const BufferInfo& buffer) const {
  return llvm::Align(static_cast<uint64_t>(size_of(buffer.dtype)));
}

template <class Access>
Access* FunctionEmitter::tag(const BufferInfo& buffer, Access* access) const {
  if (buffer.alias_scope) {
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, buffer.alias_scope);
    access->setMetadata(llvm::LLVMContext::MD_noalias, buffer.no_alias);
  }
  return access;
}

// A bool is a byte in memory.
Value* FunctionEmitter::to_memory(const BufferInfo& buffer, Value* v) {
  return buffer.dtype == DType::Bool ? b.CreateZExt(v, memory_type(context_, DType::Bool, lanes_of(v))) : v;
}
Value* FunctionEmitter::from_memory(const BufferInfo& buffer, Value* v) {
  return buffer.dtype == DType::Bool ? b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

Value* FunctionEmitter::reversed(Value* v) {
  llvm::SmallVector<int> lanes;
  for (int i = lanes_of(v); i-- > 0;) lanes.push_back(i);
  return ops_.shuffle(v, lanes);
}

Value* FunctionEmitter::address(const BufferInfo& buffer, Value* index) {
  return b.CreateInBoundsGEP(memory_type(context_, buffer.dtype, 1), buffer.address, index);
}

Value* FunctionEmitter::lane_addresses(const BufferInfo& buffer, const Expr& index, const Linear& form,
                                       int lanes) {
  llvm::Type* element = memory_type(context_, buffer.dtype, 1);
  if (!form) return b.CreateGEP(element, buffer.address, ops_.splat_lanes(value(index), lanes));
  // Narrow constants where the stride is known: the hardware's gathers take 32-bit offsets.
  const bool narrow = form.stride.is_const() && std::abs(form.stride.as_int()) < (1 << 20);
  llvm::SmallVector<llvm::Constant*> steps;
  for (int i = 0; i < lanes; i++) {
    if (narrow)
      steps.push_back(b.getInt32(static_cast<uint32_t>(i * form.stride.as_int())));
    else
      steps.push_back(b.getInt64(static_cast<uint64_t>(i)));
  }
  Value* offsets = llvm::ConstantVector::get(steps);
  if (!narrow) offsets = b.CreateMul(offsets, ops_.splat_lanes(value(form.stride), lanes));
  return b.CreateGEP(element, b.CreateGEP(element, buffer.address, value(form.base)), offsets);
}

// Lanes of a register that may be read whether they are wanted or not.
bool FunctionEmitter::inside_register(const BufferInfo& buffer, Value* index, int lanes) const {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index);
  return buffer.scope == Scope::Register && constant && !constant->isNegative() &&
         constant->getSExtValue() + lanes <= buffer.elements;
}

Value* FunctionEmitter::load(const Expr& e) {
  const BufferInfo& from = buffer(e.symbol());
  const Exprs indices = e.indices();
  PTO_CHECK(indices.size() == 1, std::string(kWhere), "an index is not flat: " + e.str());
  const bool masked = e.op() == Op::LoadIf;
  Value* mask = masked ? value(e.arg(0)) : nullptr;
  Value* other = masked ? value(e.arg(1)) : nullptr;
  const int lanes = e.lanes();
  if (Value* loaded = load_from_square(e)) return loaded;
  if (mask && is_all(mask, false)) return ops_.splat_lanes(other, lanes);
  if (mask && is_all(mask, true)) mask = other = nullptr;
  if (lanes == 1) return load_scalar(from, value(indices[0]), mask, other);
  if (mask) {
    mask = ops_.splat_lanes(mask, lanes);
    other = to_memory(from, ops_.splat_lanes(other, lanes));
  }
  return from_memory(from, load_lanes(from, indices[0], lanes, mask, other));
}

// As it stands in memory.
Value* FunctionEmitter::load_lanes(const BufferInfo& from, const Expr& index, int lanes, Value* mask,
                                   Value* other) {
  llvm::Type* type = memory_type(context_, from.dtype, lanes);
  const Linear form = linear(index);
  if (form && (is_constant(form.stride, 1) || is_constant(form.stride, -1))) {
    const bool down = is_constant(form.stride, -1);
    Value* first = value(form.base);
    if (down) first = b.CreateSub(first, b.getInt64(static_cast<uint64_t>(lanes - 1)));
    Value* loaded = nullptr;
    if (!mask || inside_register(from, first, lanes)) {
      loaded = load_contiguous(from, first, lanes);
      if (down) loaded = reversed(loaded);
      return mask ? b.CreateSelect(mask, loaded, other) : loaded;
    }
    loaded = tag(from, b.CreateMaskedLoad(type, address(from, first), alignment(from),
                                          down ? reversed(mask) : mask, down ? reversed(other) : other));
    return down ? reversed(loaded) : loaded;
  }
  if (form && !mask && is_constant(form.stride, 0)) {
    Value* at = address(from, value(form.base));
    return ops_.splat_lanes(tag(from, b.CreateAlignedLoad(type->getScalarType(), at, alignment(from))),
                            lanes);
  }
  const bool near = form && form.stride.is_const() && form.stride.as_int() >= 2 && form.stride.as_int() <= 4;
  if (near && !mask)
    return load_strided(from, value(form.base), static_cast<int>(form.stride.as_int()), lanes);
  if (!mask) mask = b.getAllOnesMask(lanes_count(lanes));
  Value* addresses = lane_addresses(from, index, form, lanes);
  return tag(from, b.CreateMaskedGather(type, addresses, alignment(from), mask, other));
}

Value* FunctionEmitter::load_contiguous(const BufferInfo& from, Value* first, int lanes) {
  return tag(from, b.CreateAlignedLoad(memory_type(context_, from.dtype, lanes), address(from, first),
                                       alignment(from)));
}

// Every stride-th element, out of as many whole vectors; the last one ends with the last element.
Value* FunctionEmitter::load_strided(const BufferInfo& from, Value* base, int stride, int lanes) {
  llvm::Type* type = memory_type(context_, from.dtype, lanes);
  const int last = (stride - 1) * (lanes - 1);   // where the last vector begins
  const auto part = [&](int v) {
    Value* offset = b.getInt64(static_cast<uint64_t>(v == stride - 1 ? last : v * lanes));
    return tag(from, b.CreateAlignedLoad(type, address(from, b.CreateAdd(base, offset)), alignment(from)));
  };
  Value* result = part(0);
  for (int v = 1; v < stride; v++) {
    llvm::SmallVector<int> from_lanes;
    for (int i = 0; i < lanes; i++) {
      const int at = i * stride, lane = at - (v == stride - 1 ? last : v * lanes);
      const bool before = at < v * lanes;   // in an earlier vector
      const int kept = v == 1 ? at : i;     // where `result` has it
      from_lanes.push_back(before ? kept : lane < lanes ? lanes + lane : 0);
    }
    result = b.CreateShuffleVector(result, part(v), from_lanes);
  }
  return result;
}

Value* FunctionEmitter::load_scalar(const BufferInfo& from, Value* index, Value* mask, Value* other) {
  llvm::Type* type = memory_type(context_, from.dtype, 1);
  const auto read = [&] {
    return from_memory(from, tag(from, b.CreateAlignedLoad(type, address(from, index), alignment(from))));
  };
  if (!mask) return read();
  llvm::BasicBlock *before = b.GetInsertBlock(), *wanted = new_block("wanted"), *after = new_block("loaded");
  b.CreateCondBr(mask, wanted, after);
  b.SetInsertPoint(wanted);
  Value* loaded = read();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  auto* result = b.CreatePHI(other->getType(), 2);
  result->addIncoming(loaded, wanted);
  result->addIncoming(other, before);
  return result;
}

void FunctionEmitter::store(const Stmt& s) {
  const BufferInfo& to = buffer(s.name);
  PTO_CHECK(s.index.size() == 1, std::string(kWhere), "an index is not flat: store to " + s.name.str());
  const Expr& index = s.index[0];
  Value* v = value(s.value);
  Value* mask = s.mask ? value(s.mask) : nullptr;
  const int lanes = std::max({lanes_of(v), index.lanes(), mask ? lanes_of(mask) : 1});
  if (mask && is_all(mask, false)) return;
  if (mask && is_all(mask, true)) mask = nullptr;
  v = to_memory(to, v);
  if (lanes > 1)
    return store_lanes(to, index, lanes, ops_.splat_lanes(v, lanes),
                       mask ? ops_.splat_lanes(mask, lanes) : nullptr);
  Value* at = value(index);
  if (!mask) {
    tag(to, b.CreateAlignedStore(v, address(to, at), alignment(to)));
    return;
  }
  llvm::BasicBlock *wanted = new_block("wanted"), *after = new_block("stored");
  b.CreateCondBr(mask, wanted, after);
  b.SetInsertPoint(wanted);
  tag(to, b.CreateAlignedStore(v, address(to, at), alignment(to)));
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::store_lanes(const BufferInfo& to, const Expr& index, int lanes, Value* v, Value* mask) {
  const Linear form = linear(index);
  if (form && (is_constant(form.stride, 1) || is_constant(form.stride, -1))) {
    Value* first = value(form.base);
    if (is_constant(form.stride, -1)) {
      first = b.CreateSub(first, b.getInt64(static_cast<uint64_t>(lanes - 1)));
      v = reversed(v);
      if (mask) mask = reversed(mask);
    }
    Value* at = address(to, first);
    if (mask && !inside_register(to, first, lanes)) {
      tag(to, b.CreateMaskedStore(v, at, alignment(to), mask));
      return;
    }
    if (mask) v = b.CreateSelect(mask, v, b.CreateAlignedLoad(v->getType(), at, alignment(to)));
    tag(to, b.CreateAlignedStore(v, at, alignment(to)));
    return;
  }
  // The last lane wins; it is known which one that is if all are stored.
  if (form && !mask && is_constant(form.stride, 0)) {
    Value* last = b.CreateExtractElement(v, static_cast<uint64_t>(lanes - 1));
    tag(to, b.CreateAlignedStore(last, address(to, value(form.base)), alignment(to)));
    return;
  }
  if (!mask) mask = b.getAllOnesMask(lanes_count(lanes));
  // A scatter writes in the order of its lanes.
  tag(to, b.CreateMaskedScatter(v, lane_addresses(to, index, form, lanes), alignment(to), mask));
}

}  // namespace pto::llvm_codegen
