#pragma once
// Generated code against loop programs: samples of all kinds, run by any number of workers.
#include <functional>
#include <iostream>
#include <limits>

#include "codegen/codegen.h"
#include "exec/run_kernel.h"
#include "loop_cases.h"
#include "loop_passes/pipeline.h"
#include "lower_check.h"
#include "lower_random.h"

namespace pto::testing {

// A program with the sizes of a run.
struct Sample {
  Kernel kernel;
  LoopProgram program;
  Sizes sizes;
  std::string what;
  std::vector<BufferPtr> inputs = {};  // instead of those that are made for the kernel

  std::vector<BufferPtr> buffers() const {
    std::vector<BufferPtr> out = make_buffers(kernel, sizes);
    for (size_t i = 0; i < inputs.size(); i++) out[i] = inputs[i];
    return out;
  }
};

// The functions of programs, in their order. The programs may be replaced by those that are run.
using Generate =
    std::function<std::vector<pto_kernel>(std::vector<LoopProgram>& programs, const Target& target)>;

inline void expect_code(const std::vector<Sample>& runs, const Target& target, const Generate& generate) {
  std::vector<LoopProgram> programs;
  for (size_t i = 0; i < runs.size(); i++) {
    programs.push_back(runs[i].program);
    programs.back().name = Symbol("kernel_" + std::to_string(i));
  }
  const std::vector<pto_kernel> code = generate(programs, target);
  ASSERT_EQ(code.size(), runs.size());
  for (size_t i = 0; i < runs.size(); i++) {
    const Sample& run = runs[i];
    ASSERT_NE(code[i], nullptr);
    const auto want = run.buffers();
    std::string want_error;
    interpret(run.program, want, run.sizes, &want_error);
    // Where nothing is parallel, one worker runs it all.
    for (int workers : {1, programs[i].parallel() ? 3 : 1}) {
      const auto got = run.buffers();
      std::string error;
      run_kernel(programs[i], code[i], got, run.sizes, workers, &error);
      expect_same_bits(run.kernel, got, want, run.what + " by " + std::to_string(workers) + " workers");
      EXPECT_EQ(error.empty(), want_error.empty()) << run.what << ": " << error << " / " << want_error;
      if (::testing::Test::HasFailure()) {
        std::cout << run.what << "\n" << to_text(programs[i]);
        return;
      }
    }
  }
}

inline std::vector<Sample> kernel_samples(const Target& target) {
  std::vector<Sample> runs;
  for (const auto& c : kernel_cases()) {
    const Kernel k = parse(c.text);
    for (const auto& sizes : c.sizes) {
      const Scheduled s = make_schedule(k, size_class(k, sizes, target), target);
      std::string what = c.name;
      for (const auto& [symbol, n] : sizes) what += " " + symbol.str() + "=" + std::to_string(n);
      runs.push_back({k, lower(s.kernel, s.schedule, target), sizes, what + "\n" + to_text(s.schedule)});
    }
  }
  return runs;
}

inline std::vector<Sample> random_samples(const Target& target) {
  std::vector<Sample> runs;
  const char* from = std::getenv("PTO_FUZZ_FROM");
  const uint32_t first = from ? static_cast<uint32_t>(std::atoi(from)) : 0;
  for (uint32_t seed = first; seed < first + 40; seed++) {
    Random random(seed * 2654435761u + 7);
    const RandomKernel made = KernelMaker(random).make();
    Schedule s = ScheduleMaker(random, made.kernel).make();
    s.target = target.name;
    try {
      verify(made.kernel, s, target);
    } catch (const Error&) {
      continue;
    }
    runs.push_back({made.kernel, lower(made.kernel, s, target), made.sizes,
                    "seed " + std::to_string(seed) + "\n" + to_text(made.kernel) + to_text(s)});
  }
  return runs;
}

inline std::vector<Sample> template_samples(const Target& target) {
  const char* const texts[] = {
      "kernel f[N](x: f32[3, N]) -> (y: f32[3, N], p: i64[3, N]) { opaque sort {axis = 1, descending = true, "
      "by_index = false} }",
      "kernel f[N](x: u8[N, 2]) -> (y: u8[N, 2]) { opaque sort {axis = 0, descending = false, by_index = false} }",
      "kernel f[N](x: f32[2, N, 2]) -> (y: f32[2, 5, 2], p: i64[2, 5, 2]) { opaque topk {k = 5, axis = 1, "
      "largest = true} }",
      "kernel f[N](x: f32[4, N], i: i64[9], u: f32[9, N]) -> (y: f32[4, N]) { opaque scatter {axis = 0, combine = "
      "\"add\"} }",
      "kernel f[N](x: i32[4, N], i: i64[2, N], u: i32[2, N]) -> (y: i32[4, N]) { opaque scatter {axis = 0, "
      "combine = \"max\"} }",
  };
  std::vector<Sample> runs;
  for (const char* text : texts) {
    const Kernel k = parse(text);
    for (int64_t n : {5, 17, 70}) {
      const Sizes sizes = sizes_of({{"N", n}});
      runs.push_back(
          {k, lower(k, Schedule{k.name}, target), sizes, std::string(text) + " N=" + std::to_string(n)});
    }
  }
  return runs;
}

// What the generators must do with values that hardly any kernel has.
inline std::vector<Sample> unusual_samples() {
  const char* const bodies[] = {
      "y[k[ramp(0, 1, 4)]] = x[ramp(0, 1, 4)]",
      "y[ramp(0, 1, 4) // broadcast(2, 4)] = x[ramp(0, 1, 4)]",
      "y[1] = x[ramp(0, 1, 4)]",
      "y[ramp(3, -1, 4)] = x[ramp(0, 1, 4)] if x[ramp(0, 1, 4)] < broadcast(f32(0), 4)",
      "y[ramp(6, 1, 4)] = f32(5) if ramp(0, 1, 4) < broadcast(2, 4)",
      "y[ramp(0, 1, 3)] = x[ramp(-1, 1, 3) if broadcast(0, 3) < ramp(0, 1, 3) else broadcast(f32(7), 3)]",
      "y[0] = hreduce(Add, x[ramp(0, 1, 3)]) y[1] = hreduce(Max, x[ramp(0, 1, 4)])",
      "alloc h: f16[7] private h[ramp(0, 1, 7)] = cast(f16, cast(f32, ramp(20, 3, 7)) / broadcast(f32(7), 7)) "
      "y[0] = cast(f32, hreduce(Add, h[ramp(0, 1, 7)])) y[1] = cast(f32, hreduce(Mul, h[ramp(0, 1, 7)])) "
      "y[2] = cast(f32, hreduce(Max, h[ramp(0, 1, 7)])) y[3] = cast(f32, hreduce(Sub, h[ramp(0, 1, 2)]))",
      "alloc h: bf16[8] private h[ramp(0, 1, 8)] = cast(bf16, cast(f32, ramp(20, 3, 8)) / broadcast(f32(7), 8)) "
      "y[0] = cast(f32, hreduce(Add, h[ramp(0, 1, 8)])) y[1] = cast(f32, hreduce(Mul, h[ramp(0, 1, 8)])) "
      "y[2] = cast(f32, hreduce(Min, h[ramp(0, 1, 8)])) y[3] = cast(f32, hreduce(Mod, h[ramp(0, 1, 8)]))",
      "alloc b: bool[4] private b[ramp(0, 1, 4)] = x[ramp(0, 1, 4)] < broadcast(f32(0), 4) "
      "y[ramp(0, 2, 4)] = cast(f32, b[ramp(0, 1, 4)])",
      "alloc h: bf16[4] private h[ramp(0, 1, 4)] = cast(bf16, x[ramp(0, 1, 4)] * broadcast(f32(1.0001), 4)) "
      "y[ramp(0, 1, 4)] = cast(f32, h[ramp(0, 1, 4)] + h[ramp(0, 1, 4)])",
      "for i in 1 .. 8 step 3 { y[i] = x[i % 4] // f32(3) y[i - 1] = x[i % 4] % f32(3) }",
      "let v = y[0] y[0] = f32(1) y[1] = v",
      "check k[ramp(0, 1, 4)] < broadcast(2, 4), 1 y[0] = f32(1)",
      "alloc t: f32[2, 8] shared parallel i in 0 .. 8 { t[0, i] = y[i] + cast(f32, i) } barrier "
      "parallel i in 0 .. 8 { y[i] = t[0, 7 - i] }",
  };
  const Kernel k =
      parse("kernel f[N](x: f32[4], k: i64[4]) -> (y: f32[8]) { axis i: 8 store y[i] = x[k[i // 2]] }");
  std::vector<Sample> runs;
  for (const char* body : bodies)
    runs.push_back({k,
                    parse_loop_text(std::string("loop f[N](x: f32[4], k: i64[4], out y: f32[8]) { ") + body +
                                    " message \"first\" message \"second\" }"),
                    sizes_of({{"N", 4}}), body});
  return runs;
}

// One lane of a vector of narrow elements: its neighbours stay what they were.
inline std::vector<Sample> single_lane_samples() {
  std::vector<Sample> runs;
  const std::pair<const char*, const char*> types[] = {{"i32", "i8"},  {"i32", "u16"}, {"i64", "i16"},
                                                       {"i64", "i32"}, {"f32", "f16"}, {"f32", "bf16"},
                                                       {"f32", "i8"}};
  for (const auto& [from, to] : types)
    for (const char* lane : {"0", "3"}) {
      const std::string f = from, t = to;
      const Kernel k = parse("kernel f[N](x: " + f + "[8]) -> (y: " + t +
                             "[16]) { axis i: 16 store y[i] = cast(" + t + ", x[i % 8]) }");
      const std::string body = "y[ramp(0, 1, 16)] = broadcast(cast(" + t +
                               ", f32(3)), 16) y[ramp(4, 1, 8)] = cast(" + t +
                               ", x[ramp(0, 1, 8)]) if ramp(0, 1, 8) == broadcast(" + lane + ", 8)";
      runs.push_back({k, parse_loop_text("loop f[N](x: " + f + "[8], out y: " + t + "[16]) { " + body + " }"),
                      sizes_of({{"N", 8}}), body});
    }
  return runs;
}

// Values at which operations differ from one another.
inline std::vector<Scalar> edges(DType type) {
  std::vector<Scalar> out;
  if (type == DType::Bool) return {Scalar::from_bool(false), Scalar::from_bool(true)};
  for (double x : {0.0, 1.0, 2.0, 3.0, 7.0, 60.0}) out.push_back(Scalar::from_double(type, x));
  if (is_float(type)) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (double x : {-0.0, -1.0, -2.5, 0.5, 1.5, 1e-3, 3.4e38, 5e-39, -1e10, 6.1e-5, 65519.0, 1e300, -inf,
                     inf, inf - inf, 2147483648.0, -9.3e18, 127.6, 1.0 + 1.0 / 4096})
      out.push_back(Scalar::from_double(type, x));
    return out;
  }
  const int width = size_of(type) * 8;
  const uint64_t top = uint64_t{1} << (width - 1);
  for (int64_t n : {int64_t{-1}, int64_t{-7}, int64_t{width}, static_cast<int64_t>(top),
                    static_cast<int64_t>(top - 1), int64_t{0x0123456789ABCDEF}})
    out.push_back(Scalar::from_int(type, n));
  return out;
}

