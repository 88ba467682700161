// The heuristic's schedules are schedules for their kernels, round-trip as text, and compute what the
// definitions say, on every target.
#include "kernel_cases.h"
#include "schedule/schedule.h"

namespace pto::testing {
namespace {

class HeuristicTest : public ::testing::TestWithParam<std::tuple<size_t, std::string>> {};

TEST_P(HeuristicTest, ComputesTheDefinition) {
  const auto& c = kernel_cases()[std::get<0>(GetParam())];
  const Target target = make_target(std::get<1>(GetParam()));
  const Kernel k = parse(c.text);
  verify(k, "definition");
  for (const auto& sizes : c.sizes) {
    const std::string size_class = pto::size_class(k, sizes, target);
    const Scheduled s = make_schedule(k, size_class, target);
    const std::string what = std::string(c.name) + " on " + target.name + " for \"" + size_class + "\"\n" +
                             to_text(s.kernel) + to_text(s.schedule);
    SCOPED_TRACE(what);
    ASSERT_NO_THROW(verify(s.kernel, "scheduled"));
    ASSERT_NO_THROW(verify(s.kernel, s.schedule, target));
    Lexer in(to_text(s.kernel) + to_text(s.schedule), "scheduled");
    EXPECT_EQ(to_text(parse_kernel(in)), to_text(s.kernel));
    EXPECT_EQ(to_text(parse_schedule(in)), to_text(s.schedule));
    EXPECT_FALSE(s.schedule.because.empty());

    auto want = make_buffers(k, sizes), got = make_buffers(k, sizes);
    std::string want_error, got_error;
    interpret(k, want, sizes, &want_error);
    interpret(s.kernel, s.schedule, got, sizes, &got_error);
    EXPECT_EQ(got_error, want_error);
    expect_close(k, got, want, 2e-4, c.name);
  }
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<size_t, std::string>>& info) {
  std::string target = std::get<1>(info.param);
  return std::string(kernel_cases()[std::get<0>(info.param)].name) + "_" +
         target.substr(target.find('.') + 1);
}

INSTANTIATE_TEST_SUITE_P(All, HeuristicTest,
                         ::testing::Combine(::testing::Range<size_t>(0, kernel_cases().size()),
                                            ::testing::Values("x86.avx512", "x86.avx2", "x86.sse")),
                         case_name);

TEST(SizeClass, DependsOnSizesOnly) {
  const Kernel k = parse(
      "kernel f[M](x: f32[M, 48], w: f32[48, 70]) -> (y: f32[M, 70]) {"
      " axis i: M axis j: 70 axis k: 48 t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] "
      "}");
  const Target target = make_target("x86.avx512");
  auto of = [&](int64_t m) { return size_class(k, sizes_of({{"M", m}}), target); };
  EXPECT_EQ(of(1), "t rows<=1, t rows<=8, t rows<=64");
  EXPECT_EQ(of(2), "t rows<=8, t rows<=64");
  EXPECT_EQ(of(9), "t rows<=64");
  EXPECT_EQ(of(65), "");
  EXPECT_EQ(of(100000), "");
}

// A class that would change nothing is none.
TEST(SizeClass, OnlyFactsThatMatter) {
  const Target target = make_target("x86.avx512");
  auto facts = [&](const std::string& w, const std::string& index) {
    const Kernel k = parse("kernel f[M](x: f32[M, 48], w: f32[" + w +
                           "]) -> (y: f32[M, 70]) {"
                           " axis i: M axis j: 70 axis k: 48 t[i, j]: f32 = contract(k) x[i, k] * w[" +
                           index + "] store y[i, j] = t[i, j] }");
    std::string names;
    for (const auto& f : size_facts(k, target)) names += f.name + "; ";
    return names;
  };
  EXPECT_EQ(facts("48, 70", "k, j"), "t rows<=1; t rows<=8; t rows<=64; ");
  EXPECT_EQ(facts("70, 48", "j, k"), "t rows<=1; t rows<=8; ");
  EXPECT_EQ(facts("70, 96", "j, 2 * k"), "");
}

// A product of extents beyond 64 bits is a large one.
TEST(Heuristic, HugeExtents) {
  const Kernel k = parse(
      "kernel f(x: f32[2, 4294967296], y: f32[4294967296], z: f32[8589934592]) -> (o: f32[2]) {"
      " axis i: 2 axis a: 4294967296 axis b: 4294967296 axis c: 8589934592"
      " s[i]: f32 = reduce(add, a, b, c) x[i, a] + y[b] * z[c] store o[i] = s[i] }");
  for (const char* name : {"x86.avx512", "x86.sse"}) {
    const Target target = make_target(name);
    EXPECT_NO_THROW(size_facts(k, target));
    EXPECT_NO_THROW(verify(k, make_schedule(k, "", target).schedule, target));
  }
}

TEST(SizeClass, StaticSizesHaveOneClass) {
  const Kernel k = parse(
      "kernel f(x: f32[4, 48], w: f32[48, 70]) -> (y: f32[4, 70]) {"
      " axis i: 4 axis j: 70 axis k: 48 t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] "
      "}");
  EXPECT_TRUE(size_facts(k, make_target("x86.avx512")).empty());
}

}  // namespace
}  // namespace pto::testing
