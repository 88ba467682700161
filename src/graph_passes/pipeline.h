#pragma once
// The passes over the tensor graph, in one ordered list (pipeline.cpp). Each is verified with
// PTO_DEBUG, and can be turned off by name.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/node.h"

namespace pto {

struct GraphPass {
  std::string name;
  std::string doc;   // what it does, and why it stands where it stands
  Graph (*run)(const Graph&);
};
const std::vector<GraphPass>& graph_passes();
Graph run_graph_passes(Graph graph, const std::set<std::string>& off = {},
                       const std::function<void(const std::string&, const Graph&)>& after = {});

}  // namespace pto
