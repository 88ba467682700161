// Machine code gives the bits of the loop programs that it is made of, with any number of workers.
#include "codegen_run.h"

namespace pto::testing {
namespace {

class MachineCode : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (target.vector_bytes > host_target().vector_bytes)
      GTEST_SKIP() << "this machine has narrower registers";
  }

  // All of them in one object.
  void expect(const std::vector<Sample>& runs) {
    std::shared_ptr<LoadedObject> object;
    expect_code(runs, target, [&](std::vector<LoopProgram>& programs, const Target&) {
      for (auto& p : programs) p = run_loop_passes(p, target);
      object = LoadedObject::load(llvm_generate(programs, target, LlvmOutput::Object));
      std::vector<pto_kernel> out;
      for (const auto& p : programs)
        out.push_back(reinterpret_cast<pto_kernel>(object->symbol(p.name.str())));
      return out;
    });
  }

  const Target target = make_target(GetParam());
};

TEST_P(MachineCode, OfEveryKernel) { expect(kernel_samples(target)); }

TEST_P(MachineCode, OfRandomSchedules) {
  const auto runs = random_samples(target);
  ASSERT_GT(runs.size(), 5u);
  expect(runs);
}

TEST_P(MachineCode, OfTemplates) { expect(template_samples(target)); }

TEST_P(MachineCode, OfUnusualStatements) { expect(unusual_samples()); }

TEST_P(MachineCode, OfSingleLanes) { expect(single_lane_samples()); }

TEST_P(MachineCode, OfOperations) { expect(operation_samples()); }

INSTANTIATE_TEST_SUITE_P(Targets, MachineCode, ::testing::Values("avx512", "avx2", "sse"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pto::testing
