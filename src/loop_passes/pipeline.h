#pragma once
// The loop passes, in one ordered list (pipeline.cpp). Each is verified with PTO_DEBUG, and can be
// turned off by name; the list says which are required, and which C is better without.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "schedule/target.h"

namespace pto {

struct LoopPass {
  std::string name;
  std::string doc;
  bool required;  // generators need it
  bool for_c;     // C wants it: compilers do the rest, and people read the text
  LoopProgram (*run)(const LoopProgram&, const Target&);
};
const std::vector<LoopPass>& loop_passes();
// Runs the list; `off` names passes to leave out (a required one is refused with pto::Error).
// `after` is called with each pass's name and result.
LoopProgram run_loop_passes(LoopProgram program, const Target& target, const std::set<std::string>& off = {},
                            const std::function<void(const std::string&, const LoopProgram&)>& after = {});
// The same, with the passes that C wants.
LoopProgram run_loop_passes_for_c(LoopProgram program, const Target& target,
                                  const std::set<std::string>& off = {});

}  // namespace pto
