#pragma once
// A compiler bug leaves the program that shows it in a file that pto-opt runs.
#include "base/error.h"
#include "exec/kernel_cache.h"

namespace pto {

// `error` with the text in a file and the command in the message: `pto-opt --target=... ARGUMENTS FILE`,
// with PTO_DEBUG=compare if it is to be run. As it is if an inner part of the compiler has left a file
// already, or if no file can be written.
[[noreturn]] void raise_reproducible(const InternalError& error, const std::string& text,
                                     const std::string& arguments, const CompileOptions& options);

// The argument that runs it for these sizes.
std::string run_option(const Sizes& sizes);

// Lines that may follow the text: what it is run on, up to a megabyte, and the way back, which takes them
// off the text.
std::string arguments_text(const std::vector<BufferPtr>& arguments);
std::vector<BufferPtr> take_arguments(std::string& text);

// What was to be compiled, with its schedule if that can be made.
std::string text_of(const KernelSource& source, const CompileOptions& options);

}  // namespace pto
