#include "loop_passes/pipeline.h"

#include <algorithm>

#include "base/error.h"
#include "base/settings.h"
#include "loop_passes/dead_code.h"
#include "loop_passes/expand_math.h"
#include "loop_passes/flatten.h"
#include "loop_passes/hoist.h"
#include "loop_passes/simplify.h"
#include "loop_passes/unroll.h"
#include "loop_passes/vectorise.h"

namespace pto {

const std::vector<LoopPass>& loop_passes() {
  using namespace passes;
  static const std::vector<LoopPass> list = {
      {"expand_math", "elementary functions, halves and fused products as they are computed", true, true,
       &expand_math},
      {"vectorise", "vector loops become lanes", true, true, &vectorise},
      {"unroll", "unrolled loops become copies", true, false, &unroll},
      {"flatten", "one row-major index an access", true, true, &flatten},
      {"simplify", "constants fold, integers simplify, known conditions decide", false, true, &simplify},
      {"hoist", "integer arithmetic moves out of loops", false, false, &hoist},
      {"dead_code", "what nothing uses goes", false, true, &dead_code},
  };
  return list;
}

namespace {

using After = std::function<void(const std::string&, const LoopProgram&)>;

LoopProgram run(LoopProgram program, const Target& target, const std::set<std::string>& off, bool c,
                const After& after) {
  const auto& passes = loop_passes();
  for (const auto& name : off) {
    const auto pass =
        std::find_if(passes.begin(), passes.end(), [&](const auto& p) { return p.name == name; });
    if (pass == passes.end()) throw Error("loop passes", "there is no loop pass called " + name);
    if (pass->required && (!c || pass->for_c))
      throw Error("loop passes", (c ? "C" : "machine code") + std::string(" needs the loop pass ") + name);
  }
  if (settings().debug) verify(program, "loop/lower");
  for (const auto& pass : passes) {
    if (off.count(pass.name) || (c && !pass.for_c)) continue;
    program = pass.run(program, target);
    if (settings().debug) verify(program, "loop_passes/" + pass.name);
    if (after) after(pass.name, program);
  }
  return program;
}

}  // namespace

LoopProgram run_loop_passes(LoopProgram program, const Target& target, const std::set<std::string>& off,
                            const After& after) {
  return run(std::move(program), target, off, false, after);
}

LoopProgram run_loop_passes_for_c(LoopProgram program, const Target& target,
                                  const std::set<std::string>& off) {
  return run(std::move(program), target, off, true, {});
}

}  // namespace pto
