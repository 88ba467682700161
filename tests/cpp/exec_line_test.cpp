// The whole line: graphs compiled to machine code, against the interpreter of graphs; and every
// text of a program runs with the same bits.
#include "exec_check.h"
#include "ops/size_context.h"

namespace pto::testing {
namespace {

const std::vector<std::string> kRunnable = {"tile", "schedule", "loop", "loop.lowered", "exec"};

void expect_line(const Graph& graph, const std::vector<BufferPtr>& inputs, double tolerance) {
  SCOPED_TRACE(to_text(graph));
  const auto want = interpret(graph, inputs);
  const auto compiled = compile(graph, without_disk());
  verify(compiled->program(), "test");
  const auto got = compiled->run(inputs);
  expect_same_results(got, want, tolerance, "compiled");
  expect_same_results(interpret(compiled->program(), inputs), want, tolerance, "interpreted program");
  for (const auto& level : kRunnable) {
    const std::string text = compiled->text(level);
    SCOPED_TRACE(text);
    const Program parsed = parse_program(text);
    EXPECT_EQ(to_text(parsed), text);
    expect_equal_bits(Executable(parsed, without_disk()).run(inputs), got, level);
  }
}

TEST(ExecLine, MatrixProduct) {
  SizeContext context;
  const WithSizeContext with(context);
  const Value x = input("x", {var("M"), var("K")}), w = input("w", {var("K"), 40});
  const Graph graph = graph_of({x, w}, {matmul(x, w)});
  for (int64_t m : {0, 1, 3, 50})
    for (int64_t k : {1, 33})
      expect_line(graph, {filled(DType::F32, {m, k}, 1), filled(DType::F32, {k, 40}, 2)}, 1e-5);
}

TEST(ExecLine, SoftmaxAndLayerNorm) {
  const Value x = input("x", {var("B"), var("N")}), w = input("w", {var("N")}), b = input("b", {var("N")});
  const Value s = call("softmax", {x}, {{"axis", int64_t{-1}}})[0];
  const Value n = call("layer_norm", {x, Exprs{var("N")}}, {{"weight", w}, {"bias", b}})[0];
  for (int64_t rows : {1, 5})
    for (int64_t columns : {1, 17, 300}) {
      const auto bx = filled(DType::F32, {rows, columns}, 3);
      expect_line(graph_of({x}, {s}), {bx}, 1e-5);
      expect_line(graph_of({x, w, b}, {n, add(n, 1.0)}),
                  {bx, filled(DType::F32, {columns}, 4), filled(DType::F32, {columns}, 5)}, 1e-4);
    }
}

TEST(ExecLine, EveryFunctionsCases) {
  for_each_function_case([](FunctionCase& c, const std::string& text) {
    const Graph graph = c.inputs.graph(c.results(text));
    bool halves = false;
    for (const auto& b : c.inputs.buffers()) halves |= is_half(b->dtype);
    const auto want = interpret(graph, c.inputs.buffers());
    const auto compiled = compile(graph, without_disk());
    expect_same_results(compiled->run(c.inputs.buffers()), want, halves ? 0.02 : 1e-3, "compiled");
  });
}

}  // namespace
}  // namespace pto::testing
