#pragma once
// What the interpreter of programs and the compiled ones share.
#include "exec/program.h"

namespace pto {

// Raises the error of a failed check: "[take] index out of range ..." names the operator.
[[noreturn]] void raise_check(const std::string& message, Loc loc);
Loc check_loc(const Step& step, size_t number);
// The schedule that a program's text fixes for a kernel: of this class, else of every class.
const Schedule* fixed_schedule(const Program& root, Symbol kernel, const std::string& size_class);

// Who looks on while a program is interpreted.
struct Watcher {
  virtual ~Watcher() = default;
  // Before a launch, in whatever program: the kernel's operands, and its results uninitialised.
  virtual void launch(const Step& step, const std::vector<BufferPtr>& buffers, const Sizes& sizes) = 0;
  // After a step of the outermost program, which goes on with `results`.
  virtual void done(const Step& step, std::vector<BufferPtr>& results) = 0;
};
std::vector<BufferPtr> interpret(const Program& program, const std::vector<BufferPtr>& inputs,
                                 const Sizes& extra, Watcher* watcher);

}  // namespace pto
