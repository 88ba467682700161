#include "exec/listing.h"

#include <algorithm>

#include "base/error.h"
#include "codegen/codegen.h"
#include "exec/kernel_cache.h"
#include "exec/steps.h"

namespace pto {
namespace {

const std::vector<std::string> kLevels = {"tile", "schedule", "loop", "loop.lowered",
                                          "exec", "c",        "llvm", "asm"};

// Every kernel as it runs for these sizes. One that runs in several classes becomes several.
class Specialiser {
 public:
  Specialiser(const Program& root, std::string level, const Sizes& sizes, const CompileOptions& options)
      : root_(root), level_(std::move(level)), sizes_(sizes), options_(options) {}

  Program run() {
    Program p = steps(root_);
    p.kernels = std::move(kernels_);
    p.schedules = std::move(schedules_);
    p.loops = std::move(loops_);
    return p;
  }

 private:
  Program steps(const Program& program) {
    Program p = program;
    for (auto& s : p.steps) {
      if (s.kind == StepKind::Launch) s.kernel = specialised(s);
      for (auto& inner : s.programs) inner = std::make_shared<const Program>(steps(*inner));
    }
    return p;
  }

  Symbol specialised(const Step& s) {
    KernelSource source;
    if (const auto it = root_.kernels.find(s.kernel); it != root_.kernels.end()) {
      source.kernel = &it->second;
      source.size_class = size_class(it->second, launch_sizes(s, sizes_), options_.target);
      source.schedule = fixed_schedule(root_, s.kernel, source.size_class);
    } else {
      source.loop = &root_.loops.at(s.kernel);
    }
    const auto [it, added] = names_.try_emplace({s.kernel, source.size_class}, s.kernel);
    if (!added) return it->second;
    for (int n = 1; taken_.count(it->second); n++)
      it->second = Symbol(s.kernel.str() + "_" + std::to_string(n));
    taken_.insert(it->second);
    add(it->second, source);
    return it->second;
  }

  void add(Symbol name, const KernelSource& source) {
    if (level_ == "schedule" && source.kernel) {
      Scheduled made = scheduled(source, options_);
      made.kernel.name = made.schedule.kernel = name;
      // It serves all sizes here: classes of a kernel with stages are others.
      if (!made.schedule.size_class.empty())
        made.schedule.because.insert(made.schedule.because.begin(), "class: " + made.schedule.size_class);
      made.schedule.size_class.clear();
      kernels_.emplace(name, std::move(made.kernel));
      schedules_[name].push_back(std::move(made.schedule));
      return;
    }
    const bool passed = level_ == "loop.lowered" || level_ == "llvm" || level_ == "asm";
    LoopProgram loop = passed ? finished(source, options_) : lowered(source, options_);
    loop.name = name;
    loops_.emplace(name, std::move(loop));
  }

  const Program& root_;
  const std::string level_;
  const Sizes& sizes_;
  const CompileOptions& options_;
  std::map<std::pair<Symbol, std::string>, Symbol> names_;
  std::set<Symbol> taken_;
  std::map<Symbol, Kernel> kernels_;
  std::map<Symbol, std::vector<Schedule>> schedules_;
  std::map<Symbol, LoopProgram> loops_;
};

}  // namespace

std::string listing(const Program& program, const std::string& level, const Sizes& sizes,
                    const CompileOptions& options) {
  if (std::find(kLevels.begin(), kLevels.end(), level) == kLevels.end())
    throw Error({.op = "text",
                 .message = "there is no level " + quote(level),
                 .expected = "one of " + join(kLevels, ", ")});
  if (level == "tile") return to_text(program);
  if (level == "exec") return to_text(with_plans(program, sizes));
  const Program special = Specialiser(program, level, sizes, options).run();
  if (level != "c" && level != "llvm" && level != "asm") return to_text(special);
  std::vector<LoopProgram> loops;
  for (const auto& [name, loop] : special.loops) loops.push_back(loop);
  if (level != "c")
    return llvm_generate(loops, options.target, level == "llvm" ? LlvmOutput::LlvmIr : LlvmOutput::Assembly);
  return c_generate(loops, options.target, passes_off(options, PassLevel::Loop));
}

}  // namespace pto
