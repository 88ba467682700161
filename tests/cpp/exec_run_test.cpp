// Running: sizes, guards, errors, control flow, foreign calls, threads, run-time scalars.
#include <chrono>
#include <thread>

#include "exec_check.h"
#include "ops/control.h"
#include "ops/foreign.h"
#include "ops/leaf_attrs.h"
#include "runtime/cpu/pool.h"

namespace pto::testing {
namespace {

BufferPtr f32(std::vector<int64_t> shape, const std::vector<float>& values) {
  const auto b = make_buffer(DType::F32, std::move(shape));
  std::memcpy(b->data, values.data(), values.size() * sizeof(float));
  return b;
}

std::vector<float> floats(const BufferPtr& b) {
  const auto* data = static_cast<const float*>(b->data);
  return {data, data + b->elements()};
}

GraphAttr attr(Graph graph) { return std::make_shared<const Graph>(std::move(graph)); }

// Compiled, its text parsed back, and both interpreters.
void expect_all_ways(const Graph& graph, const std::vector<BufferPtr>& inputs,
                     const std::vector<float>& want) {
  const auto compiled = compile(graph, without_disk());
  verify(compiled->program(), "test");
  EXPECT_EQ(floats(interpret(graph, inputs)[0]), want);
  EXPECT_EQ(floats(interpret(compiled->program(), inputs)[0]), want);
  EXPECT_EQ(floats(compiled->run(inputs)[0]), want);
  for (const std::string level : {"schedule", "exec"}) {
    const std::string text = compiled->text(level);
    SCOPED_TRACE(text);
    const Program parsed = parse_program(text);
    EXPECT_EQ(to_text(parsed), text);
    EXPECT_EQ(floats(Executable(parsed, without_disk()).run(inputs)[0]), want);
  }
}

TEST(ExecRun, InputsAreChecked) {
  const Value x = input("x", {var("B"), 4}), y = input("y", {var("B")});
  const auto e = compile(graph_of({x, y}, {add(x, reshape(y, {var("B"), 1}))}), without_disk());
  const auto ok = filled(DType::F32, {3, 4}, 1), short_y = filled(DType::F32, {2}, 1);
  EXPECT_NE(error_of([&] { e->run({ok}); }).find("another number of inputs"), std::string::npos);
  EXPECT_NE(error_of([&] { e->run({ok, short_y}); }).find("input y has another size of axis 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { e->run({ok, ok}); }).find("input y has another rank"), std::string::npos);
  EXPECT_NE(
      error_of([&] { e->run({filled(DType::I32, {3, 4}, 1), short_y}); }).find("input x has another type"),
      std::string::npos);
  EXPECT_EQ(e->run({ok, filled(DType::F32, {3}, 1)})[0]->shape, (std::vector<int64_t>{3, 4}));
  EXPECT_NE(error_of([&] { e->run({ok, short_y}); }).find("input y"), std::string::npos);
}

TEST(ExecRun, StridedInputsArePacked) {
  const Value x = input("x", {2, 3});
  const auto e = compile(graph_of({x}, {mul(x, 2.0)}), without_disk());
  const auto whole = f32({6}, {0, 1, 2, 3, 4, 5});
  auto reversed = std::make_shared<Buffer>(*whole);
  reversed->shape = {2, 3};
  reversed->strides = {-3, -1};
  reversed->data = static_cast<float*>(whole->data) + 5;
  EXPECT_EQ(floats(e->run({reversed})[0]), (std::vector<float>{10, 8, 6, 4, 2, 0}));
}

TEST(ExecRun, GuardsHoldOrAreErrors) {
  const Value x = input("x", {var("B")});
  Graph graph = graph_of({x}, {add(x, 1.0)});
  graph.guards.push_back(equal(mod(var("B"), Expr(2)), Expr(0)));
  const auto e = compile(graph, without_disk());
  EXPECT_EQ(e->run({filled(DType::F32, {4}, 1)})[0]->shape[0], 4);
  const std::string error = error_of([&] { e->run({filled(DType::F32, {3}, 1)}); });
  EXPECT_NE(error.find("B % 2 == 0"), std::string::npos) << error;
  EXPECT_NE(error.find("B = 3"), std::string::npos) << error;
}

TEST(ExecRun, RunTimeNumbersNeedNoNewPlan) {
  const Value x = input("x", {4});
  auto attrs = std::make_shared<SizeAttrs>();
  attrs->value = {bitcast(DType::F64, var("rate"))};
  const Value rate = cast(make_value("size", {}, attrs), DType::F32);
  const auto e = compile(graph_of({x}, {mul(x, broadcast_to(rate, {4}))}), without_disk());
  const auto ones = f32({4}, {1, 1, 1, 1});
  const int64_t before = counters().size_classes;
  for (const double r : {0.5, 2.0, -3.0}) {
    const Sizes extra{{Symbol("rate"), std::bit_cast<int64_t>(r)}};
    EXPECT_EQ(floats(e->run({ones}, extra)[0]), std::vector<float>(4, static_cast<float>(r)));
  }
  EXPECT_LE(counters().size_classes - before, 1);
  EXPECT_NE(error_of([&] { e->run({ones}); }).find("no input gives the size rate"), std::string::npos);
}

TEST(ExecRun, SizeClassesAreCountedPerProgram) {
  const Value x = input("x", {var("M"), 48}), w = input("w", {48, 70}), v = input("v", {70, 20});
  const auto e = compile(graph_of({x, w, v}, {matmul(matmul(x, w), v)}), without_disk());
  const int64_t before = counters().size_classes;
  for (const int64_t m : {100, 300, 3, 8, 200, 1, 65, 1})
    e->run(
        {filled(DType::F32, {m, 48}, 1), filled(DType::F32, {48, 70}, 1), filled(DType::F32, {70, 20}, 1)});
  EXPECT_EQ(counters().size_classes - before, 3);   // many rows, some (8 at most), one
}

TEST(ExecRun, IndicesOutsideAreErrorsWithTheLine) {
  const Loc loc({.file = "model.py", .line = 7});
  const Value x = input("x", {5}), i = input("i", {3}, DType::I64);
  Value taken;
  {
    const WithLoc at(loc);
    taken = call("take", {x, i}, {{"axis", int64_t{0}}})[0];
  }
  const auto e = compile(graph_of({x, i}, {taken}), without_disk());
  const auto index = make_buffer(DType::I64, {3});
  const auto set = [&](std::vector<int64_t> v) { std::memcpy(index->data, v.data(), 24); };
  set({0, -1, 4});
  const auto bx = f32({5}, {0, 1, 2, 3, 4});
  EXPECT_EQ(floats(e->run({bx, index})[0]), (std::vector<float>{0, 4, 4}));
  set({0, 5, 4});
  const std::string error = error_of([&] { e->run({bx, index}); });
  EXPECT_NE(error.find("[take] index out of range for axis 0 of size 5"), std::string::npos) << error;
  EXPECT_NE(error.find("model.py:7"), std::string::npos) << error;
  set({0, -5, 4});
  EXPECT_EQ(floats(e->run({bx, index})[0]), (std::vector<float>{0, 0, 4}));
}

TEST(ExecRun, ResultsMayBeInputsAndEachOther) {
  const Value x = input("x", {2, 2});
  const Value y = add(x, 1.0);
  const Graph graph = graph_of({x}, {y, x, y, reshape(y, {4}), reshape(x, {4})});
  const auto e = compile(graph, without_disk());
  verify(e->program(), "test");
  const std::vector<BufferPtr> inputs{f32({2, 2}, {1, 2, 3, 4})};
  const auto got = e->run(inputs);
  expect_equal_bits(got, interpret(graph, inputs), "aliases");
  EXPECT_NE(got[0]->data, got[2]->data);
  EXPECT_NE(got[1]->data, inputs[0]->data);
}

TEST(ExecRun, Cond) {
  const Value p = input("p", {}, DType::Bool), x = input("x", {3});
  const Value a = input("a", {3}), b = input("b", {3});
  auto attrs = std::make_shared<CondAttrs>();
  attrs->then = attr(graph_of({a}, {mul(a, 2.0)}));
  attrs->orelse = attr(graph_of({b}, {b}));
  const Graph graph = graph_of({p, x}, {add(make_value("cond", {p, x}, attrs), 1.0)});
  const auto flag = make_buffer(DType::Bool, {});
  const auto bx = f32({3}, {1, 2, 3});
  *static_cast<uint8_t*>(flag->data) = 1;
  expect_all_ways(graph, {flag, bx}, {3, 5, 7});
  *static_cast<uint8_t*>(flag->data) = 0;
  expect_all_ways(graph, {flag, bx}, {2, 3, 4});
}

// Doubles until the first element exceeds a limit that is a constant of the loop.
TEST(ExecRun, While) {
  auto state = [](const char* name) { return input(name, {2}); };
  const Value x = state("x"), limit = input("limit", {});
  const Value s = state("s"), l = input("l", {}), t = state("t"), m = input("m", {});
  auto attrs = std::make_shared<WhileAttrs>();
  attrs->state = 1;
  attrs->condition = attr(graph_of({s, l}, {elementwise("less", {reshape(slice(s, {0}, {1}, {1}), {}), l})}));
  attrs->body = attr(graph_of({t, m}, {mul(t, 2.0)}));
  const Graph graph = graph_of({x, limit}, {make_value("while_loop", {x, limit}, attrs)});
  for (const auto& [most, factor] : {std::pair{0.5f, 1.0f}, {1.5f, 2.0f}, {3.0f, 4.0f}, {100.0f, 128.0f}})
    expect_all_ways(graph, {f32({2}, {1, 3}), f32({}, {most})}, {factor, 3 * factor});
}

TEST(ExecRun, Scan) {
  for (const bool reverse : {false, true})
    for (const int64_t n : {0, 1, 2, 5}) {
      const Value c = input("c", {2}), xs = input("xs", {var("N"), 2});
      const Value carry = input("carry", {2}), x = input("x", {2});
      const Value next = add(carry, x);
      auto attrs = std::make_shared<ScanLoopAttrs>();
      attrs->carries = attrs->sequences = 1;
      attrs->length = {var("N")};
      attrs->reverse = reverse;
      attrs->body = attr(graph_of({carry, x}, {next, mul(next, 10.0)}));
      const Value scan = make_value("scan_loop", {c, xs}, attrs);
      const Graph graph = graph_of({c, xs}, {scan, {scan.node, 1}});
      const std::vector<BufferPtr> inputs{f32({2}, {1, 2}), filled(DType::F32, {n, 2}, 5)};
      const auto e = compile(graph, without_disk());
      const auto want = interpret(graph, inputs);
      expect_equal_bits(e->run(inputs), want, "scan");
      expect_equal_bits(interpret(e->program(), inputs), want, "scan");
      expect_equal_bits(Executable(parse_program(e->text("loop")), without_disk()).run(inputs), want,
                        "scan's text");
    }
}

TEST(ExecRun, ForeignCalls) {
  int calls = 0;
  const int64_t function = register_foreign([&](const std::vector<BufferPtr>& in) -> std::vector<BufferPtr> {
    calls++;
    auto out = floats(in[0]);
    for (float& v : out) v = -v;
    static_cast<float*>(in[0]->data)[0] = 77;   // its own copy
    return {f32(in[0]->shape, out)};
  });
  auto attrs = std::make_shared<ForeignAttrs>();
  attrs->name = "negated";
  attrs->function = function;
  attrs->add_result({DType::F32, {2, 2}});
  const Value x = input("x", {4});
  const Value y = make_value("foreign", {reshape(add(x, 1.0), {2, 2})}, attrs);
  const Graph graph = graph_of({x}, {add(reshape(y, {4}), x)});
  expect_all_ways(graph, {f32({4}, {1, 2, 3, 4})}, {-1, -1, -1, -1});
  EXPECT_EQ(calls, 5);
  const auto e = compile(graph, without_disk());
  release_foreign(function);
  EXPECT_NE(error_of([&] { e->run({f32({4}, {1, 2, 3, 4})}); }).find("not present in this process"),
            std::string::npos);
}

TEST(ExecRun, ManyThreadsAtOnce) {
  const Value x = input("x", {var("B"), 64}), w = input("w", {64, 64});
  const Graph graph = graph_of({x, w}, {call("softmax", {matmul(x, w)}, {{"axis", int64_t{-1}}})[0]});
  const auto e = compile(graph, without_disk());
  const auto bw = filled(DType::F32, {64, 64}, 9);
  std::vector<std::vector<BufferPtr>> want;
  for (int64_t b = 1; b <= 5; b++)
    want.push_back(compile(graph, without_disk())->run({filled(DType::F32, {b * 40, 64}, 3), bw}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; t++)
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < 40; turn++) {
        const int64_t b = (t + turn) % 5;
        const auto got = e->run({filled(DType::F32, {(b + 1) * 40, 64}, 3), bw});
        wrong += std::memcmp(got[0]->data, want[b][0]->data, static_cast<size_t>(got[0]->bytes())) != 0;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ExecRun, AnyNumberOfThreadsGivesTheSameBits) {
  const Value x = input("x", {var("B"), 200}), w = input("w", {200, 300});
  const Value h = call("softmax", {matmul(x, w)}, {{"axis", int64_t{-1}}})[0];
  const Graph graph = graph_of({x, w}, {h, reduce("add", h, {0}, false)});
  const auto e = compile(graph, without_disk());
  const std::vector<BufferPtr> inputs{filled(DType::F32, {500, 200}, 3), filled(DType::F32, {200, 300}, 4)};
  const int threads = num_threads();
  const auto want = e->run(inputs);
  for (const int n : {1, 2, 3, 7}) {
    set_num_threads(n);
    expect_equal_bits(e->run(inputs), want, std::to_string(n) + " threads");
  }
  set_num_threads(threads);
}

TEST(ExecRun, SmallCallsAreQuick) {
  const Value x = input("x", {var("B"), 16}), y = input("y", {var("B"), 16});
  const auto e = compile(graph_of({x, y}, {add(mul(x, y), 1.0)}), without_disk());
  const std::vector<BufferPtr> inputs{filled(DType::F32, {4, 16}, 1), filled(DType::F32, {4, 16}, 2)};
  e->run(inputs);
  double best = 1e9;
  for (int turn = 0; turn < 20; turn++) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; i++) e->run(inputs);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / 100);
  }
  RecordProperty("microseconds", std::to_string(best));
  EXPECT_LT(best, 20);
}

}  // namespace
}  // namespace pto::testing
