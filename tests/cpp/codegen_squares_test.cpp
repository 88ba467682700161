// Neighbouring columns of a matrix, read together: the rows are loaded and exchanged in registers.
#include <gtest/gtest.h>

#include <cstring>

#include "codegen_run.h"

namespace pto::testing {
namespace {

struct Columns {
  const char* name;
  const char* body;      // W: lanes; DOUBLE: 2 W; LESS: W - 1; T: the element's type
  bool together;         // nothing is gathered
};

// The program reads x, 3 W rows of `n` columns, and writes y.
const Columns kColumns[] = {
    {"square", "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp(c, n, W)] }", true},
    {"a stride that is known", "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp(c + 3, 37, W)] }", true},
    {"upwards in memory", "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp((W - 1) * n + c, 0 - n, W)] }",
     true},
    {"from right to left", "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp(W - c, n, W)] }", false},
    {"two squares", "unroll c in 0 .. DOUBLE { y[ramp(c * W, 1, W)] = x[ramp(c + 1, n, W)] }", true},
    {"two squares below one another",
     "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp(c, n, W)] + x[ramp(W * n + c, n, W)] }", true},
    {"a let for each", "unroll c in 0 .. W { let v = x[ramp(c, n, W)] y[ramp(c * W, 1, W)] = v * v }", true},
    {"read twice", "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp(c, n, W)] * x[ramp(c, n, W)] }", true},
    {"one too few", "unroll c in 0 .. LESS { y[ramp(c * W, 1, W)] = x[ramp(c, n, W)] }", false},
    {"a gap", "unroll c in 0 .. W { y[ramp(c * W, 1, W)] = x[ramp(c + c // 2, n, W)] }", false},
    {"in a loop",
     "for i in 0 .. 2 { unroll c in 0 .. W { y[ramp((i * W + c) * W, 1, W)] = x[ramp(i * W * n + c, n, W)] } }",
     true},
    {"where it is written",
     "alloc t: T[W * W] private"
     " for i in 0 .. W { t[ramp(i * W, 1, W)] = x[ramp(i * n, 1, W)] }"
     " unroll c in 0 .. W { t[ramp(c * W, 1, W)] = t[ramp(c, W, W)] }"
     " for i in 0 .. W { y[ramp(i * W, 1, W)] = t[ramp(i * W, 1, W)] }",
     false},
    {"written between",
     "alloc t: T[W * W] private"
     " for i in 0 .. W { t[ramp(i * W, 1, W)] = x[ramp(i * n, 1, W)] }"
     " unroll c in 0 .. W { y[ramp(c * W, 1, W)] = t[ramp(c, W, W)] t[c * W + W - 1] = x[c] }",
     false},
};

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

LoopProgram program(const Columns& c, DType type, int lanes) {
  std::string text = "loop kernel[n](x: T[100 * n], out y: T[2 * W * W]) { " + std::string(c.body) + " }";
  text = replace_all(text, "DOUBLE", std::to_string(2 * lanes));
  text = replace_all(text, "LESS", std::to_string(lanes - 1));
  text = replace_all(text, "W", std::to_string(lanes));
  text = replace_all(text, "T[", std::string(name(type)) + "[");
  Lexer in(text);
  return parse_loop(in);
}

// Elements that differ from their neighbours in all directions.
void fill(Buffer& b, bool output) {
  for (int64_t i = 0; i < b.elements(); i++) {
    const int64_t n = output ? -1 : i * 7 % 5003;
    if (b.dtype == DType::F32)
      static_cast<float*>(b.data)[i] = static_cast<float>(n);
    else
      static_cast<int64_t*>(b.data)[i] = n;
  }
}

class Squares : public ::testing::TestWithParam<std::string> {};

TEST_P(Squares, AreTheirColumns) {
  const Target target = make_target(GetParam());
  const bool runs = target.vector_bytes <= host_target().vector_bytes;
  for (const auto& c : kColumns)
    for (DType type : {DType::F32, DType::I64}) {
      const int lanes = target.lanes(size_of(type));
      if (lanes < 4) continue;
      const LoopProgram p = program(c, type, lanes);
      const LoopProgram finished = run_loop_passes(p, target);
      const std::string what = GetParam() + ", " + std::string(name(type)) + ": " + c.name;
      if (c.together) {
        const std::string code = llvm_generate({finished}, target, LlvmOutput::Assembly);
        EXPECT_EQ(code.find("gather"), code.npos) << what;
      }
      if (!runs) continue;
      const Sizes sizes{{Symbol("n"), 37}};
      auto buffers = [&] {
        std::vector<BufferPtr> all;
        for (const auto& param : p.params) {
          all.push_back(make_buffer(type, eval_shape(param.shape, sizes)));
          fill(*all.back(), param.output);
        }
        return all;
      };
      const auto want = buffers(), got = buffers();
      interpret(p, want, sizes);
      const auto object = LoadedObject::load(llvm_generate({finished}, target, LlvmOutput::Object));
      std::string error;
      run_kernel(finished, reinterpret_cast<pto_kernel>(object->symbol("kernel")), got, sizes, 1, &error);
      const auto bytes = static_cast<size_t>(want[1]->elements() * size_of(type));
      EXPECT_EQ(std::memcmp(got[1]->data, want[1]->data, bytes), 0) << what;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Squares, ::testing::Values("avx512", "avx2", "sse"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pto::testing
