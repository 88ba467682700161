#pragma once
// What the interpreter of programs and the compiled ones share.
#include "exec/program.h"

namespace pto {

// Raises the error of a failed check: "[take] index out of range ..." names the operator.
[[noreturn]] void raise_check(const std::string& message, Loc loc);
Loc check_loc(const Step& step, size_t number);
// The schedule that a program's text fixes for a kernel: of this class, else of every class.
const Schedule* fixed_schedule(const Program& root, Symbol kernel, const std::string& size_class);

}  // namespace pto