// A parameter of a program that reads a[i] and a[j], and what it holds there.
struct Cell {
  std::string name;
  std::function<Expr(const Expr& x, const Expr& y)> value;
};

// For each type one program with all operations of pairs of values, on scalars and on vectors.
inline std::vector<Sample> operation_samples() {
  std::vector<Sample> out;
  for (DType type : all_dtypes()) {
    std::vector<Cell> cells;
    for (Op op :
         {Op::Add, Op::Sub, Op::Mul,   Op::FloorDiv, Op::Mod,   Op::Min,   Op::Max,  Op::Neg, Op::Abs,
          Op::And, Op::Or,  Op::Xor,   Op::Not,      Op::Shl,   Op::Shr,   Op::Eq,   Op::Ne,  Op::Lt,
          Op::Le,  Op::Div, Op::Floor, Op::Ceil,     Op::Trunc, Op::Round, Op::Sqrt, Op::Fma, Op::CopySign}) {
      const OpInfo& o = info(op);
      if (o.cls == OpClass::bits ? is_float(type) : o.cls == OpClass::Float && !is_float(type)) continue;
      const bool shifts = op == Op::Shl || op == Op::Shr;
      const bool orders = o.cls == OpClass::cmp || o.cls == OpClass::bits || op == Op::Add || op == Op::Mul ||
                          op == Op::Min || op == Op::Max;
      if (type == DType::Bool && (shifts || !orders)) continue;
      cells.push_back({std::string(o.id), [op, arity = o.arity](const Expr& x, const Expr& y) {
                         Exprs args{x, y, x};
                         args.resize(static_cast<size_t>(arity));
                         return make(op, std::move(args));
                       }});
    }
    for (DType to : all_dtypes())
      if (to != type)
        cells.push_back(
            {"to_" + std::string(name(to)), [to](const Expr& x, const Expr&) { return cast(to, x); }});

    const std::vector<Scalar> values = edges(type);
    const auto n = static_cast<int64_t>(values.size());
    Sample s;
    s.what = "operations on " + std::string(name(type));
    const BufferPtr a = make_buffer(type, {n});
    for (int64_t i = 0; i < n; i++)
      values[static_cast<size_t>(i)].to_bytes(static_cast<char*>(a->data) + i * size_of(type));
    s.inputs = {a};
    std::vector<StmtPtr> scalars, vectors;
    const auto add = [&](Symbol param, DType dtype, int64_t rows) {
      s.kernel.params.push_back({param, dtype, {Expr(rows), Expr(n)}, rows > 0});
      s.program.params.push_back({param, dtype, {Expr(rows), Expr(n)}, rows > 0});
    };
    add(Symbol("a"), type, 0);
    s.kernel.params[0].shape = s.program.params[0].shape = {Expr(n)};
    const Expr i = var("i"), j = var("j"), lanes = ramp(Expr(0), Expr(1), static_cast<int>(n));
    const Expr x = load(Symbol("a"), type, {i}), y = load(Symbol("a"), type, {j});
    const Expr all = load(Symbol("a"), type, {lanes});
    for (const auto& c : cells) {
      const Symbol one(c.name + ".scalars"), many(c.name + ".vectors");
      const Expr of_scalars = c.value(x, y), of_vectors = c.value(all, broadcast(x, static_cast<int>(n)));
      add(one, of_scalars.type(), n);
      add(many, of_scalars.type(), n);
      scalars.push_back(store(one, {i, j}, of_scalars));
      vectors.push_back(store(many, {i, lanes}, of_vectors));
    }
    vectors.push_back(for_loop(ForKind::Serial, Symbol("j"), Expr(0), Expr(n), Expr(1), std::move(scalars)));
    s.program.body = {for_loop(ForKind::Serial, Symbol("i"), Expr(0), Expr(n), Expr(1), std::move(vectors))};
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace pto::testing
