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
      {"expand_math", "elementary functions, halves and fused products as they are computed", true, &expand_math},
      {"vectorise", "vector loops become lanes", true, &vectorise},
      {"unroll", "unrolled loops become copies", true, &unroll},
      {"flatten", "one row-major index an access", true, &flatten},
      {"simplify", "constants fold, integers simplify, known conditions decide", false, &simplify},
      {"hoist", "integer arithmetic moves out of loops", false, &hoist},
      {"dead_code", "what nothing uses goes", false, &dead_code},
  };
  return list;
}

LoopProgram run_loop_passes(LoopProgram program, const Target& target, const std::set<std::string>& off,
                            const std::function<void(const std::string&, const LoopProgram&)>& after) {
  const auto& passes = loop_passes();
  for (const auto& name : off) {
    const auto pass = std::find_if(passes.begin(), passes.end(), [&](const auto& p) { return p.name == name; });
    if (pass == passes.end()) throw Error("loop passes", "there is no loop pass called " + name);
    if (pass->required) throw Error("loop passes", "machine code needs the loop pass " + name);
  }
  if (settings().debug) verify(program, "loop/lower");
  for (const auto& pass : passes) {
    if (off.count(pass.name)) continue;
    program = pass.run(program, target);
    if (settings().debug) verify(program, "loop_passes/" + pass.name);
    if (after) after(pass.name, program);
  }
  return program;
}

}  // namespace pto
