// Text of graphs: exact round trips, refusals with a message, and text that is no graph at all.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "functions_run.h"
#include "ops/compose.h"
#include "ops/control.h"
#include "ops/index_attrs.h"
#include "ops/leaf_attrs.h"
#include "ops/size_context.h"

namespace pto {
namespace {

// A bit of everything: symbolic sizes, constants, several results, nested graphs, locations, odd names.
Graph example() {
  const WithLoc loc(Loc({"dir/model \"x\".py", 12, 4, 9, "Block.forward"}));
  const Size n = var("N");
  Graph graph;
  graph.name = "example";
  const Value x = make_input("x", {DType::F32, {n, Size(6)}}, Loc({"a.py", 3, 0, 0, ""}));
  const Value y = make_input("self.w", {DType::F32, {Size(6)}}), z = make_input("odd name", {DType::I64, {}});
  const Value again = make_input("x", {DType::F32, {}});
  graph.inputs = {x.node, y.node, z.node, again.node};
  const auto data = make_buffer(DType::F32, {6});
  const float values[] = {0.1f, -0.0f, INFINITY, NAN, 1e-45f, 3e38f};
  std::memcpy(data->data, values, sizeof values);
  auto constant = std::make_shared<ConstantAttrs>();
  constant->value = data;
  const Value c = make_value("constant", {}, constant, current_loc());
  const Value top = call("softmax", {add(mul(x, y), c)})[0];
  const Values best = call("topk", {top, int64_t{2}});
  const Value scaled = mul(best[0], Operand(bitcast(DType::F64, var("s0"))));
  Graph branch;
  const Value p = make_input("p", {DType::F32, {n, Size(2)}});
  branch.name = "branch";
  branch.inputs = {p.node};
  branch.outputs = {add(p, 1.5)};
  auto cond = std::make_shared<CondAttrs>();
  cond->then = std::make_shared<const Graph>(branch);
  branch.outputs = {mul(p, p)};
  cond->orelse = std::make_shared<const Graph>(branch);
  const Value chosen = make_value("cond", {less(z, int64_t{3}), scaled}, cond, current_loc());
  graph.outputs = {chosen, best[1], add(again, Operand(n)), x};
  graph.guards = {equal(mod(n, Size(2)), Size(0))};
  return graph;
}

TEST(GraphText, RoundTripsExactly) {
  const Graph graph = example();
  verify(graph, "test");
  const std::string text = to_text(graph);
  const Graph back = parse_graph(text);
  verify(back, "test");
  EXPECT_EQ(to_text(back), text);
  for (const char* part :
       {"guard (N % 2 == 0)", "\"odd name\"", "self.w: f32[6]", "then = graph branch(p: f32[N, 2]",
        ":12:4-9 \"Block.forward\"", "bitcast(f64, s0)", "return"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(to_text(graph, false).find('@'), std::string::npos);
}

TEST(GraphText, ParsedGraphComputesTheSame) {
  const Graph graph = example(), back = parse_graph(to_text(graph));
  std::vector<BufferPtr> inputs;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{4, 6}, {6}, {}, {}}) {
    inputs.push_back(make_buffer(inputs.size() == 2 ? DType::I64 : DType::F32, shape));
    for (int64_t i = 0; i < inputs.back()->elements(); i++)
      Elements(inputs.back()).set(i, Scalar::from_int(inputs.back()->dtype, i % 5 - 2));
  }
  const Sizes extra{{Symbol("s0"), std::bit_cast<int64_t>(0.25)}};
  const auto a = interpret(graph, inputs, extra), b = interpret(back, inputs, extra);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) {
    ASSERT_EQ(a[i]->bytes(), b[i]->bytes());
    EXPECT_EQ(std::memcmp(a[i]->data, b[i]->data, static_cast<size_t>(a[i]->bytes())), 0) << "output " << i;
  }
}

TEST(GraphText, KnownResultsStandAsConstants) {
  const Value x = make_input("x", {DType::I32, {Size(2)}}), y = add(x, x);
  const auto data = make_buffer(DType::I32, {2});
  Elements(data).set(0, Scalar::from_int(DType::I32, 1));
  Elements(data).set(1, Scalar::from_int(DType::I32, -1));
  y.node->set_data({data});
  Graph graph;
  graph.outputs = {mul(y, y)};
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("constant() {value = i32[2] \"01000000ffffffff\"}"), std::string::npos) << text;
  EXPECT_EQ(to_text(parse_graph(text)), text);
  EXPECT_EQ(y.node->inputs().size(), 0u);
}

