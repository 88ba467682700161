// The memory plan: what is alive at the same time never overlaps, and what is not shares memory.
#include <random>

#include "base/extents.h"
#include "exec/recompute.h"
#include "exec/release_early.h"
#include "exec_check.h"

namespace pto::testing {
namespace {

// Steps that read some buffers which exist and write new ones.
Program random_program(std::mt19937& random, int steps) {
  Program p;
  p.sizes = {Symbol("N")};
  const auto add = [&](BufferKind kind) {
    const Size size = random() % 2 ? Size(static_cast<int64_t>(random() % 300))
                                   : var("N") * Expr(static_cast<int>(random() % 5));
    p.buffers.push_back({Symbol("b" + std::to_string(p.buffers.size())), kind, DType::F32, {size}, nullptr});
    return static_cast<int>(p.buffers.size()) - 1;
  };
  p.inputs = {add(BufferKind::Input)};
  for (int s = 0; s < steps; s++) {
    Step step{.kind = StepKind::Launch};
    for (uint32_t i = random() % 3; i > 0; i--)
      step.inputs.push_back(static_cast<int>(random() % p.buffers.size()));
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
        EXPECT_TRUE(plan.offsets[a] + bytes(a) <= plan.offsets[b] ||
                    plan.offsets[b] + bytes(b) <= plan.offsets[a])
            << "buffers " << a << " and " << b;
      }
    }
    EXPECT_LE(plan.arena_bytes, all);
  }
}

TEST(ExecMemory, AChainNeedsTwoPlaces) {
  Program p;
  for (int i = 0; i < 10; i++)
    p.buffers.push_back({Symbol("b" + std::to_string(i)),
                         i == 0   ? BufferKind::Input
                         : i == 9 ? BufferKind::Output
                                  : BufferKind::Temp,
                         DType::F32,
                         {1024},
                         nullptr});
  for (int i = 0; i < 9; i++) p.steps.push_back({.kind = StepKind::Copy, .inputs = {i}, .outputs = {i + 1}});
  const MemoryPlan plan = plan_memory(p, {});
  EXPECT_EQ(plan.arena_bytes, 2 * 4096);
  EXPECT_EQ(plan.input_bytes, 4096);
  EXPECT_EQ(plan.output_bytes, 4096);
}

TEST(ExecMemory, SizesThatOverflowAreErrors) {
  const Value x = input("x", {var("B")});
  const auto e =
      compile(graph_of({x}, {broadcast_to(reshape(x, {var("B"), 1}), {var("B"), var("B")})}), without_disk());
  EXPECT_NE(error_of([&] { e->memory({{Symbol("B"), int64_t{1} << 40}}); }).find("larger than any memory"),
            std::string::npos);
}

TEST(ExecMemory, ProductsOfExtentsDoNotWrap) {
  constexpr int64_t k40 = int64_t{1} << 40;
  EXPECT_EQ(elements_of({k40, k40, 0}), 0);
  EXPECT_EQ(elements_of({k40, k40}), INT64_MAX);
  EXPECT_EQ(bytes_of(DType::F64, {k40, k40}), INT64_MAX);
  EXPECT_EQ(bytes_of(DType::F64, {3, 5}), 120);
  EXPECT_EQ(make_buffer(DType::F32, {k40, k40, 0})->bytes(), 0);
  EXPECT_NE(error_of([] { make_buffer(DType::F32, {k40, k40}); }).find("larger than any memory"),
            std::string::npos);
  Program p;
  p.sizes = {Symbol("B")};
  p.buffers = {{Symbol("x"), BufferKind::Input, DType::F32, {k40, k40, var("B")}, nullptr}};
  p.inputs = {0};
  EXPECT_EQ(plan_memory(p, {{Symbol("B"), 0}}).input_bytes, 0);
  EXPECT_NE(error_of([&] { plan_memory(p, {{Symbol("B"), 1}}); }).find("larger than any memory"),
            std::string::npos);
}

// --- what is computed again -------------------------------------------------------------------------------

