// Every float32 through every function of one operand. Takes half an hour of two processors: PTO_SLOW=1.
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include "expand_accuracy.h"

namespace pto::testing {
namespace {

bool same_bits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

class EveryFloat : public ::testing::TestWithParam<Function> {};

TEST_P(EveryFloat, IsWithinTheBound) {
  const char* slow = std::getenv("PTO_SLOW");
  if (!slow || std::string_view(slow) != "1") GTEST_SKIP() << "PTO_SLOW=1 runs it";
  const Function& f = GetParam();
  const Compiled code(f.op, DType::F32, host_target());
  // Where the sign of x tells the other half, the code is run on both and the library on one.
  const bool both = f.symmetry != Function::None;
  const uint64_t all = uint64_t{1} << (both ? 31 : 32), chunk = 1 << 16;
  std::atomic<uint64_t> next{0}, changed{0}, asymmetric{0};
  std::mutex mutex;
  Worst worst;
  const auto work = [&] {
    Worst mine;
    std::vector<float> x(chunk), y(chunk), negative(chunk);
    for (uint64_t first = next.fetch_add(chunk); first < all; first = next.fetch_add(chunk)) {
      if (both) {
        for (uint64_t i = 0; i < chunk; i++) x[i] = -from_bits<float>(first + i);
        code(x.data(), nullptr, negative.data(), static_cast<int64_t>(chunk));
      }
      for (uint64_t i = 0; i < chunk; i++) x[i] = from_bits<float>(first + i);
      code(x.data(), nullptr, y.data(), static_cast<int64_t>(chunk));
      for (uint64_t i = 0; i < chunk; i++) {
        const double want = f.of_double(x[i]);
        if (f.keeps_tiny && std::fpclassify(x[i]) == FP_SUBNORMAL && x[i] != y[i]) changed++;
        const float mirrored = f.symmetry == Function::Odd ? -y[i] : y[i];
        if (both && !same_bits(negative[i], mirrored) && !(std::isnan(negative[i]) && std::isnan(y[i])))
          asymmetric++;
        if (same_bits(y[i], static_cast<float>(want)) && !std::isnan(want)) continue;  // no more than half
        mine.add(distance(y[i], want), x[i], 0, y[i], want);
      }
    }
    const std::lock_guard lock(mutex);
    worst.add(mine);
  };
  std::thread other(work);
  work();
  other.join();
  std::cout << f.name() << ": " << worst.str() << std::endl;
  EXPECT_LE(worst.ulps, f.bound32) << worst.str();
  EXPECT_EQ(changed, 0u) << "denormals";
  EXPECT_EQ(asymmetric, 0u);
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryFloat, ::testing::ValuesIn(functions()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace pto::testing