TEST(GraphText, Refusals) {
  const std::pair<const char*, const char*> cases[] = {
      {"graph f(x: f32[2]) { %0 = nonsense(x) return %0 }", "unknown operator 'nonsense'"},
      {"graph f(x: f32[2]) { %0 = negative(y) return %0 }", "unknown value 'y'"},
      {"graph f(x: f32[2], x: f32[2]) { return x }", "'x' is defined twice"},
      {"graph f(x: f32[2]) { %0 = negative(x) : f32[3] return %0 }", "has the type f32[2]"},
      {"graph f(x: f32[2]) { %0, %1 = negative(x) return %0 }", "has 1 results"},
      {"graph f(x: f32[2]) { %0 = add(x) return %0 }", "another number of operands"},
      {"graph f(x: f32[2]) { %0 = reduce(x) {axis = [0]} return %0 }", "no such attribute"},
      {"graph f(x: f32[2]) { %0 = reduce(x) {axes = [4]} return %0 }", "out of range"},
      {"graph f(x: f32[2]) { guard (3) return x }", "a guard must be a bool"},
      {"graph f(x: f99[2]) { return x }", "expected a type"},
      {"graph f(x: f32[2]) { return x } more", "expected the end"},
      {"graph f() { %0 = constant() {value = f32[2] \"0000\"} return %0 }", "expected data of 8 bytes"},
      {"graph f() { %0 = constant() {value = bool[1] \"07\"} return %0 }", "a bool is 00 or 01"},
      {"graph f() { %0 = constant() return %0 }", "dense elements"},
      {"graph f() { %0 = input() return %0 }", "unknown operator 'input'"},
      {"graph f(x: f32[2]) { %0 = cond(x) return %0 }", "the predicate must be one bool"},
  };
  for (const auto& [text, message] : cases) {
    const std::string got = error_of([&] { parse_graph(text); });
    EXPECT_NE(got.find(message), std::string::npos) << text << "\n" << got;
  }
}

TEST(GraphText, NestingIsBounded) {
  std::string text = "graph f(p: bool[]) { return p }";
  for (int i = 0; i < 40; i++)
    text = "graph f(p: bool[]) { %0 = cond(p, p) {then = " + text +
           ", orelse = graph g(p: bool[]) { return p }} return %0 }";
  EXPECT_NE(error_of([&] { parse_graph(text); }).find("nested deeper"), std::string::npos);
}

// Whatever stands in a text, the answer is a graph or the user's error.
TEST(GraphText, MutatedTextNeverCrashes) {
  const std::string good = to_text(example());
  std::mt19937 random(7);
  const std::string bits = "(){}[]%=,:@\"-+*/<>0123456789 abcdefghijklmnopqrstuvwxyz._\n\\";
  int parsed = 0;
  for (int round = 0; round < 4000; round++) {
    std::string text = good;
    for (int k = static_cast<int>(random() % 4); k >= 0; k--) {
      const size_t at = random() % text.size(), length = 1 + random() % 12;
      switch (random() % 4) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, 1, bits[random() % bits.size()]); break;
        case 2: text[at] = bits[random() % bits.size()]; break;
        default: text.insert(at, good.substr(random() % good.size(), length));
      }
      if (text.empty()) text = "g";
    }
    try {
      to_text(parse_graph(text));
      parsed++;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(parsed, 0);
}

}  // namespace
}  // namespace pto
