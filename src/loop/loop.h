#pragma once
// Loop programs: explicit loops, vectors and memory; the last level before machine code.
//
//   loop mlp_up[M, K, N](x: f32[M, K], w: f32[K, N], out y: f32[M, N]) {
//     alloc wp: f32[(N + 31) // 32, K, 32] shared
//     parallel jo in 0 .. (N + 31) // 32 {
//       for k in 0 .. K { ... }
//     }
//     barrier
//     for j in 0 .. N step 16 {
//       let m = ramp(j, 1, 16) < broadcast(N, 16)
//       y[i, ramp(j, 1, 16)] = a + b if m
//     }
//     check 0 <= idx, 0
//   }
//
// Meaning. Every worker runs the program (single program, multiple data). `parallel` divides its
// iterations between the workers, each iteration once; `barrier` waits until all workers arrive and
// makes their writes visible; it may stand only where all workers agree to come. Statements run in
// order; a store happens after its operands are read; lanes of a vector store that hit the same
// place write in ascending order. `if` on the right of a store, on its line, is a lane mask; a scalar
// among the vectors of a store is the same in all lanes. Indices are row-major within the buffer's
// shape and in bounds wherever the mask (or LoadIf's predicate) holds. `alloc` is uninitialised,
// lives to the end of its block, once per worker ("private", "register") or once in all ("shared", at
// the top level only); its size depends on the sizes alone. Registers are indexed by constants after
// unrolling. A name is seen to the end of its block, where no other may have it.
// `check c, n` raises the error flag with message n if c is false (in any lane).
// Expressions mean what expr/expr.h says, computed as loop/transform.h says.
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/loc.h"
#include "expr/size.h"

namespace pto {

enum class StmtKind : uint8_t { Block, For, If, Let, Store, Alloc, Barrier, Check };
enum class ForKind : uint8_t { Serial, Parallel, Unrolled, Vector };
enum class Scope : uint8_t { Param, Shared, Private, Register };

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;

struct Stmt {
  StmtKind kind;
  Loc loc;
  std::vector<StmtPtr> body;     // Block, For; If: then
  std::vector<StmtPtr> orelse;   // If
  // For: name, lo, hi, step; Let: name, value; Store: name, index, value, mask; Alloc: name, dtype,
  // shape, scope; If, Check: value (the condition); Check: number.
  Symbol name;
  Expr lo, hi, step;
  ForKind for_kind = ForKind::Serial;
  Exprs index;
  Expr value, mask;
  DType dtype = DType::F32;
  Shape shape;
  Scope scope = Scope::Private;
  int number = 0;
};

// Makers; they check what can be checked locally.
StmtPtr block(std::vector<StmtPtr> body);
StmtPtr for_loop(ForKind kind, Symbol var, Expr lo, Expr hi, Expr step, std::vector<StmtPtr> body,
                 Loc loc = {});
StmtPtr if_then(Expr condition, std::vector<StmtPtr> then, std::vector<StmtPtr> orelse = {}, Loc loc = {});
StmtPtr let(Symbol name, Expr value);
StmtPtr store(Symbol buffer, Exprs index, Expr value, Expr mask = {}, Loc loc = {});
StmtPtr alloc(Symbol name, DType dtype, Shape shape, Scope scope);
StmtPtr barrier();
StmtPtr check(Expr condition, int number, Loc loc = {});

struct LoopParam {
  Symbol name;
  DType dtype;
  Shape shape;
  bool output = false;
};

struct LoopProgram {
  Symbol name;
  std::vector<Symbol> sizes;
  std::vector<LoopParam> params;
  std::vector<StmtPtr> body;
  std::vector<std::string> messages;   // of checks
  std::vector<std::string> because;    // what the schedule decided; printed as comments by generators
  bool parallel() const;               // is there any parallel loop?
};

std::string to_text(const LoopProgram& program);
std::string to_text(const StmtPtr& stmt, int indent = 0);
LoopProgram parse_loop(Lexer& in);
void verify(const LoopProgram& program, std::string_view where);
// One worker runs everything (parallel loops ascend); `error` receives the first failed check.
void interpret(const LoopProgram& program, const std::vector<BufferPtr>& buffers, const Sizes& sizes,
               std::string* error = nullptr);

// loop/lower.cpp: definition and schedule to a loop program, mechanically.
struct Kernel;
struct Schedule;
struct Target;
LoopProgram lower(const Kernel& kernel, const Schedule& schedule, const Target& target);

}  // namespace pto
