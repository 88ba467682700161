#pragma once
// Generators read loop programs that have been through all required loop passes: flat indices,
// no vector or unrolled loops, no math operations, no halves in arithmetic but that of an hreduce,
// whose every step rounds.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "schedule/target.h"

namespace pto {

// Bytes of scratch that a program's allocs need, as functions of its sizes. Allocs are laid out in
// order of appearance, 64-byte aligned; blocks that do not overlap in time share memory.
struct ScratchLayout {
  Size shared_bytes, private_bytes;
  std::vector<std::pair<Symbol, Size>> offsets;   // of every alloc that is not a register
};
ScratchLayout scratch_layout(const LoopProgram& program);

// --- codegen/llvm: in a library of its own (libpto_llvm.so), opened at the first use -------------
// codegen/llvm/plugin.h lists its C entry points; these call it.
enum class LlvmOutput { Object, Assembly, LlvmIr };
// Several programs become functions of one object; a function's name is its program's.
std::string llvm_generate(const std::vector<LoopProgram>& programs, const Target& target, LlvmOutput output);
bool llvm_available(std::string* why_not);

// --- codegen/c_family -----------------------------------------------------------------------------
// Readable C that compiles alone: a function with pto_kernel's signature for each program, under a comment
// that says what was decided. It runs the passes that it needs, without those in `off`; programs as they were
// lowered read best.
std::string c_generate(const std::vector<LoopProgram>& programs, const Target& target,
                       const std::set<std::string>& off = {});

// --- codegen/object_loader.h: relocatable x86-64 ELF to executable memory, without LLVM ---------
class LoadedObject {
 public:
  static std::shared_ptr<LoadedObject> load(std::string_view object);  // InternalError if malformed
  ~LoadedObject();
  void* symbol(const std::string& name) const;  // nullptr if there is none

 private:
  LoadedObject() = default;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pto
