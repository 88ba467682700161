#include "codegen/llvm/emit.h"

#include <cstddef>

#include "base/error.h"
#include "runtime/cpu/abi.h"

namespace pto::llvm_codegen {
namespace {

constexpr std::string_view kWhere = "codegen/llvm";
// Every alloc that is not a register, with those that are alive at the same time.
struct AllocWalk {
  std::vector<const Stmt*> allocs, alive;
  std::unordered_map<const Stmt*, std::vector<const Stmt*>> together;

  void visit(const std::vector<StmtPtr>& body) {
    const size_t mark = alive.size();
    for (const auto& s : body) {
      if (s->kind == StmtKind::Alloc && s->scope != Scope::Register) {
        for (const Stmt* other : alive) {
          together[other].push_back(s.get());
          together[s.get()].push_back(other);
        }
        allocs.push_back(s.get());
        alive.push_back(s.get());
      }
      visit(s->body);
      visit(s->orelse);
    }
    alive.resize(mark);
  }
};

}  // namespace

FunctionEmitter::FunctionEmitter(llvm::Module& module, const LoopProgram& program, const Target& target)
    : context_(module.getContext()),
      module_(module),
      program_(program),
      target_(target),
      b(context_, llvm::InstSimplifyFolder(module.getDataLayout())),
      ops_(b, target) {}

void FunctionEmitter::emit() {
  prologue();
  describe_buffers();
  statements(program_.body);
  b.CreateRetVoid();
  // The entry holds allocas and what all the rest needs; code begins in the block after it.
  llvm::IRBuilder<>(entry_).CreateBr(entry_->getNextNode());
}

void FunctionEmitter::prologue() {
  llvm::Type* pointer = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, program_.name.str(), module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::MustProgress);
  function_->addFnAttr("target-cpu", target_.cpu);
  if (!target_.features.empty()) function_->addFnAttr("target-features", target_.features);
  const std::string width = std::to_string(target_.vector_bytes * 8);
  function_->addFnAttr("prefer-vector-width", width);
  function_->addFnAttr("min-legal-vector-width", width);
  function_->addFnAttr("no-trapping-math", "true");
  for (unsigned i = 0; i < 3; i++) {
    function_->addParamAttr(i, llvm::Attribute::NoUndef);
    function_->addParamAttr(i, llvm::Attribute::NonNull);
  }
  entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
  b.SetInsertPoint(llvm::BasicBlock::Create(context_, "body", function_));
  worker_ = function_->getArg(2);

  for (size_t i = 0; i < program_.sizes.size(); i++) {
    Value* at = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function_->getArg(1), i);
    bindings_[program_.sizes[i]] = {constant_load(b.getInt64Ty(), at), {}, {0, kMaxSize}};
  }
  for (size_t i = 0; i < program_.params.size(); i++) {
    const auto& p = program_.params[i];
    Value* at = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function_->getArg(0), i);
    auto& info = buffers_[p.name];
    info.address = constant_load(b.getPtrTy(), at);
    info.dtype = p.dtype;
  }
}

