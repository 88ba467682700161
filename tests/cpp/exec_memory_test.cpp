// The memory plan: what is alive at the same time never overlaps, and what is not shares memory.
#include <random>

#include "exec_check.h"

namespace pto::testing {
namespace {

// Steps that read some buffers which exist and write new ones.
Program random_program(std::mt19937& random, int steps) {
  Program p;
  p.sizes = {Symbol("N")};
  const auto add = [&](BufferKind kind) {
    const Size size = random() % 2 ? Size(static_cast<int64_t>(random() % 300)) : var("N") * Expr(static_cast<int>(random() % 5));
    p.buffers.push_back({Symbol("b" + std::to_string(p.buffers.size())), kind, DType::F32, {size}, nullptr});
    return static_cast<int>(p.buffers.size()) - 1;
  };
  p.inputs = {add(BufferKind::Input)};
  for (int s = 0; s < steps; s++) {
    Step step{.kind = StepKind::Launch};
    for (uint32_t i = random() % 3; i > 0; i--) step.inputs.push_back(static_cast<int>(random() % p.buffers.size()));
    for (uint32_t i = 1 + random() % 2; i > 0; i--)
      step.outputs.push_back(add(random() % 8 ? BufferKind::Temp : BufferKind::Output));
    p.steps.push_back(step);
  }
  return p;
}

TEST(ExecMemory, LiveBuffersNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; round++) {
    const Program p = random_program(random, 1 + static_cast<int>(random() % 60));
    const Sizes sizes{{Symbol("N"), static_cast<int64_t>(random() % 500)}};
    const MemoryPlan plan = plan_memory(p, sizes);
    struct Life {
      int first = -1, last = -1;
    };
    std::vector<Life> lives(p.buffers.size());
    for (int s = 0; s < static_cast<int>(p.steps.size()); s++) {
      auto touch = [&](int b) {
        if (lives[b].first < 0) lives[b].first = s;
        lives[b].last = s;
      };
      for (int b : p.steps[s].inputs) touch(b);
      for (int b : p.steps[s].outputs) touch(b);
    }
    auto bytes = [&](size_t b) { return 4 * eval_size(p.buffers[b].shape[0], sizes); };
    int64_t all = 0;
    for (size_t a = 0; a < p.buffers.size(); a++) {
      if (p.buffers[a].kind != BufferKind::Temp) {
        EXPECT_EQ(plan.offsets[a], -1);
        continue;
      }
      all += (bytes(a) + 63) / 64 * 64 + 64;
      ASSERT_GE(plan.offsets[a], 0);
      EXPECT_EQ(plan.offsets[a] % 64, 0);
      EXPECT_LE(plan.offsets[a] + bytes(a), plan.arena_bytes);
      for (size_t b = 0; b < a; b++) {
        if (plan.offsets[b] < 0 || lives[a].last < lives[b].first || lives[b].last < lives[a].first) continue;
        EXPECT_TRUE(plan.offsets[a] + bytes(a) <= plan.offsets[b] || plan.offsets[b] + bytes(b) <= plan.offsets[a])
            << "buffers " << a << " and " << b;
      }
    }
    EXPECT_LE(plan.arena_bytes, all);
  }
}

TEST(ExecMemory, AChainNeedsTwoPlaces) {
  Program p;
  for (int i = 0; i < 10; i++)
    p.buffers.push_back({Symbol("b" + std::to_string(i)), i == 0   ? BufferKind::Input
                                                          : i == 9 ? BufferKind::Output
                                                                   : BufferKind::Temp,
                         DType::F32, {1024}, nullptr});
  for (int i = 0; i < 9; i++) p.steps.push_back({.kind = StepKind::Copy, .inputs = {i}, .outputs = {i + 1}});
  const MemoryPlan plan = plan_memory(p, {});
  EXPECT_EQ(plan.arena_bytes, 2 * 4096);
  EXPECT_EQ(plan.input_bytes, 4096);
  EXPECT_EQ(plan.output_bytes, 4096);
}

TEST(ExecMemory, SizesThatOverflowAreErrors) {
  const Value x = input("x", {var("B")});
  const auto e = compile(graph_of({x}, {broadcast_to(reshape(x, {var("B"), 1}), {var("B"), var("B")})}), without_disk());
  EXPECT_NE(error_of([&] { e->memory({{Symbol("B"), int64_t{1} << 40}}); }).find("larger than any memory"),
            std::string::npos);
}

}  // namespace
}  // namespace pto::testing
