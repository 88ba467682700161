#pragma once
// One loop program to one LLVM function with the signature pto_kernel (runtime/cpu/abi.h).
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "codegen/codegen.h"
#include "codegen/llvm/ops.h"

namespace pto::llvm_codegen {

// Bounds of an index, in doubles: they only decide which of two equivalent forms is emitted, and
// leave a wide margin to the range of int64.
struct Range {
  double lo, hi;
  bool known() const { return lo > -0x1p60 && hi < 0x1p60; }
};
constexpr double kMaxSize = 0x1p48;   // no size, and no number of elements, comes near this

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module& module, const LoopProgram& program, const Target& target);
  void emit();

 private:
  // A buffer: its address, and what its accesses are told about aliases.
  struct BufferInfo {
    Value* address = nullptr;
    DType dtype = DType::F32;
    Scope scope = Scope::Param;
    int64_t elements = 0;   // of a register
    llvm::MDNode *alias_scope = nullptr, *no_alias = nullptr;
  };
  // A variable. A let that reads no memory keeps its definition, for the analysis of indices.
  struct Binding {
    Value* value = nullptr;
    Expr definition;
    Range range{-INFINITY, INFINITY};
  };
  // Lane i of a vector index is base + i * stride.
  struct Linear {
    Expr base, stride;
    explicit operator bool() const { return static_cast<bool>(base); }
  };
  // A comparison that holds for the lanes below a scalar, or for those above.
  struct LaneBound {
    Expr bound;
    bool below = true;
    explicit operator bool() const { return static_cast<bool>(bound); }
  };
  enum WorkerField { kIndex, kCount, kBarrier, kShared, kScratch, kError };

  // emit.cpp: the function and its statements.
  void prologue();
  void describe_buffers();
  Value* worker_field(WorkerField field, llvm::Type* type);
  Value* constant_load(llvm::Type* type, Value* at);
  llvm::BasicBlock* new_block(const char* name);
  void statements(const std::vector<StmtPtr>& body);
  void scoped(const std::vector<StmtPtr>& body);
  void statement(const Stmt& s);
  void for_loop(const Stmt& s);
  void loop(Symbol var, Range range, Value* lo, Value* hi, Value* step, const std::vector<StmtPtr>& body);
  void if_then(const Stmt& s);
  void let(const Stmt& s);
  void check(const Stmt& s);
  void alloc(const Stmt& s);

  // emit_expr.cpp: expressions. A node is computed once in the region that its first use dominates;
  // one that reads memory, once in a statement.
  Value* value(const Expr& e);
  Value* node(const Expr& e);
  Value* compare(const Expr& e, const LaneBound& bound);
  Value* integer_division(const Expr& e);
  Value* operation(const Expr& e);
  size_t evaluated_operands(const Expr& e) const;
  void forget_reads();
  void forget_since(size_t mark);
  Range range_of(const Expr& e, int depth = 0) const;
  Linear linear(const Expr& e, int depth = 0) const;
  LaneBound lane_bound(const Expr& e) const;

  // emit_transposed.cpp: the columns of a square of memory, by the loads that read them; loaded together.
  struct Square {
    std::vector<Exprs> columns;
    std::vector<Value*> values;
  };
  bool crosses_memory(const Expr& e) const;
  size_t find_squares(const std::vector<StmtPtr>& body, size_t first);
  Value* load_from_square(const Expr& e);
  void transpose(std::vector<Value*>& rows);

  // emit_memory.cpp: loads and stores. An empty mask means all lanes.
  Value* load(const Expr& e);
  void store(const Stmt& s);
  Value* load_lanes(const BufferInfo& from, const Expr& index, int lanes, Value* mask, Value* other);
  void store_lanes(const BufferInfo& to, const Expr& index, int lanes, Value* v, Value* mask);
  Value* load_contiguous(const BufferInfo& from, Value* first, int lanes);
  Value* load_strided(const BufferInfo& from, Value* base, int stride, int lanes);
  Value* load_scalar(const BufferInfo& from, Value* index, Value* mask, Value* other);
  Value* address(const BufferInfo& buffer, Value* index);
  Value* lane_addresses(const BufferInfo& buffer, const Expr& index, const Linear& form, int lanes);
  bool inside_register(const BufferInfo& buffer, Value* index, int lanes) const;
  template <class Access>
  Access* tag(const BufferInfo& buffer, Access* access) const;
  llvm::Align alignment(const BufferInfo& buffer) const;
  Value* to_memory(const BufferInfo& buffer, Value* v);
  Value* from_memory(const BufferInfo& buffer, Value* v);
  Value* reversed(Value* v);
  const BufferInfo& buffer(Symbol name) const;

  llvm::LLVMContext& context_;
  llvm::Module& module_;
  const LoopProgram& program_;
  const Target& target_;
  Builder b;
  OpEmitter ops_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;   // allocas stand here
  Value* worker_ = nullptr;
  bool in_parallel_ = false;

  std::map<Symbol, BufferInfo> buffers_;
  std::unordered_map<const Stmt*, BufferInfo> allocs_;   // as they will be in buffers_
  std::map<Symbol, Size> offsets_;                       // into scratch
  std::map<Symbol, Binding> bindings_;

  struct Memo {
    Value* value;
    bool reads_memory;
  };
  std::unordered_map<const ExprNode*, Memo> memo_;
  std::vector<Expr> log_;     // of memo_, in order: an inner region's nodes are forgotten at its end
  std::unordered_map<const ExprNode*, std::shared_ptr<Square>> squares_;
  std::vector<Expr> reads_;   // of memo_: nodes that read memory
};

}  // namespace pto::llvm_codegen
