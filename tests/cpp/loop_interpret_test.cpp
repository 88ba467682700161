// What loop programs compute.
#include <cmath>

#include "loop_cases.h"

namespace pto::testing {
namespace {

using Values = std::vector<double>;

struct Case {
  const char* name;
  const char* body;  // of a program with x: f32[4] = 1, -2, 3, -4, k: i64[4] = 0, 2, 1, 3, out y: f32[8] = 9
  Values y;
};

const Case kCases[] = {
    {"Serial", "for i in 0 .. N { y[i] = x[i] + f32(1) }", {2, -1, 4, -3, 9, 9, 9, 9}},
    {"Steps", "for i in 1 .. 8 step 3 { y[i] = f32(0) }", {9, 0, 9, 9, 0, 9, 9, 0}},
    {"EmptyLoop", "for i in 5 .. 2 { y[i] = f32(0) }", {9, 9, 9, 9, 9, 9, 9, 9}},
    {"LoopAtTheEndOfIntegers",
     "for i in 9223372036854775800 .. 9223372036854775807 step 5 { y[i - 9223372036854775800] = f32(0) }",
     {0, 9, 9, 9, 9, 0, 9, 9}},
    {"ParallelAscends",
     "y[0] = f32(0) parallel i in 0 .. N { y[0] = y[0] * f32(10) + cast(f32, i) }",
     {123, 9, 9, 9, 9, 9, 9, 9}},
    {"UnrolledAndVector",
     "unroll i in 0 .. 2 { vector j in 0 .. 4 step 2 { y[i * 4 + j] = cast(f32, i * 10 + j) } }",
     {0, 9, 2, 9, 10, 9, 12, 9}},
    {"If",
     "for i in 0 .. N { if x[i] < f32(0) { y[i] = f32(-1) } else if i == 2 { y[i] = f32(2) } }",
     {9, -1, 2, -1, 9, 9, 9, 9}},
    {"VectorStore", "y[ramp(2, 1, 4)] = x[ramp(0, 1, 4)]", {9, 9, 1, -2, 3, -4, 9, 9}},
    {"Reversed", "y[ramp(3, -1, 4)] = x[ramp(0, 1, 4)]", {-4, 3, -2, 1, 9, 9, 9, 9}},
    {"Mask",
     "y[ramp(0, 2, 4)] = x[ramp(0, 1, 4)] if x[ramp(0, 1, 4)] < broadcast(f32(0), 4)",
     {9, 9, -2, 9, 9, 9, -4, 9}},
    {"MaskedLanesMayBeOutside",
     "y[ramp(6, 1, 4)] = f32(5) if ramp(0, 1, 4) < broadcast(2, 4)",
     {9, 9, 9, 9, 9, 9, 5, 5}},
    {"Scatter", "y[k[ramp(0, 1, 4)]] = x[ramp(0, 1, 4)]", {1, 3, -2, -4, 9, 9, 9, 9}},
    {"LanesThatMeetAscend",
     "y[ramp(0, 1, 4) // broadcast(2, 4)] = x[ramp(0, 1, 4)]",
     {-2, -4, 9, 9, 9, 9, 9, 9}},
    {"OneIndexForAllLanes", "y[1] = x[ramp(0, 1, 4)]", {9, -4, 9, 9, 9, 9, 9, 9}},
    {"OperandsAreReadBefore",
     "y[ramp(0, 1, 4)] = x[ramp(0, 1, 4)] y[ramp(1, 1, 3)] = y[ramp(0, 1, 3)]",
     {1, 1, -2, 3, 9, 9, 9, 9}},
    {"LoadIf",
     "y[ramp(0, 1, 8)] = x[ramp(-2, 1, 8) if ramp(0, 1, 8) < broadcast(6, 8) & broadcast(1, 8) < "
     "ramp(0, 1, 8) else broadcast(f32(7), 8)]",
     {7, 7, 1, -2, 3, -4, 7, 7}},
    {"LoadIfOfOneLane", "y[0] = x[99 if N < 3 else f32(6)]", {6, 9, 9, 9, 9, 9, 9, 9}},
    {"Gather", "y[ramp(0, 1, 4)] = x[k[ramp(0, 1, 4)]]", {1, 3, -2, -4, 9, 9, 9, 9}},
    {"Lets",
     "let v = x[ramp(0, 1, 4)] let m = v < broadcast(f32(0), 4) let i = 4 "
     "y[ramp(i, 1, 4)] = select(m, neg(v), v)",
     {9, 9, 9, 9, 1, 2, 3, 4}},
    {"LetsKeepTheirValue", "let a = y[0] y[0] = f32(1) y[1] = a", {1, 9, 9, 9, 9, 9, 9, 9}},
    {"NamesInTurn",
     "for i in 0 .. 2 { let a = i y[i] = cast(f32, a) } for i in 2 .. 4 { let a = i * 10 "
     "y[i] = cast(f32, a) }",
     {0, 1, 20, 30, 9, 9, 9, 9}},
    {"HReduceAdd", "y[0] = hreduce(Add, x[ramp(0, 1, 4)])", {-2, 9, 9, 9, 9, 9, 9, 9}},
    // Halves first: ((1e8 + 1) + (-1e8 + 1)), where in order it would be 1.
    {"HReduceIsATree",
     "y[0] = f32(1e8) y[1] = f32(1) y[2] = f32(-1e8) y[3] = f32(1) y[4] = hreduce(Add, y[ramp(0, 1, 4)])",
     {1e8, 1, -1e8, 1, 2, 9, 9, 9}},
    {"HReduceOfThree",
     "y[0] = hreduce(Max, x[ramp(0, 1, 3)]) y[1] = cast(f32, hreduce(Mul, k[ramp(1, 1, 3)]))",
     {3, 6, 9, 9, 9, 9, 9, 9}},
    {"Accumulator",
     "alloc a: f32[2, 2] register for r in 0 .. 2 { a[r, ramp(0, 1, 2)] = broadcast(f32(0), 2) for i in 0 .. N "
     "{ a[r, ramp(0, 1, 2)] = a[r, ramp(0, 1, 2)] + broadcast(x[i], 2) } y[r] = a[r, 1] }",
     {-2, -2, 9, 9, 9, 9, 9, 9}},
    {"ShortSteps",
     "for i in 0 .. N step 3 { let left = min(3, N - i) y[ramp(i, 1, 3)] = x[ramp(i, 1, 3) if ramp(0, 1, 3) < "
     "broadcast(left, 3) else broadcast(f32(0), 3)] if ramp(0, 1, 3) < broadcast(left, 3) }",
     {1, -2, 3, -4, 9, 9, 9, 9}},
    {"BoolsAndBits",
     "alloc b: bool[2] private b[0] = x[0] < x[1] b[1] = not(b[0]) y[0] = cast(f32, b[0]) y[1] = cast(f32, b[1]) "
     "y[2] = bitcast(f32, i32(1065353216))",
     {0, 1, 1, 9, 9, 9, 9, 9}},
    {"Mathematics",
     "y[0] = exp(f32(0)) y[ramp(1, 1, 2)] = log2(broadcast(f32(8), 2))",
     {1, 3, 3, 9, 9, 9, 9, 9}},
};

// Runs the body of a case on fresh buffers.
Values run(const std::string& body, std::string* error = nullptr) {
  const LoopProgram p = parse_loop_text("loop f[N](x: f32[N], k: i64[N], out y: f32[8]) { " + body +
                                        " message \"first\" message \"second\" }");
  const BufferPtr y = filled(DType::F32, {8}, Values(8, 9));
  interpret(p, {filled(DType::F32, {4}, {1, -2, 3, -4}), filled(DType::I64, {4}, {0, 2, 1, 3}), y},
            {{Symbol("N"), 4}}, error);
  return values_of(y);
}

class LoopInterpret : public ::testing::TestWithParam<Case> {};
TEST_P(LoopInterpret, Computes) { EXPECT_EQ(run(GetParam().body), GetParam().y); }
INSTANTIATE_TEST_SUITE_P(Programs, LoopInterpret, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LoopInterpretErrors, ChecksRaiseTheFirstThatFails) {
  const std::pair<const char*, const char*> cases[] = {
      {"check 0 < N, 0", ""},
      {"check N < 4, 0", "first"},
      {"check N < 4, 1 check N < 4, 0", "second"},
      {"check 0 < N, 0 for i in 0 .. 3 { check i < 2, 1 }", "second"},
      {"check k[ramp(0, 1, 4)] < broadcast(4, 4), 0", ""},
      {"check k[ramp(0, 1, 4)] < broadcast(3, 4), 0", "first"},
      {"if N < 0 { check false, 0 }", ""},
  };
  for (const auto& [body, expected] : cases) {
    std::string error;
    // The program runs to its end whether a check fails or not.
    EXPECT_EQ(run(std::string(body) + " y[0] = f32(3)", &error)[0], 3) << body;
    EXPECT_EQ(error, expected) << body;
    EXPECT_EQ(run(std::string(body) + " y[0] = f32(3)")[0], 3) << body;
  }
}

TEST(LoopInterpretErrors, AccessesOutsideAreBugs) {
  const std::pair<const char*, const char*> cases[] = {
      {"y[8] = f32(1)", "y[8] is outside [8]"},
      {"y[-1] = f32(1)", "y[-1] is outside [8]"},
      {"y[ramp(5, 1, 4)] = f32(1)", "y[8] is outside [8]"},
      {"y[0] = x[N]", "x[4] is outside [4]"},
      {"y[0] = select(N < 9, f32(1), x[N])", "x[4] is outside [4]"},
      {"alloc t: f32[2, 3] private t[0, 3] = f32(1)", "t[0, 3] is outside [2, 3]"},
      {"for i in 0 .. 3 step N - 4 { }", "a loop whose step is 0"},
  };
  for (const auto& [body, expected] : cases) {
    const std::string message = refusal([&] { run(body); });
    EXPECT_NE(message.find(expected), std::string::npos) << body << ": " << message;
  }
}

TEST(LoopInterpretErrors, WhatIsNotWrittenIsSpoilt) {
  EXPECT_TRUE(std::isnan(run("alloc t: f32[2] private y[0] = t[1]")[0]));
  // Each time anew, whatever was there before.
  EXPECT_TRUE(std::isnan(run("for i in 0 .. 2 { alloc t: f32[1] register y[0] = t[0] t[0] = f32(1) }")[0]));
  EXPECT_EQ(run("alloc t: i16[2] private y[0] = cast(f32, t[0])")[0], -1);
}

TEST(LoopInterpretErrors, BuffersMustFit) {
  const LoopProgram p =
      parse_loop_text("loop f[N](out y: f32[N, 2]) { for i in 0 .. N { y[i, 1] = f32(4) } }");
  const BufferPtr y = filled(DType::F32, {6}, Values(6, 9));
  interpret(p, {y}, {{Symbol("N"), 3}});  // the same elements in another shape
  EXPECT_EQ(values_of(y), (Values{9, 4, 9, 4, 9, 4}));
  EXPECT_NE(refusal([&] { interpret(p, {y}, {{Symbol("N"), 4}}); }).find("another type or size"),
            std::string::npos);
  EXPECT_NE(refusal([&] { interpret(p, {y}, {}); }).find("no size for N"), std::string::npos);
  EXPECT_NE(refusal([&] { interpret(p, {}, {{Symbol("N"), 3}}); }).find("one buffer a parameter"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              interpret(p, {filled(DType::F64, {6}, Values(6, 9))}, {{Symbol("N"), 3}});
            }).find("another type or size"),
            std::string::npos);
}

}  // namespace
}  // namespace pto::testing
