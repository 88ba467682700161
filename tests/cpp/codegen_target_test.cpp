// Targets as data, and the choice of this machine's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "schedule/target.h"

namespace pto {
namespace {

TEST(CodegenTarget, NamesLongAndShort) {
  for (const std::string& name : target_names()) {
    const Target t = make_target(name);
    EXPECT_EQ(t.name, name);
    EXPECT_EQ(make_target(name.substr(name.find('.') + 1)).name, name);
    EXPECT_GE(t.vector_bytes, 16);
    EXPECT_GE(t.vector_registers, 16);
  }
  EXPECT_EQ(make_target("x86.avx512").lanes(4), 16);
  EXPECT_EQ(make_target("avx2").lanes(8), 4);
  EXPECT_EQ(make_target("neon").triple, "aarch64-unknown-linux-gnu");
}

TEST(CodegenTarget, UnknownNamesAreErrors) {
  for (const char* name : {"", "x86", "x86.", "avx", "mips"}) {
    try {
      make_target(name);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.info().message, "unknown target \"" + std::string(name) + "\"");
      EXPECT_NE(e.info().expected.find("x86.avx512"), std::string::npos);
    }
  }
}

TEST(CodegenTarget, KeysDiffer) {
  std::vector<std::string> keys;
  for (const std::string& name : target_names()) keys.push_back(make_target(name).key());
  Target t = make_target("avx2");
  t.l2_bytes *= 2;
  keys.push_back(t.key());
  t.features = "+avxvnni";
  keys.push_back(t.key());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST(CodegenTarget, HostHasCaches) {
  const Target& host = host_target();
  EXPECT_GE(host.l1_bytes, 8 << 10);
  EXPECT_GE(host.l2_bytes, host.l1_bytes);
}

// Each in a process of its own: the choice is made once.
class CodegenTargetSetting : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static int host_is(const char* setting, const std::string& name) {
    setenv("PTO_TARGET", setting, 1);
    try {
      return host_target().name == name ? 0 : 1;
    } catch (const Error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      return 2;
    }
  }
};

#if defined(__x86_64__)
TEST_F(CodegenTargetSetting, Restricts) {
  EXPECT_EXIT(std::exit(host_is("sse", "x86.sse")), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(host_is("x86.sse", "x86.sse")), ::testing::ExitedWithCode(0), "");
}

TEST_F(CodegenTargetSetting, RefusesWhatDoesNotRunHere) {
  EXPECT_EXIT(std::exit(host_is("aarch64.neon", "")), ::testing::ExitedWithCode(2),
              "cannot run PTO_TARGET=aarch64.neon");
  EXPECT_EXIT(std::exit(host_is("avx1024", "")), ::testing::ExitedWithCode(2), "unknown target \"avx1024\"");
}
#endif

}  // namespace
}  // namespace pto