// c0 = x + 1, c1 = c0 + 1, ... and the sums of all of them backwards, each of `n` elements.
Program there_and_back(int n, int steps) {
  const std::string type = ": f32[" + std::to_string(n) + "]";
  std::string buffers, launches, last = "x";
  auto launch = [&](const std::string& kernel, const std::string& operands, const std::string& to) {
    if (to != "y") buffers += "  temp " + to + type + "\n";
    launches += "  launch " + kernel + "(" + operands + ") -> (" + to + ")\n";
  };
  auto name = [](const char* prefix, int i) { return prefix + std::to_string(i); };
  for (int i = 0; i < steps; i++) launch("up", i == 0 ? "x" : name("c", i - 1), name("c", i));
  launch("both", name("c", steps - 1) + ", " + name("c", steps - 2), name("s", steps - 2));
  for (int i = steps - 3; i > 0; i--) launch("both", name("s", i + 1) + ", " + name("c", i), name("s", i));
  launch("both", "s1, c0", "y");
  return parse_program(
      "program main {\n  input x" + type + "\n" + buffers + "  output y" + type + "\n" + launches +
      "}\nkernel up(x" + type + ") -> (y" + type + ") {\n  axis i: " + std::to_string(n) +
      "\n  store y[i] = x[i] * f32(1.5) + f32(1)\n}\nkernel both(x" + type + ", w" + type + ") -> (y" + type +
      ") {\n  axis i: " + std::to_string(n) + "\n  store y[i] = x[i] + w[i] * x[i]\n}\n");
}

TEST(ExecMemory, CheapValuesAreComputedAgainRatherThanKept) {
  const int n = 300'000;
  const Program kept = there_and_back(n, 20);
  Program again = kept;
  recompute_cheap(again);
  verify(again, "recompute_cheap");
  EXPECT_GT(again.steps.size(), kept.steps.size());
  EXPECT_FALSE(again.because.empty());
  EXPECT_LT(plan_memory(again, {}).arena_bytes, plan_memory(kept, {}).arena_bytes * 3 / 4);
  const auto x = filled(DType::F32, {n}, 1);
  expect_equal_bits(Executable(again, without_disk()).run({x}), Executable(kept, without_disk()).run({x}),
                    "computed again");
}

// What a step frees decides when it runs: each output is made as soon as both of its operands are there.
TEST(ExecMemory, StepsThatFreeMemoryRunEarly) {
  const int n = 300'000, steps = 10;
  const std::string type = ": f32[" + std::to_string(n) + "]";
  std::string text = "program main {\n  input x" + type + "\n", launches;
  auto name = [](const char* prefix, int i) { return prefix + std::to_string(i); };
  for (int i = 0; i < steps; i++) text += "  temp " + name("d", i) + type + "\n";
  for (int i = 1; i < steps; i++) text += "  output " + name("y", i) + type + "\n";
  for (int i = 0; i < steps; i++)
    launches += "  launch up(" + (i == 0 ? "x" : name("d", i - 1)) + ") -> (" + name("d", i) + ")\n";
  for (int i = 1; i < steps; i++)
    launches += "  launch both(" + name("d", i - 1) + ", " + name("d", i) + ") -> (" + name("y", i) + ")\n";
  const std::string axis = " {\n  axis i: " + std::to_string(n) + "\n  store y[i] = ";
  const Program given = parse_program(text + launches + "}\nkernel up(x" + type + ") -> (y" + type + ")" +
                                      axis + "x[i] * f32(1.5)\n}\nkernel both(x" + type + ", w" + type +
                                      ") -> (y" + type + ")" + axis + "x[i] * w[i]\n}\n");
  Program early = given;
  release_early(early);
  verify(early, "release_early");
  EXPECT_EQ(plan_memory(given, {}).arena_bytes, 10 * 1'200'000);
  EXPECT_EQ(plan_memory(early, {}).arena_bytes, 2 * 1'200'000);
  const auto x = filled(DType::F32, {n}, 1);
  expect_equal_bits(Executable(early, without_disk()).run({x}), Executable(given, without_disk()).run({x}),
                    "in another order");
}

TEST(ExecMemory, SmallValuesAndShortLivesAreKept) {
  for (const Program& kept : {there_and_back(3000, 20), there_and_back(300'000, 4)}) {
    Program same = kept;
    release_early(same);
    recompute_cheap(same);
    EXPECT_EQ(to_text(same), to_text(kept));
  }
}

// --- plans in the text ------------------------------------------------------------------------------------

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from << "\n" << text;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

// Three temporaries of 256, 256 and 512 bytes for N = 16, the first two alive together.
const char* const kPlanned = R"(program main[N] {
  input x: f32[N, 4]
  temp a: f32[N, 4]
  temp b: f32[N, 4]
  temp c: f32[N, 8]
  output y: f32[N, 8]
  launch up[N = N](x) -> (a)
  launch up[N = N](a) -> (b)
  launch wide[N = N](a, b) -> (c)
  copy (c) -> (y)
  plan[N = 16] {
    peak 1792 = inputs 256 + outputs 512 + constants 0 + arena 1024
    a: 256 bytes at 0
    b: 256 bytes at 256
    c: 512 bytes at 512
  }
}
kernel up[N](x: f32[N, 4]) -> (y: f32[N, 4]) {
  axis i: N
  axis j: 4
  store y[i, j] = x[i, j] + f32(1)
}
kernel wide[N](x: f32[N, 4], w: f32[N, 4]) -> (y: f32[N, 8]) {
  axis i: N
  axis j: 4
  store y[i, j] = x[i, j]
  store y[i, j + 4] = w[i, j]
}
)";

