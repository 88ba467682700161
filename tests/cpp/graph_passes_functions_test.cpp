// Every case of every function, by kernels: what the passes and fusion make of it computes the same,
// and every kernel has a schedule.
#include "functions_cases.h"
#include "fusion_check.h"

namespace pto::testing {
namespace {

TEST(FuseFunctions, EveryCaseComputesTheSame) {
  const std::vector<Target> targets{make_target("x86.avx512")};
  for_each_function_case([&](FunctionCase& c, const std::string& text) {
    const Graph graph = c.inputs.graph(c.results(text));
    const auto want = interpret(graph, c.inputs.buffers());
    bool halves = false;
    for (const auto& b : c.inputs.buffers()) halves |= is_half(b->dtype);
    const Graph simpler = run_graph_passes(graph);
    SCOPED_TRACE(to_text(simpler));
    for (const bool fused : {false, true})
      expect_same_results(run_kernels(simpler, c.inputs.buffers(), fused, targets).outputs, want,
                          halves ? 0.02 : 1e-3, fused ? "fused" : "one by one");
  });
}

}  // namespace
}  // namespace pto::testing
