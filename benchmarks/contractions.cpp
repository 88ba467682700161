// Float32 contractions, compiled through heuristic, loop passes and LLVM, against the multiply-adds
// that this machine can do at most.
//   contractions [threads] [print]     `print`: the schedules as well
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "codegen/codegen.h"
#include "loop_passes/pipeline.h"
#include "runtime/cpu/abi.h"
#include "runtime/cpu/pool.h"
#include "schedule/schedule.h"

namespace pto {
namespace {

struct Product {
  const char* name;
  const char* kernel;
  double multiply_adds;
};

const Product kProducts[] = {
    {"1024 x 1024 @ 1024 x 1024",
     "kernel f(x: f32[1024, 1024], w: f32[1024, 1024]) -> (y: f32[1024, 1024]) {"
     " axis i: 1024 axis j: 1024 axis k: 1024"
     " t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] }",
     1024.0 * 1024 * 1024},
    {"4096 x 384 @ 384 x 1536",
     "kernel f(x: f32[4096, 384], w: f32[384, 1536]) -> (y: f32[4096, 1536]) {"
     " axis i: 4096 axis j: 1536 axis k: 384"
     " t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] }",
     4096.0 * 384 * 1536},
    {"4096 x 1536 @ 1536 x 384",
     "kernel f(x: f32[4096, 1536], w: f32[1536, 384]) -> (y: f32[4096, 384]) {"
     " axis i: 4096 axis j: 384 axis k: 1536"
     " t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] }",
     4096.0 * 384 * 1536},
    {"384 of 128 x 32 @ 32 x 128",
     "kernel f(x: f32[384, 128, 32], w: f32[384, 128, 32]) -> (y: f32[384, 128, 128]) {"
     " axis b: 384 axis i: 128 axis j: 128 axis k: 32"
     " t[b, i, j]: f32 = contract(k) x[b, i, k] * w[b, j, k] store y[b, i, j] = t[b, i, j] }",
     384.0 * 128 * 32 * 128},
    {"384 of 128 x 128 @ 128 x 32",
     "kernel f(x: f32[384, 128, 128], w: f32[384, 128, 32]) -> (y: f32[384, 128, 32]) {"
     " axis b: 384 axis i: 128 axis j: 32 axis k: 128"
     " t[b, i, j]: f32 = contract(k) x[b, i, k] * w[b, k, j] store y[b, i, j] = t[b, i, j] }",
     384.0 * 128 * 32 * 128},
};

// Sixteen chains of multiply-adds in registers: more than the latency needs.
constexpr int64_t kPeakSteps = 20'000'000;
LoopProgram peak_program(const Target& target, int workers) {
  const int lanes = target.lanes(4);
  const auto wide = [&](const std::string& value) {
    return "broadcast(" + value + ", " + std::to_string(lanes) + ")";
  };
  std::string text = "loop peak(x: f32[1], out y: f32[" + std::to_string(16 * lanes * workers) +
                     "]) {\n  parallel p in 0 .. " + std::to_string(workers) + " {\n    alloc a: f32[" +
                     std::to_string(16 * lanes) + "] register\n";
  const auto at = [&](int c) {
    return "ramp(" + std::to_string(c * lanes) + ", 1, " + std::to_string(lanes) + ")";
  };
  for (int c = 0; c < 16; c++) text += "    a[" + at(c) + "] = " + wide("x[0]") + "\n";
  text += "    for i in 0 .. " + std::to_string(kPeakSteps) + " {\n";
  for (int c = 0; c < 16; c++)
    text += "      a[" + at(c) + "] = fma(a[" + at(c) + "], " + wide("x[0]") + ", " + wide("x[0]") + ")\n";
  text += "    }\n";
  for (int c = 0; c < 16; c++)
    text += "    y[ramp(p * " + std::to_string(16 * lanes) + " + " + std::to_string(c * lanes) + ", 1, " +
            std::to_string(lanes) + ")] = a[" + at(c) + "]\n";
  Lexer in(text + "  }\n}\n");
  return parse_loop(in);
}

struct Compiled {
  LoopProgram program;
  std::shared_ptr<LoadedObject> object;
  pto_kernel code;
  ScratchLayout scratch;
};

Compiled compile(LoopProgram program, const Target& target) {
  program.name = Symbol("kernel");
  Compiled c{run_loop_passes(std::move(program), target)};
  c.object = LoadedObject::load(llvm_generate({c.program}, target, LlvmOutput::Object));
  c.code = reinterpret_cast<pto_kernel>(c.object->symbol("kernel"));
  c.scratch = scratch_layout(c.program);
  return c;
}

// The best of several runs, after one that nobody counts. One worker: time of the processor, of which other
// programs on the machine take little. More: time on the wall, for the processor's clock of other threads lags.
double seconds(const Compiled& c, int workers, int runs) {
  std::vector<BufferPtr> buffers;
  std::vector<void*> pointers;
  for (const auto& p : c.program.params) {
    buffers.push_back(make_buffer(p.dtype, eval_shape(p.shape, {})));
    auto* values = static_cast<float*>(buffers.back()->data);
    for (int64_t i = 0; i < buffers.back()->elements(); i++)
      values[i] = 0.25f + static_cast<float>(i % 7) * 0.01f;
    pointers.push_back(buffers.back()->data);
  }
  double best = 1e9;
  for (int run = 0; run <= runs; run++) {
    int32_t failed = 0;
    const auto started = std::chrono::steady_clock::now();
    const std::clock_t start = std::clock();
    run_parallel(workers, eval_size(c.scratch.shared_bytes, {}), eval_size(c.scratch.private_bytes, {}),
                 &failed, [&](pto_worker& w) { c.code(pointers.data(), nullptr, &w); });
    const double own = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const double spent = workers == 1 ? own : wall;
    if (run > 0) best = std::min(best, spent);
  }
  return best;
}

int benchmark(int workers, bool print) {
  const Target& target = host_target();
  const Compiled peak = compile(peak_program(target, workers), target);
  const double most = 2.0 * 16 * target.lanes(4) * kPeakSteps * workers / seconds(peak, workers, 3) / 1e9;
  std::printf("%s, %d threads: at most %.1f GFLOP/s\n", target.name.c_str(), workers, most);
  for (const auto& p : kProducts) {
    Lexer in(p.kernel);
    const Kernel k = parse_kernel(in);
    const Scheduled s = make_schedule(k, size_class(k, {}, target), target);
    if (print) std::printf("%s%s", to_text(s.kernel).c_str(), to_text(s.schedule).c_str());
    const auto start = std::chrono::steady_clock::now();
    const Compiled c = compile(lower(s.kernel, s.schedule, target), target);
    const double compiling = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double time = seconds(c, workers, 15), rate = 2 * p.multiply_adds / time / 1e9;
    std::printf("%-28s %8.3f ms %7.1f GFLOP/s  %3.0f %% of the peak, compiled in %.0f ms\n", p.name,
                time * 1e3, rate, 100 * rate / most, compiling * 1e3);
  }
  return 0;
}

}  // namespace
}  // namespace pto

int main(int argc, char** argv) {
  const int workers = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2;
  return pto::benchmark(workers, argc > 2 && std::strcmp(argv[2], "print") == 0);
}
