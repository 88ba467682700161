// Work that is asked to stop: nothing is left half-done, and the same work succeeds afterwards.
#include <atomic>
#include <thread>

#include "api/session.h"
#include "base/interrupt.h"
#include "exec_check.h"
#include "ops/control.h"

namespace pto::testing {
namespace {

struct Interrupt {};
std::atomic<int> questions{0};

// Runs `work` with a check that ends it at once. On a thread of its own, which has asked nothing yet.
bool interrupted(const std::function<void()>& work) {
  questions = 0;
  set_interrupt_check([] {
    questions++;
    throw Interrupt();
  });
  bool thrown = false;
  std::thread([&] {
    try {
      work();
    } catch (const Interrupt&) {
      thrown = true;
    }
  }).join();
  set_interrupt_check(nullptr);
  return thrown;
}

float first(const BufferPtr& b) { return *static_cast<const float*>(b->data); }

TEST(ExecInterrupt, NothingAsksWithoutACheck) {
  check_interrupt();
  EXPECT_TRUE(interrupted([] { check_interrupt(); }));
  check_interrupt();
}

TEST(ExecInterrupt, AThreadAsksNowAndThen) {
  questions = 0;
  set_interrupt_check([] { questions++; });
  std::thread([] {
    for (int i = 0; i < 1000; i++) check_interrupt();
  }).join();
  set_interrupt_check(nullptr);
  EXPECT_GE(questions, 1);
  EXPECT_LT(questions, 1000);
}

TEST(ExecInterrupt, Compilation) {
  const Value x = input("x", {7});
  const Graph graph = graph_of({x}, {mul(add(x, 4.5), 3.25)});
  const auto seven = filled(DType::F32, {7}, 1);
  EXPECT_TRUE(interrupted([&] { compile(graph, without_disk()); }));
  const auto executable = compile(graph, without_disk());
  const int64_t kernels = counters().kernels_compiled;
  EXPECT_TRUE(interrupted([&] { executable->run({seven}); }));   // before its kernel
  EXPECT_EQ(counters().kernels_compiled, kernels);
  EXPECT_EQ(first(executable->run({seven})[0]), (first(seven) + 4.5f) * 3.25f);
  EXPECT_EQ(counters().kernels_compiled, kernels + 1);
}

TEST(ExecInterrupt, ALoopOfAProgram) {
  const Value x = input("x", {2}), s = input("s", {2}), t = input("t", {2});
  auto attrs = std::make_shared<WhileAttrs>();
  attrs->state = 1;
  attrs->condition = std::make_shared<const Graph>(
      graph_of({s}, {elementwise("less", {reshape(slice(s, {0}, {1}, {1}), {}), 100.0})}));
  attrs->body = std::make_shared<const Graph>(graph_of({t}, {add(t, 1.0)}));
  const auto e = compile(graph_of({x}, {make_value("while_loop", {x}, attrs)}), without_disk());
  const auto zero = make_buffer(DType::F32, {2});
  std::fill_n(static_cast<float*>(zero->data), 2, 0.0f);
  EXPECT_EQ(first(e->run({zero})[0]), 100);   // compiles
  EXPECT_TRUE(interrupted([&] { e->run({zero}); }));
  EXPECT_EQ(first(e->run({zero})[0]), 100);
}

TEST(ExecInterrupt, LazyValuesStayPending) {
  const auto two = make_buffer(DType::F32, {1});
  *static_cast<float*>(two->data) = 2;
  const Value y = mul(make_data(two), 21.0);
  EXPECT_TRUE(interrupted([&] { materialise({y}); }));
  EXPECT_FALSE(y.node->has_data());
  EXPECT_EQ(first(data_of(y)), 42);
}

}  // namespace
}  // namespace pto::testing