TEST(ExecMemory, APlanIsTextThatHolds) {
  const Program p = parse_program(kPlanned);
  EXPECT_EQ(to_text(p), kPlanned);
  const Sizes given{{Symbol("N"), 16}}, other{{Symbol("N"), 17}};
  EXPECT_EQ(plan_memory(p, given).offsets, (std::vector<int64_t>{-1, 0, 256, 512, -1}));
  EXPECT_EQ(plan_memory(p, given).peak_bytes(), 1792);
  // Sizes without a plan get one by first fit.
  EXPECT_EQ(plan_memory(p, other).arena_bytes, 64 * ((17 * 32 + 63) / 64 + 2 * ((17 * 16 + 63) / 64)));
  // Places in another order, and an arena with a gap.
  const Program moved = parse_program(replaced(
      replaced(replaced(kPlanned, "a: 256 bytes at 0", "a: 256 bytes at 1024"), "arena 1024", "arena 1280"),
      "peak 1792", "peak 2048"));
  EXPECT_EQ(plan_memory(moved, given).offsets[1], 1024);
  for (const int64_t n : {16, 17}) {
    const auto x = filled(DType::F32, {n, 4}, 1);
    const auto want = interpret(p, {x});
    expect_equal_bits(Executable(p, without_disk()).run({x}), want, "as planned");
    expect_equal_bits(Executable(moved, without_disk()).run({x}), want, "moved");
  }
}

TEST(ExecMemory, PlansThatCannotHoldAreRefused) {
  const std::pair<std::pair<const char*, const char*>, const char*> faults[] = {
      {{"b: 256 bytes at 256", "b: 256 bytes at 192"}, "a and b overlap, and are alive at the same step 1"},
      {{"c: 512 bytes at 512", "c: 512 bytes at 520"}, "c does not begin at a multiple of 64"},
      {{"c: 512 bytes at 512", "c: 512 bytes at 576"}, "c ends beyond the arena"},
      {{"c: 512 bytes at 512", "c: 512 bytes at -64"}, "c has no place"},
      {{"    a: 256 bytes at 0\n", ""}, "a has no place"},
      {{"a: 256 bytes", "a: 192 bytes"}, "'a' takes 256 bytes"},
      {{"    a: 256", "    y: 512 bytes at 0\n    a: 256"}, "something is placed that needs no place"},
      {{"    a: 256", "    a: 256 bytes at 0\n    a: 256"}, "'a' has two places"},
      {{"    a: 256", "    z: 256"}, "unknown buffer 'z'"},
      {{"    a: 256", "    step 9: 256"}, "there is no such step"},
      {{"inputs 256 + outputs 512", "inputs 512 + outputs 256"}, "inputs take 256 bytes, not 512"},
      {{"peak 1792", "peak 1024"}, "the peak is not the sum"},
      {{"plan[N = 16]", "plan"}, "the plan gives no size for 'N'"},
  };
  for (const auto& [edit, message] : faults) {
    SCOPED_TRACE(message);
    const std::string error =
        error_of([&, &edit = edit] { parse_program(replaced(kPlanned, edit.first, edit.second)); });
    EXPECT_NE(error.find(message), error.npos) << error;
  }
}

TEST(ExecMemory, TheListingShowsThePlanThatRuns) {
  for_each_function_case([](FunctionCase& c, const std::string& text) {
    const auto compiled = compile(c.inputs.graph(c.results(text)), without_disk());
    const Sizes sizes;
    const std::string listed = compiled->text("exec", sizes);
    SCOPED_TRACE(listed);
    const Program parsed = parse_program(listed);
    EXPECT_EQ(to_text(parsed), listed);
    ASSERT_EQ(parsed.plans.size(), 1U);
    const MemoryPlan plan = compiled->memory(sizes), again = plan_memory(parsed, sizes);
    EXPECT_EQ(again.peak_bytes(), plan.peak_bytes());
    EXPECT_EQ(parsed.plans[0].plan.arena_bytes, plan.arena_bytes);
  });
}

}  // namespace
}  // namespace pto::testing
