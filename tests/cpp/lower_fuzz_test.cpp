// Random kernels under random schedules.
#include <iostream>

#include "lower_check.h"
#include "lower_random.h"

namespace pto::testing {
namespace {

TEST(LowerFuzz, RandomKernelsUnderRandomSchedules) {
  const Target target = make_target("avx512");
  const char* from = std::getenv("PTO_FUZZ_FROM");
  const char* count = std::getenv("PTO_FUZZ_COUNT");
  const uint32_t first = from ? static_cast<uint32_t>(std::atoi(from)) : 0;
  const uint32_t seeds = count ? static_cast<uint32_t>(std::atoi(count)) : 300;
  int valid = 0, refused = 0;
  for (uint32_t seed = first; seed < first + seeds; seed++) {
    Random random(seed * 2654435761u + 1);
    const RandomKernel made = KernelMaker(random).make();
    for (int attempt = 0; attempt < 4; attempt++) {
      const Schedule s = ScheduleMaker(random, made.kernel).make();
      try {
        verify(made.kernel, s, target);
      } catch (const Error&) {
        refused++;
        continue;
      }
      valid++;
      const std::string what = "seed " + std::to_string(seed) + "\n" + to_text(made.kernel) + to_text(s);
      try {
        expect_lowered(made.kernel, made.kernel, s, target, made.sizes, 1e-3, what);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what() << "\n" << what;
      }
      if (::testing::Test::HasFailure()) {
        std::cout << to_text(lower(made.kernel, s, target));
        return;
      }
    }
  }
  EXPECT_GT(valid, static_cast<int>(seeds)) << refused << " refused";
}

}  // namespace
}  // namespace pto::testing
