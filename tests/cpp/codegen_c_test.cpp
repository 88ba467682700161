// Generated C compiles alone and gives the bits of the loop programs that it is made of.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen_run.h"

namespace pto::testing {
namespace {

// Text compiled by the system's compiler and loaded; gone with its folder in the end.
class CompiledC {
 public:
  explicit CompiledC(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "pto_c_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    const std::string source = folder_ + "/kernel.c", library = folder_ + "/kernel.so",
                      log = folder_ + "/log";
    std::ofstream(source) << text;
    const std::string command =
        "cc -std=c11 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-parameter -O2 "
        "-ffp-contract=off -fPIC -shared " +
        source + " -o " + library + " -lm >" + log + " 2>&1";
    if (std::system(command.c_str()) != 0) {
      std::ifstream in(log);
      ADD_FAILURE() << std::string(std::istreambuf_iterator<char>(in), {}).substr(0, 4000);
    }
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~CompiledC() {
    if (handle_) dlclose(handle_);
    std::filesystem::remove_all(folder_);
  }
  CompiledC(const CompiledC&) = delete;

  pto_kernel function(const std::string& name) const {
    return handle_ ? reinterpret_cast<pto_kernel>(dlsym(handle_, name.c_str())) : nullptr;
  }

 private:
  std::string folder_;
  void* handle_ = nullptr;
};

class GeneratedC : public ::testing::TestWithParam<const char*> {
 protected:
  void expect(const std::vector<Sample>& runs) {
    std::unique_ptr<CompiledC> compiled;
    expect_code(runs, target, [&](std::vector<LoopProgram>& programs, const Target&) {
      compiled = std::make_unique<CompiledC>(c_generate(programs, target));
      std::vector<pto_kernel> out;
      for (const auto& p : programs) out.push_back(compiled->function(p.name.str()));
      return out;
    });
  }

  const Target target = make_target(GetParam());
};

TEST_P(GeneratedC, OfEveryKernel) { expect(kernel_samples(target)); }
TEST_P(GeneratedC, OfRandomSchedules) { expect(random_samples(target)); }
TEST_P(GeneratedC, OfTemplates) { expect(template_samples(target)); }
TEST_P(GeneratedC, OfUnusualStatements) { expect(unusual_samples()); }
TEST_P(GeneratedC, OfOperations) { expect(operation_samples()); }

INSTANTIATE_TEST_SUITE_P(Targets, GeneratedC, ::testing::Values("avx512", "sse"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GeneratedC, ReadsLikeTheKernel) {
  const LoopProgram p = parse_loop_text(
      "loop scale[M, N](x: f32[M, N], c: f32[], out y: f32[M, N]) {"
      " parallel i in 0 .. M { for j in 0 .. N { y[i, j] = max(x[i, j] * c[], f32(0)) } }"
      " because \"rows in parallel\" }");
  const std::string text = c_generate({p}, make_target("sse"));
  for (const char* part : {
           "/* scale[M, N]\n",
           " *   buffers[0]  in  x: f32[M, N]\n",
           " *   buffers[2]  out y: f32[M, N]\n",
           " * rows in parallel\n",
           "void scale(void *const *buffers, const int64_t *sizes, pto_worker *worker) {\n",
           "  const int64_t N = sizes[1];\n",
           "  const float *restrict x = buffers[0];\n",
           "    for (int64_t j = 0; j < N; j++) {\n",
           "      y[i * N + j] = pto_max_f32(x[i * N + j] * c[0], 0.0f);\n",
       })
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

TEST(GeneratedC, WithoutThePassesThatAreOff) {
  const LoopProgram p =
      parse_loop_text("loop f[N](x: f32[N], out y: f32[N]) { for i in 0 .. N { y[i + 0 * N] = x[i] } }");
  const Target target = make_target("sse");
  const std::string text = c_generate({p}, target);
  EXPECT_NE(text.find("y[i] ="), text.npos) << text;
  EXPECT_EQ(c_generate({p}, target, {"simplify"}).find("y[i] ="), text.npos);
  EXPECT_EQ(c_generate({p}, target, {"unroll", "hoist"}), text);   // of which C has none
  EXPECT_NE(refusal([&] { c_generate({p}, target, {"flatten"}); }).find("C needs the loop pass flatten"),
            text.npos);
}

TEST(GeneratedC, NamesAreLegal) {
  const LoopProgram p = parse_loop_text(
      "loop exp(int: f32[4], x.1: f32[4], x_1: f32[4], out worker: f32[4]) {"
      " for lane in 0 .. 4 { worker[lane] = int[lane] + x.1[lane] + x_1[lane] } }");
  LoopProgram other = p;
  other.name = Symbol("kernel_exp");
  const CompiledC compiled(c_generate({p, other}, make_target("sse")));
  EXPECT_NE(compiled.function("kernel_exp"), nullptr);
  EXPECT_NE(compiled.function("kernel_exp_1"), nullptr);
}

}  // namespace
}  // namespace pto::testing
