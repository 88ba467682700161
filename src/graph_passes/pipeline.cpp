#include "graph_passes/pipeline.h"

#include "base/interrupt.h"
#include "base/settings.h"
#include "graph_passes/broadcasting.h"
#include "graph_passes/canonicalise.h"
#include "graph_passes/cse.h"
#include "graph_passes/dce.h"
#include "graph_passes/fold.h"

namespace pto {

const std::vector<GraphPass>& graph_passes() {
  static const std::vector<GraphPass> passes = {
      {"canonicalise",
       "One form for what can be written in several. First, so that the others see fewer cases.",
       canonicalise},
      {"fold", "What is known becomes constants. After canonicalise, which brings constants together.",
       fold_constants},
      {"broadcasting",
       "What is computed on repeated elements is computed once and then repeated. After fold, so that "
       "known scalars are seen as such; before cse, which it gives equal nodes.",
       sink_broadcasts},
      {"cse", "Nodes that compute the same become one. After folding, which makes more operands the same.",
       merge_common_nodes},
      {"dce",
       "Results of control rows that nothing uses are dropped. Last, when all others have left what they do not need.",
       drop_dead_results},
  };
  return passes;
}

Graph run_graph_passes(Graph graph, const std::set<std::string>& off,
                       const std::function<void(const std::string&, const Graph&)>& after) {
  if (settings().debug) verify(graph, "graph");
  for (const auto& pass : graph_passes()) {
    if (off.count(pass.name)) continue;
    check_interrupt();
    graph = pass.run(graph);
    if (settings().debug) verify(graph, "graph_passes/" + pass.name);
    if (after) after(pass.name, graph);
  }
  return graph;
}

}  // namespace pto
