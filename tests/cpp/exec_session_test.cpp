// Lazy evaluation: structures that were seen before compile nothing; graphs of any depth.
#include <thread>

#include "api/session.h"
#include "exec_check.h"

namespace pto::testing {
namespace {

Value data(std::vector<int64_t> shape, double value) {
  const auto b = make_buffer(DType::F32, std::move(shape));
  for (int64_t i = 0; i < b->elements(); i++) static_cast<float*>(b->data)[i] = static_cast<float>(value);
  return make_data(b);
}

float first(const Value& v) { return *static_cast<const float*>(data_of(v)->data); }

TEST(ExecSession, EqualStructuresCompileOnce) {
  int64_t compiled = 0;
  for (int i = 0; i < 5; i++) {
    const Value x = data({3}, i), y = data({3}, 2);
    EXPECT_EQ(first(add(mul(x, y), x)), 3 * i);
    if (i == 0) compiled = counters().graphs_compiled;
  }
  EXPECT_EQ(counters().graphs_compiled, compiled);
  const Value x = data({3}, 1), y = data({3}, 2);
  EXPECT_EQ(first(add(mul(x, y), y)), 4);   // other operands
  EXPECT_EQ(counters().graphs_compiled, compiled + 1);
}

TEST(ExecSession, SeveralValuesAreOneProgram) {
  const Value x = data({4}, 3), y = mul(x, 2.0), z = add(y, 1.0);
  const int64_t runs = counters().runs;
  materialise({y, z, x});
  EXPECT_EQ(counters().runs, runs + 1);
  EXPECT_EQ(first(y), 6);
  EXPECT_EQ(first(z), 7);
  EXPECT_EQ(counters().runs, runs + 1);
}

TEST(ExecSession, DeepChains) {
  Value x = data({1}, 0);
  for (int i = 0; i < 100'000; i++) x = add(x, 1.0);
  EXPECT_EQ(first(x), 100'000);
}

TEST(ExecSession, DeepChainsAreDroppedUnevaluated) {
  Value x = data({1}, 0);
  for (int i = 0; i < 100'000; i++) x = add(x, 1.0);
  x = {};
}

TEST(ExecSession, DeepGraphsCompileInOnePiece) {
  const Value x = input("x", {1});
  Value y = x;
  for (int i = 0; i < 100'000; i++) y = add(y, 1.0);
  const auto e = compile(graph_of({x}, {y}), without_disk());
  const auto zero = make_buffer(DType::F32, {1});
  *static_cast<float*>(zero->data) = 0;
  EXPECT_EQ(*static_cast<float*>(e->run({zero})[0]->data), 100'000);
}

TEST(ExecSession, WideGraphs) {
  Value sum = data({2}, 0);
  for (int i = 0; i < 6000; i++) sum = add(sum, data({2}, 1));
  EXPECT_EQ(first(sum), 6000);
}

TEST(ExecSession, ThreadsShareValues) {
  for (int round = 0; round < 20; round++) {
    const Value x = data({8}, round), y = add(mul(x, x), 1.0);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; t++)
      threads.emplace_back(
          [&, t] { wrong += first(add(y, static_cast<double>(t))) != round * round + 1 + t; });
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace pto::testing