// Gives every buffer an alias scope. Parameters are disjoint from all others (inputs may be one
// another, but nothing is stored to them). Allocs are disjoint from those that are alive at the same
// time; others may share their memory.
void FunctionEmitter::describe_buffers() {
  const ScratchLayout layout = scratch_layout(program_);
  offsets_.insert(layout.offsets.begin(), layout.offsets.end());
  AllocWalk walk;
  walk.visit(program_.body);

  llvm::MDBuilder md(context_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain();
  std::map<Symbol, llvm::Metadata*> of_param;
  std::unordered_map<const Stmt*, llvm::Metadata*> of_alloc;
  for (const auto& p : program_.params) of_param[p.name] = md.createAnonymousAliasScope(domain);
  for (const Stmt* s : walk.allocs) of_alloc[s] = md.createAnonymousAliasScope(domain);

  for (auto& [name, info] : buffers_) {
    std::vector<llvm::Metadata*> others;
    for (const auto& p : program_.params)
      if (p.name != name) others.push_back(of_param[p.name]);
    for (const Stmt* s : walk.allocs) others.push_back(of_alloc[s]);
    info.alias_scope = llvm::MDNode::get(context_, {of_param[name]});
    info.no_alias = llvm::MDNode::get(context_, others);
  }
  for (const Stmt* s : walk.allocs) {
    std::vector<llvm::Metadata*> others;
    for (const auto& p : program_.params) others.push_back(of_param[p.name]);
    for (const Stmt* other : walk.together[s]) others.push_back(of_alloc[other]);
    auto& info = allocs_[s];
    info.alias_scope = llvm::MDNode::get(context_, {of_alloc[s]});
    info.no_alias = llvm::MDNode::get(context_, others);
  }
}

Value* FunctionEmitter::worker_field(WorkerField field, llvm::Type* type) {
  static constexpr size_t offsets[] = {offsetof(pto_worker, index),   offsetof(pto_worker, count),
                                       offsetof(pto_worker, barrier), offsetof(pto_worker, shared),
                                       offsetof(pto_worker, scratch), offsetof(pto_worker, error)};
  Value* at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), worker_, offsets[field]);
  return constant_load(type, at);
}

// Of what does not change while a kernel runs.
Value* FunctionEmitter::constant_load(llvm::Type* type, Value* at) {
  auto* load = b.CreateAlignedLoad(type, at, llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::BasicBlock* FunctionEmitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

void FunctionEmitter::statements(const std::vector<StmtPtr>& body) {
  for (size_t i = 0, last = 0; i < body.size(); i++) {
    if (i >= last) {
      squares_.clear();
      last = find_squares(body, i);
    }
    statement(*body[i]);
  }
  squares_.clear();
}

// Statements of a region that need not be executed, or not once.
void FunctionEmitter::scoped(const std::vector<StmtPtr>& body) {
  const size_t mark = log_.size();
  statements(body);
  forget_since(mark);
}

void FunctionEmitter::statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::Block: statements(s.body); break;
    case StmtKind::For: for_loop(s); break;
    case StmtKind::If: if_then(s); break;
    case StmtKind::Let: let(s); break;
    case StmtKind::Store: store(s); break;
    case StmtKind::Alloc: alloc(s); break;
    case StmtKind::Barrier: {
      auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
      b.CreateCall(type, worker_field(kBarrier, b.getPtrTy()), {worker_})->setDoesNotThrow();
      break;
    }
    case StmtKind::Check: check(s); break;
  }
  forget_reads();
}

void FunctionEmitter::for_loop(const Stmt& s) {
  PTO_CHECK(s.for_kind == ForKind::Serial || s.for_kind == ForKind::Parallel, std::string(kWhere),
            "an unrolled or vector loop reached the generator: " + s.name.str());
  Value *lo = value(s.lo), *hi = value(s.hi), *step = value(s.step);
  const Range range{range_of(s.lo).lo, range_of(s.hi).hi};
  forget_reads();
  // Inside a parallel loop the iterations are this worker's already.
  if (s.for_kind == ForKind::Serial || in_parallel_) return loop(s.name, range, lo, hi, step, s.body);
  Value *zero = b.getInt64(0), *one = b.getInt64(1);
  Value* extent = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(hi, lo), zero);
  Value* n = b.CreateUDiv(b.CreateAdd(extent, b.CreateSub(step, one)), step);
  Value *index = worker_field(kIndex, b.getInt64Ty()), *count = worker_field(kCount, b.getInt64Ty());
  const auto iteration = [&](Value* worker) {
    Value* before = b.CreateUDiv(b.CreateMul(n, worker), count);
    return b.CreateAdd(lo, b.CreateMul(before, step));
  };
  Value *begin = iteration(index), *end = iteration(b.CreateAdd(index, one));
  in_parallel_ = true;
  loop(s.name, range, begin, end, step, s.body);
  in_parallel_ = false;
}

