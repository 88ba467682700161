// Every kernel of the test cases with the schedules that the heuristic makes for it.
#include "lower_check.h"

namespace pto::testing {
namespace {

class LowerCases : public ::testing::TestWithParam<size_t> {};

TEST_P(LowerCases, LoopProgramGivesTheBitsOfTheSchedule) {
  const KernelCase& c = kernel_cases()[GetParam()];
  const Kernel k = parse(c.text);
  for (const char* name : {"avx512", "avx2", "sse"}) {
    const Target target = make_target(name);
    for (const auto& sizes : c.sizes) {
      const Scheduled s = make_schedule(k, size_class(k, sizes, target), target);
      std::string what = std::string(c.name) + " on " + name;
      for (const auto& [symbol, n] : sizes) what += " " + symbol.str() + "=" + std::to_string(n);
      expect_lowered(k, s.kernel, s.schedule, target, sizes, 1e-4, what + "\n" + to_text(s.schedule));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LowerCases, ::testing::Range<size_t>(0, kernel_cases().size()),
                         [](const auto& info) { return std::string(kernel_cases()[info.param].name); });

}  // namespace
}  // namespace pto::testing
