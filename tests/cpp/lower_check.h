#pragma once
// A kernel with a schedule, lowered: the loop program must give the bits of the schedule, and the
// values of the definition.
#include <cstring>

#include "kernel_cases.h"
#include "loop/loop.h"
#include "loop_passes/pipeline.h"
#include "schedule/schedule.h"

namespace pto::testing {

inline Schedule parse_schedule_text(std::string_view text) {
  Lexer in(text, "schedule");
  Schedule s = parse_schedule(in);
  EXPECT_TRUE(in.done());
  return s;
}

inline void expect_same_bits(const Kernel& k, const std::vector<BufferPtr>& got,
                             const std::vector<BufferPtr>& want, const std::string& what) {
  for (size_t i = 0; i < k.params.size(); i++) {
    const int size = size_of(want[i]->dtype);
    int shown = 0;
    for (int64_t e = 0; e < want[i]->elements() && shown < 3; e++) {
      const char *g = static_cast<char*>(got[i]->data) + e * size,
                 *w = static_cast<char*>(want[i]->data) + e * size;
      const Scalar x = Scalar::from_bytes(got[i]->dtype, g), y = Scalar::from_bytes(want[i]->dtype, w);
      const bool both_nan = is_float(x.type) && std::isnan(x.to_double()) && std::isnan(y.to_double());
      if (both_nan || std::memcmp(g, w, static_cast<size_t>(size)) == 0) continue;
      ADD_FAILURE() << what << ": " << k.params[i].name.str() << "[" << e << "] is " << x.str() << ", not "
                    << y.str();
      shown++;
    }
  }
}

// No pass changes a bit of what a program gave, which includes its inputs.
inline void expect_passes_keep_bits(const Kernel& k, const LoopProgram& program, const Target& target,
                                    const Sizes& sizes, const std::vector<BufferPtr>& given,
                                    const std::string& error) {
  run_loop_passes(program, target, {}, [&](const std::string& pass, const LoopProgram& p) {
    verify(p, pass);
    std::vector<BufferPtr> buffers = make_buffers(k, sizes);
    for (size_t i = 0; i < buffers.size(); i++)
      if (!k.params[i].output) buffers[i] = given[i];
    std::string pass_error;
    interpret(p, buffers, sizes, &pass_error);
    expect_same_bits(k, buffers, given, "after " + pass);
    EXPECT_EQ(pass_error, error) << "after " << pass;
  });
}

// `definition` may be the kernel before stages were added to it.
inline void expect_lowered(const Kernel& definition, const Kernel& k, const Schedule& s, const Target& target,
                           const Sizes& sizes, double tolerance, const std::string& what) {
  SCOPED_TRACE(what);
  verify(k, s, target);
  const LoopProgram program = lower(k, s, target);
  const auto by_loop = make_buffers(k, sizes), by_schedule = make_buffers(k, sizes),
             by_definition = make_buffers(k, sizes);
  std::string loop_error, schedule_error, error;
  interpret(program, by_loop, sizes, &loop_error);
  interpret(k, s, by_schedule, sizes, &schedule_error);
  interpret(definition, by_definition, sizes, &error);
  expect_same_bits(k, by_loop, by_schedule, what);
  expect_close(definition, by_loop, by_definition, tolerance, what);
  EXPECT_EQ(loop_error.empty(), error.empty()) << loop_error << " / " << error;
  EXPECT_EQ(schedule_error.empty(), error.empty());
  expect_passes_keep_bits(k, program, target, sizes, by_loop, loop_error);
}

}  // namespace pto::testing
