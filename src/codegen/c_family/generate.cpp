// C that compiles alone. Unrolled loops stay loops and arithmetic of indices stands where it is used: C
// compilers do both, and people read it.
#include <unordered_set>

#include "codegen/c_family/render.h"
#include "loop_passes/pipeline.h"

namespace pto {
namespace {

constexpr const char* kHead =
    "/* cc -O2 -ffp-contract=off -fPIC -shared kernel.c -o kernel.so -lm\n"
    " * Without contraction of products and sums, any C compiler gives the same bits. */\n"
    "#include <math.h>\n"
    "#include <stdbool.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n\n";

constexpr const char* kInterface =
    "/* What runs the kernel: all workers call it, and each takes its share of the iterations. */\n"
    "typedef struct pto_worker {\n"
    "  int64_t index, count;                   /* this worker, and how many there are */\n"
    "  void (*barrier)(struct pto_worker *);\n"
    "  char *shared;                           /* one block for all, 64-byte aligned */\n"
    "  char *scratch;                          /* one block of its own, 64-byte aligned */\n"
    "  int32_t *error;                         /* 0, or 1 + the number of the first failed check */\n"
    "  void *pool;\n"
    "} pto_worker;\n\n";

// The program's name, as far as C allows: letters, and no word that it has.
std::string function_name(const LoopProgram& p, std::unordered_set<std::string>& taken) {
  std::string name = p.name.str();
  for (auto& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (c_family::words().count(name) || name.rfind("pto_", 0) == 0) name = "kernel_" + name;
  const std::string base = name;
  for (int n = 1; !taken.insert(name).second; n++) name = base + "_" + std::to_string(n);
  return name;
}

// Text of the program inside a comment.
std::string commented(std::string text) {
  for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at))
    text.replace(at, 2, "* /");
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) text[at] = ' ';
  return text;
}

std::string header(const LoopProgram& p, const std::string& name, const ScratchLayout& scratch,
                   const Target& target) {
  std::string text = "/* " + name;
  std::string sizes;
  for (Symbol s : p.sizes) sizes += (sizes.empty() ? "" : ", ") + s.str();
  text += "[" + sizes + "]\n *\n";
  for (size_t i = 0; i < p.params.size(); i++) {
    const auto& param = p.params[i];
    text += std::string(" *   buffers[") + std::to_string(i) + "]  " + (param.output ? "out " : "in  ") +
            param.name.str() + ": " + std::string(pto::name(param.dtype)) + shape_text(param.shape) + "\n";
  }
  text += " *   scratch bytes: " + to_text(scratch.shared_bytes) + " shared, " +
          to_text(scratch.private_bytes) + " of each worker\n";
  for (size_t i = 0; i < p.messages.size(); i++)
    text += " *   check " + std::to_string(i) + ": " + commented(p.messages[i]) + "\n";
  if (!p.because.empty()) text += " *\n";
  for (const auto& reason : p.because) text += " * " + commented(reason) + "\n";
  text += " * made for " + target.name + "\n */\n";
  return text;
}

}  // namespace

std::string c_generate(const std::vector<LoopProgram>& programs, const Target& target,
                       const std::set<std::string>& off) {
  c_family::Prelude prelude;
  std::string functions;
  std::unordered_set<std::string> names;
  for (const auto& program : programs) {
    const LoopProgram p = run_loop_passes_for_c(program, target, off);
    const std::string name = function_name(p, names);
    functions += "\n" + header(program, name, scratch_layout(p), target) +
                 c_family::Renderer(p, name, prelude).function();
  }
  return std::string(kHead) + kInterface + prelude.text() + functions.substr(functions.empty() ? 0 : 1);
}

}  // namespace pto