// Tests at the bottom, so that what does not change in the loop can move out of it.
void FunctionEmitter::loop(Symbol var, Range range, Value* lo, Value* hi, Value* step,
                           const std::vector<StmtPtr>& body) {
  const auto constant = [](Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); };
  const auto *first = constant(lo), *last = constant(hi), *by = constant(step);
  const bool fixed = first && last && by;
  if (fixed && first->getSExtValue() >= last->getSExtValue()) return;
  if (fixed && first->getSExtValue() + by->getSExtValue() >= last->getSExtValue()) {
    bindings_[var] = {lo, {}, range};
    return scoped(body);
  }
  llvm::BasicBlock *before = b.GetInsertBlock(), *inside = new_block("loop");
  llvm::BasicBlock *latch = new_block("next"), *after = new_block("end");
  if (fixed) {
    b.CreateBr(inside);
  } else {
    b.CreateCondBr(b.CreateICmpSLT(lo, hi), inside, after);
  }
  b.SetInsertPoint(inside);
  auto* i = b.CreatePHI(b.getInt64Ty(), 2, var.str());
  // Complete before it is used: the builder simplifies what it sees.
  b.SetInsertPoint(latch);
  Value* next = b.CreateAdd(i, step, "", /*HasNUW=*/range.lo >= 0, /*HasNSW=*/true);
  i->addIncoming(lo, before);
  i->addIncoming(next, latch);
  b.CreateCondBr(b.CreateICmpSLT(next, hi), inside, after);
  b.SetInsertPoint(inside);
  bindings_[var] = {i, {}, range};
  scoped(body);
  b.CreateBr(latch);
  b.SetInsertPoint(after);
}

void FunctionEmitter::if_then(const Stmt& s) {
  Value* condition = value(s.value);
  forget_reads();
  llvm::BasicBlock *then = new_block("then"), *after = new_block("endif");
  llvm::BasicBlock* otherwise = s.orelse.empty() ? after : new_block("else");
  b.CreateCondBr(condition, then, otherwise);
  b.SetInsertPoint(then);
  scoped(s.body);
  b.CreateBr(after);
  if (!s.orelse.empty()) {
    b.SetInsertPoint(otherwise);
    scoped(s.orelse);
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
}

void FunctionEmitter::let(const Stmt& s) {
  Value* v = value(s.value);
  const bool reads = memo_.at(s.value.get()).reads_memory;
  bindings_[s.name] = {v, reads ? Expr() : s.value, range_of(s.value)};
}

// Sets the flag if nothing has failed before.
void FunctionEmitter::check(const Stmt& s) {
  Value* holds = value(s.value);
  if (lanes_of(holds) > 1) holds = b.CreateAndReduce(holds);
  llvm::BasicBlock *failed = new_block("failed"), *after = new_block("checked");
  llvm::MDNode* likely = llvm::MDBuilder(context_).createLikelyBranchWeights();
  b.CreateCondBr(holds, after, failed, likely);
  b.SetInsertPoint(failed);
  constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;
  b.CreateAtomicCmpXchg(worker_field(kError, b.getPtrTy()), b.getInt32(0),
                        b.getInt32(static_cast<uint32_t>(s.number) + 1), llvm::Align(4), relaxed, relaxed);
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::alloc(const Stmt& s) {
  BufferInfo info = allocs_[&s];
  info.dtype = s.dtype;
  info.scope = s.scope;
  if (s.scope == Scope::Register) {
    const Size elements = simplify(product(s.shape));
    PTO_CHECK(elements.is_const(), std::string(kWhere),
              "the size of a register must be fixed: " + s.name.str());
    info.elements = elements.as_int();
    auto* type =
        llvm::ArrayType::get(memory_type(context_, s.dtype, 1), static_cast<uint64_t>(info.elements));
    info.address = new llvm::AllocaInst(type, 0, nullptr, llvm::Align(64), s.name.str(), entry_);
  } else {
    Value* block = worker_field(s.scope == Scope::Shared ? kShared : kScratch, b.getPtrTy());
    info.address = b.CreateInBoundsGEP(b.getInt8Ty(), block, value(offsets_.at(s.name)));
  }
  buffers_[s.name] = info;
}

}  // namespace pto::llvm_codegen
