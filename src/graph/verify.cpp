// What every graph keeps to, checked in one walk.
#include <unordered_set>

#include "graph/rows.h"

namespace pto {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, std::string_view where) : graph_(graph), where_(where) {}

  void run() {
    for (const auto& input : graph_.inputs) {
      check(input != nullptr, "an input is nothing");
      check(is_input(*input), "an input is made by " + text(*input));
      check(inputs_.insert(input.get()).second, "an input stands twice in the list");
    }
    for (const auto& v : graph_.outputs) value(v, "an output");
    for (const auto& g : graph_.guards)
      check(g && g.type() == DType::Bool && g.lanes() == 1, "a guard is no bool: " + g.str());
    // Operands are checked when their user is met: before that, an order cannot be trusted.
    std::vector<const Node*> pending;
    std::unordered_set<const Node*> seen;
    auto enter = [&](const NodePtr& n) {
      if (seen.insert(n.get()).second) pending.push_back(n.get());
    };
    for (const auto& input : graph_.inputs) enter(input);
    for (const auto& v : graph_.outputs) enter(v.node);
    while (!pending.empty()) {
      const Node& n = *pending.back();
      pending.pop_back();
      node(n);
      for (const auto& v : n.inputs()) enter(v.node);
    }
  }

 private:
  static bool is_input(const Node& n) { return n.row() && row_name(*n.row()) == "input"; }

  static std::string text(const Node& n) {
    std::string out = n.row() ? std::string(row_name(*n.row())) : "no row";
    return n.loc().known() ? out + " at " + n.loc().str() : out;
  }

  void check(bool condition, const std::string& message) const {
    if (!condition) throw InternalError(std::string(where_), "graph " + graph_.name + ": " + message);
  }

  void value(const Value& v, const std::string& what) const {
    check(v.node != nullptr, what + " is nothing");
    check(v.index >= 0 && static_cast<size_t>(v.index) < v.node->outputs().size(),
          what + " is result " + std::to_string(v.index) + " of " + text(*v.node));
  }

  void node(const Node& n) {
    check(n.row() != nullptr, "a node has no row");
    check(n.attrs() != nullptr, text(n) + " has no attributes");
    for (const auto& type : n.outputs())
      for (const auto& size : type.shape)
        check(size && size.type() == DType::I64 && size.lanes() == 1,
              text(n) + " has a size that is no integer");
    if (is_input(n)) check(inputs_.count(&n) > 0, "an input is used that is not in the list: " + text(n));
    if (n.has_data()) return;   // what led to it is gone
    check(row_name(*n.row()) != "data", "a data node holds nothing");
    for (size_t i = 0; i < n.inputs().size(); i++)
      value(n.inputs()[i], "operand " + std::to_string(i) + " of " + text(n));
    types(n);
  }

  void types(const Node& n) {
    NodePtr again;
    try {
      again = make_checked_node(*n.row(), n.inputs(), n.attrs(), n.loc());
    } catch (const Error& e) {
      check(false, text(n) + " is refused by its row: " + e.what());
    }
    check(again->outputs().size() == n.outputs().size(),
          text(n) + " has another number of results than its row says");
    for (size_t i = 0; i < n.outputs().size(); i++) {
      const TensorType &own = n.outputs()[i], &said = again->outputs()[i];
      bool same = own.dtype == said.dtype && own.rank() == said.rank();
      for (int d = 0; same && d < own.rank(); d++)
        same = own.shape[d] == said.shape[d] || prove_equal(own.shape[d], said.shape[d]) != false;
      check(same, "result " + std::to_string(i) + " of " + text(n) + " is " + own.str() + ", its row says " +
                      said.str());
    }
    nested(n);
  }

  // Control rows hold graphs, a few deep.
  void nested(const Node& n) {
    struct Finder : AttrIgnorer {
      using AttrIgnorer::field;
      std::vector<std::shared_ptr<const Graph>> graphs;
      void field(const char*, std::shared_ptr<const Graph>& graph) override {
        if (graph) graphs.push_back(graph);
      }
    } finder;
    read(*n.attrs(), finder);
    for (const auto& graph : finder.graphs) Verifier(*graph, where_).run();
  }

  const Graph& graph_;
  std::string_view where_;
  std::unordered_set<const Node*> inputs_;
};

}  // namespace

void verify(const Graph& graph, std::string_view where) { Verifier(graph, where).run(); }

}  // namespace pto
