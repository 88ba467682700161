// The verifier's refusals, and graphs that are very deep.
#include <gtest/gtest.h>

#include <chrono>

#include "functions_run.h"
#include "ops/compose.h"
#include "ops/leaf_attrs.h"

namespace pto {
namespace {

NodePtr raw(std::string_view row_name, Values inputs, std::vector<TensorType> types) {
  const OpRow& r = row(row_name);
  return std::make_shared<Node>(&r, r.make_attrs(), std::move(inputs), std::move(types), Loc());
}

std::string refusal(const Graph& graph) {
  try {
    verify(graph, "pass");
  } catch (const InternalError& e) {
    EXPECT_EQ(e.where(), "pass");
    return e.what();
  }
  return "";
}

TEST(GraphVerify, Refusals) {
  const TensorType type{DType::F32, {Size(2)}};
  const Value x = make_input("x", type), stranger = make_input("y", type);
  const std::pair<Graph, const char*> cases[] = {
      {{"f", {x.node}, {Value{}}, {}}, "an output is nothing"},
      {{"f", {x.node}, {{x.node, 3}}, {}}, "is result 3 of input"},
      {{"f", {x.node, x.node}, {x}, {}}, "stands twice"},
      {{"f", {negative(x).node}, {x}, {}}, "an input is made by negative"},
      {{"f", {x.node}, {add(x, stranger)}, {}}, "not in the list"},
      {{"f", {x.node}, {{raw("negative", {x}, {{DType::F32, {Size(3)}}}), 0}}, {}}, "its row says f32[2]"},
      {{"f", {x.node}, {{raw("negative", {x}, {{DType::I64, {Size(2)}}}), 0}}, {}}, "its row says f32[2]"},
      {{"f", {x.node}, {{raw("negative", {x, x}, {type}), 0}}, {}}, "is refused by its row"},
      {{"f", {x.node}, {{raw("negative", {{x.node, 1}}, {type}), 0}}, {}}, "operand 0 of negative"},
      {{"f", {}, {{raw("data", {}, {type}), 0}}, {}}, "holds nothing"},
      {{"f", {x.node}, {x}, {Size(1)}}, "a guard is no bool"},
  };
  for (const auto& [graph, message] : cases) {
    const std::string got = refusal(graph);
    EXPECT_NE(got.find(message), std::string::npos) << message << "\n" << got;
  }
  EXPECT_EQ(refusal({"f", {x.node}, {negative(x)}, {}}), "");
}

TEST(GraphDepth, HundredThousandNodes) {
  constexpr int kNodes = 100'000;
  const auto start = std::chrono::steady_clock::now();
  Graph graph;
  {
    const Value x = make_input("x", {DType::I64, {}});
    graph.inputs = {x.node};
    Value y = x;
    for (int i = 0; i < kNodes; i++) y = add(y, x);
    graph.outputs = {y};
  }
  EXPECT_EQ(graph.order().size(), kNodes + 1u);
  verify(graph, "test");
  const std::string text = to_text(graph);
  EXPECT_EQ(to_text(parse_graph(text)), text);
  const auto one = make_buffer(DType::I64, {});
  Elements(one).set(0, Scalar::from_int(DType::I64, 1));
  EXPECT_EQ(Elements(interpret(graph, {one})[0]).get(0).to_int(), kNodes + 1);
  graph = {};
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 60);
}

TEST(GraphDepth, DataFreesWhatLedToIt) {
  Value y = make_input("x", {DType::F32, {}});
  const std::weak_ptr<Node> first = y.node;
  for (int i = 0; i < 100'000; i++) y = negative(y);
  y.node->set_data({make_buffer(DType::F32, {})});
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(topological({y}).size(), 1u);
}

TEST(GraphOrder, OperandsFirstAndShared) {
  const Value x = make_input("x", {DType::F32, {}}), a = negative(x), b = add(a, a), c = mul(b, a);
  const Graph graph{"f", {x.node}, {c, b}, {}};
  EXPECT_EQ(graph.order(), (std::vector<NodePtr>{x.node, a.node, b.node, c.node}));
  EXPECT_EQ(topological({c}, [&](const Node& n) { return &n == b.node.get(); }),
            (std::vector<NodePtr>{b.node, x.node, a.node, c.node}));
}

TEST(GraphSymbols, InOrderOfAppearance) {
  const Value x = make_input("x", {DType::F32, {var("B"), var("S") * Size(2)}});
  const Graph graph{"f", {x.node}, {mul(x, Operand(bitcast(DType::F64, var("lr"))))}, {var("K") < Size(3)}};
  EXPECT_EQ(graph.size_symbols(), (std::vector<Symbol>{Symbol("B"), Symbol("S"), Symbol("lr"), Symbol("K")}));
}

// Every row says what it is, how it is tested, and what it computes.
TEST(OpTable, RowsAreComplete) {
  for (const OpRow* r : all_rows()) {
    EXPECT_FALSE(r->doc.empty()) << r->name;
    EXPECT_TRUE(r->doc.ends_with('.') || r->doc.ends_with('?')) << r->name;
    EXPECT_TRUE(r->make_attrs && r->infer) << r->name;
    EXPECT_FALSE(name(r->family).empty()) << r->name;
    EXPECT_EQ(find_row(r->name), r);
    const bool outside = r->family == Family::Control || r->family == Family::Foreign;
    const bool buffer = r->name == "input" || r->name == "data" || r->name == "constant";
    if (outside || buffer) continue;
    EXPECT_FALSE(r->test.numpy.empty()) << r->name;
    EXPECT_EQ((r->scalar != nullptr) + (r->element != nullptr) + !r->opaque.empty(), 1) << r->name;
    EXPECT_TRUE(r->scalar || r->interpret) << r->name;
  }
  EXPECT_EQ(find_row("no_such_row"), nullptr);
}

}  // namespace
}  // namespace pto
