// Each loop pass by itself: text in, text out, and the same results.
#include <algorithm>

#include "codegen/codegen.h"
#include "loop_cases.h"
#include "loop_passes/pipeline.h"

namespace pto::testing {
namespace {

struct PassCase {
  const char *pass, *name, *before, *after;
};

constexpr const char* kShaped = "loop f[M, N](x: f32[M, N], k: i64[N], h: f16[N], out y: f32[M, N]) {";
constexpr const char* kFlat = "loop f[M, N](x: f32[M * N], k: i64[N], h: f16[N], out y: f32[M * N]) {";

const PassCase kCases[] = {
    {"expand_math", "fused_products", "y[0, 0] = x[0, 0] * x[0, 1] + x[0, 2]",
     "y[0, 0] = fma(x[0, 0], x[0, 1], x[0, 2])"},
    {"expand_math", "products_used_twice_keep_their_rounding",
     "let p = x[0, 0] * x[0, 1] - x[0, 0] * x[0, 1] y[0, 0] = p",
     "let product = x[0, 0] * x[0, 1] let p = product - product y[0, 0] = p"},
    {"expand_math", "statements_are_not_joined", "let p = x[0, 0] * x[0, 1] y[0, 0] = p + x[0, 2]",
     "let p = x[0, 0] * x[0, 1] y[0, 0] = p + x[0, 2]"},
    {"expand_math", "factors_of_a_contraction_stand_alone",
     "y[0, 0] = fma(x[0, 0] * x[0, 1] + x[0, 2], x[0, 0] * x[0, 1] + x[0, 3], x[0, 4])",
     "y[0, 0] = fma(fma(x[0, 0], x[0, 1], x[0, 2]), fma(x[0, 0], x[0, 1], x[0, 3]), x[0, 4])"},
    {"expand_math", "halves", "y[0, 0] = cast(f32, h[0] * h[1])",
     "y[0, 0] = cast(f32, cast(f16, cast(f32, h[0]) * cast(f32, h[1])))"},

    {"vectorise", "ramp", "vector i in 2 .. 10 { y[1, i] = x[1, i] * cast(f32, i) }",
     "y[1, ramp(2, 1, 8)] = x[1, ramp(2, 1, 8)] * cast(f32, ramp(2, 1, 8))"},
    {"vectorise", "lets", "vector i in 0 .. 8 step 2 { let a = x[0, i] let b = x[0, 1] y[0, i] = a + b }",
     "let a = x[0, ramp(0, 2, 4)] let b = x[0, 1] y[0, ramp(0, 2, 4)] = a + broadcast(b, 4)"},
    {"vectorise", "conditions_are_masks", "vector i in 0 .. 4 { if x[0, i] < f32(0) { y[0, i] = x[1, i] } }",
     "let holds = x[0, ramp(0, 1, 4)] < broadcast(f32(0), 4) y[0, ramp(0, 1, 4)] = x[1, ramp(0, 1, 4) if holds else "
     "broadcast(f32(0), 4)] if holds"},
    {"vectorise", "lanes_that_meet_stay_serial", "vector i in 0 .. 4 { y[0, 0] = y[0, 0] + x[0, i] }",
     "for i in 0 .. 4 { y[0, 0] = y[0, 0] + x[0, i] }"},
    {"vectorise", "neighbours_that_meet_stay_serial",
     "vector i in 0 .. 4 { y[0, i + 1] = y[0, i] + x[0, i] }",
     "for i in 0 .. 4 { y[0, i + 1] = y[0, i] + x[0, i] }"},
    {"vectorise", "one_place_keeps_the_last", "vector i in 0 .. 4 { y[0, 0] = x[0, i] }",
     "y[broadcast(0, 4), 0] = x[0, ramp(0, 1, 4)]"},

    {"unroll", "copies_with_names_of_their_own",
     "unroll i in 0 .. 6 step 3 { let a = x[0, i + 1] y[0, i] = a }",
     "let a = x[0, 1] y[0, 0] = a let a.1 = x[0, 4] y[0, 3] = a.1"},
    {"unroll", "nested", "unroll i in 0 .. 2 { unroll j in 0 .. 2 { let a = x[i, j] y[i, j] = a } }",
     "let a = x[0, 0] y[0, 0] = a let a.1 = x[0, 1] y[0, 1] = a.1 let a.2 = x[1, 0] y[1, 0] = a.2 let a.3 = x[1, 1] "
     "y[1, 1] = a.3"},
    {"unroll", "conditions_fold", "unroll i in 0 .. 2 { y[0, i] = select(i < 1, x[0, 0], x[0, 1]) }",
     "y[0, 0] = x[0, 0] y[0, 1] = x[0, 1]"},
    {"unroll", "too_many_copies_stay_a_loop", "unroll i in 0 .. 9999 { y[0, i % N] = x[0, 0] }",
     "for i in 0 .. 9999 { y[0, i % N] = x[0, 0] }"},
    {"unroll", "guarded_copies_stay_a_loop", "unroll i in 0 .. 4 { if i < N { y[0, i] = x[0, i] } }",
     "for i in 0 .. 4 { if i < N { y[0, i] = x[0, i] } }"},
    {"unroll", "guarded_copies_of_registers",
     "alloc t: f32[2] register unroll i in 0 .. 2 { if i < N { t[i] = x[0, i] } } y[0, 0] = t[0]",
     "alloc t: f32[2] register if 0 < N { t[0] = x[0, 0] } if 1 < N { t[1] = x[0, 1] } y[0, 0] = t[0]"},
    {"unroll", "blocks_of_memory",
     "unroll i in 0 .. 2 { alloc t: f32[1] private t[0] = x[0, i] y[0, i] = t[0] }",
     "alloc t: f32[1] private t[0] = x[0, 0] y[0, 0] = t[0] alloc t.1: f32[1] private t.1[0] = x[0, 1] y[0, 1] = "
     "t.1[0]"},

    {"simplify", "names_of_names", "let a = 3 let b = a let c = k[b + 1] y[0, c] = x[0, b]",
     "let c = k[4] y[0, c] = x[0, 3]"},
    {"simplify", "sums", "for i in 0 .. 4 { y[0, i + 2 - i + i * 2 - 1 - i] = x[0, i] }",
     "for i in 0 .. 4 { y[0, i + 1] = x[0, i] }"},
    {"simplify", "known_conditions", "if 1 < 2 { y[0, 0] = x[0, 0] } else { y[0, 0] = f32(1) }",
     "y[0, 0] = x[0, 0]"},
    {"simplify", "masks_of_all_lanes",
     "let m = ramp(0, 1, 4) < broadcast(9, 4) y[0, ramp(0, 1, 4)] = x[0, ramp(0, 1, 4) if m else broadcast(f32(0), "
     "4)] if m",
     "y[0, ramp(0, 1, 4)] = x[0, ramp(0, 1, 4)]"},
    {"simplify", "masks_of_no_lanes",
     "y[0, ramp(0, 1, 4)] = x[0, ramp(0, 1, 4)] if ramp(7, 1, 4) < broadcast(7, 4)", ""},
    {"simplify", "one_iteration", "for i in 3 .. 4 { y[0, i] = x[0, i] }", "y[0, 3] = x[0, 3]"},
    {"simplify", "no_iteration", "for i in 3 .. 3 { y[0, i] = x[0, i] }", ""},
    {"simplify", "one_worker_s_iteration_stays", "parallel i in 0 .. 1 { y[0, i] = x[0, i] }",
     "parallel i in 0 .. 1 { y[0, i] = x[0, i] }"},
    {"simplify", "floats_are_left_alone", "y[0, 0] = x[0, 0] * f32(0) + (x[0, 1] - x[0, 1])",
     "y[0, 0] = x[0, 0] * f32(0) + (x[0, 1] - x[0, 1])"},

    {"hoist", "invariant_arithmetic",
     "for i in 0 .. M { for j in 0 .. N { if i * N + 2 < j { y[i, j] = x[i, j] } } }",
     "for i in 0 .. M { let at = i * N + 2 for j in 0 .. N { if at < j { y[i, j] = x[i, j] } } }"},
    {"hoist", "outer_terms_first", "for i in 0 .. M { for j in 0 .. N { y[i, (j + i * 2) % N] = x[i, j] } }",
     "for i in 0 .. M { let at = i * 2 for j in 0 .. N { y[i, (at + j) % N] = x[i, j] } }"},
    {"hoist", "reads_stay", "for i in 0 .. M { for j in 0 .. N { y[i, k[i] % N] = x[i, j] } }",
     "for i in 0 .. M { for j in 0 .. N { y[i, k[i] % N] = x[i, j] } }"},
    {"hoist", "once_for_all_uses",
     "for j in 0 .. 3 { y[0, j] = x[0, (N - 1) // 2] y[1, j] = x[1, (N - 1) // 2] }",
     "let at = (N - 1) // 2 for j in 0 .. 3 { y[0, j] = x[0, at] y[1, j] = x[1, at] }"},

    {"dead_code", "lets", "let a = x[0, 0] let b = a + f32(1) y[0, 0] = f32(2)", "y[0, 0] = f32(2)"},
    {"dead_code", "buffers_that_nothing_reads",
     "alloc t: f32[2] private for i in 0 .. 2 { t[i] = x[0, i] } y[0, 0] = f32(2)", "y[0, 0] = f32(2)"},
    {"dead_code", "buffers_read_in_an_earlier_statement",
     "alloc t: f32[1] private t[0] = f32(0) for i in 0 .. 2 { y[0, i] = t[0] t[0] = x[0, i] }",
     "alloc t: f32[1] private t[0] = f32(0) for i in 0 .. 2 { y[0, i] = t[0] t[0] = x[0, i] }"},
    {"dead_code", "empty_loops", "for i in 0 .. N { if i < 3 { let a = i } } y[0, 0] = f32(2)",
     "y[0, 0] = f32(2)"},

    {"flatten", "rows", "for i in 0 .. M { y[i, ramp(2, 1, 4)] = x[i, ramp(2, 1, 4)] }",
     "for i in 0 .. M { y[ramp(i * N + 2, 1, 4)] = x[ramp(i * N + 2, 1, 4)] }"},
    {"flatten", "columns", "y[ramp(0, 1, 3), 1] = x[ramp(0, 1, 3), k[0]]",
     "y[ramp(1, N, 3)] = x[ramp(k[0], N, 3)]"},
    {"flatten", "blocks",
     "alloc t: f32[2, 3] private alloc s: f32[] register s[] = f32(1) t[1, 2] = s[] y[0, 0] = t[1, 2]",
     "alloc t: f32[6] private alloc s: f32[1] register s[0] = f32(1) t[5] = s[0] y[0] = t[5]"},
};

const LoopPass& pass_of(const std::string& name) {
  for (const auto& p : loop_passes())
    if (p.name == name) return p;
  throw InternalError("test", "no pass " + name);
}

// For M = 3, N = 10.
std::vector<double> results(const LoopProgram& p) {
  std::vector<double> x, k, h;
  for (int i = 0; i < 30; i++) x.push_back(i % 7 - 2.75);
  for (int i = 0; i < 10; i++) {
    k.push_back(i * 3 % 10);
    h.push_back(1.0 + i / 1024.0);
  }
  const bool flat = p.params[0].shape.size() == 1;
  const std::vector<int64_t> shape = flat ? std::vector<int64_t>{30} : std::vector<int64_t>{3, 10};
  const BufferPtr y = filled(DType::F32, shape, std::vector<double>(30, 0.5));
  interpret(p, {filled(DType::F32, shape, x), filled(DType::I64, {10}, k), filled(DType::F16, {10}, h), y},
            {{Symbol("M"), 3}, {Symbol("N"), 10}});
  return values_of(y);
}

TEST(LoopPasses, TextToText) {
  const Target target = make_target("avx512");
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.pass) + ": " + c.name);
    const LoopProgram before = parse_loop_text(std::string(kShaped) + c.before + "}");
    const bool flat = std::string(c.pass) == "flatten";
    const LoopProgram want = parse_loop_text(std::string(flat ? kFlat : kShaped) + c.after + "}");
    const LoopProgram got = pass_of(c.pass).run(before, target);
    verify(got, c.pass);
    EXPECT_EQ(to_text(got), to_text(want));
    EXPECT_EQ(results(got), results(before));
    EXPECT_EQ(to_text(pass_of(c.pass).run(got, target)), to_text(got)) << "a second time";
  }
}

TEST(LoopPasses, EveryPassHasCases) {
  for (const auto& p : loop_passes()) {
    const bool found =
        std::any_of(std::begin(kCases), std::end(kCases), [&](const auto& c) { return p.name == c.pass; });
    EXPECT_TRUE(found) << p.name;
  }
}

TEST(LoopPasses, TextOfNestedFunctionsGrowsWithTheirNumber) {
  const auto nested = [](int depth, const std::string& f) {
    std::string e = "x[0, 0]";
    for (int i = 0; i < depth; i++) e = f + "(" + e + ")";
    return parse_loop_text(std::string(kShaped) + "y[0, 0] = " + e + "}");
  };
  for (const char* f : {"exp", "tanh", "erf", "tan"}) {
    const auto expand = [&](int depth) {
      return pass_of("expand_math").run(nested(depth, f), make_target("avx2"));
    };
    const LoopProgram deep = expand(16);
    verify(deep, f);
    EXPECT_LT(to_text(deep).size(), 8 * to_text(expand(4)).size()) << f;
    EXPECT_EQ(results(parse_loop_text(to_text(deep))), results(deep)) << f;
  }
}

TEST(LoopPasses, CanBeLeftOut) {
  const LoopProgram p = parse_loop_text(std::string(kShaped) + "let a = x[0, 0] y[0, 1 + 2] = x[0, 1] }");
  const auto texts = [&](const std::set<std::string>& off) {
    std::vector<std::string> names;
    const LoopProgram out =
        run_loop_passes(p, make_target("sse"), off,
                        [&](const std::string& name, const LoopProgram&) { names.push_back(name); });
    return std::make_pair(to_text(out), names);
  };
  EXPECT_EQ(texts({}).second.size(), loop_passes().size());
  EXPECT_EQ(texts({}).first.find("let a"), std::string::npos);
  EXPECT_NE(texts({"dead_code"}).first.find("let a"), std::string::npos);
  EXPECT_EQ(texts({"dead_code"}).second.size(), loop_passes().size() - 1);
  EXPECT_NE(refusal([&] { texts({"unroll"}); }).find("machine code needs the loop pass unroll"),
            std::string::npos);
  EXPECT_NE(refusal([&] { texts({"polish"}); }).find("there is no loop pass called polish"),
            std::string::npos);
}

TEST(LoopPasses, ScratchOfBlocksThatDoNotOverlapIsShared) {
  const LoopProgram p = parse_loop_text(
      "loop f[N](out y: f32[N]) { alloc a: f32[N] private for i in 0 .. N { alloc b: f32[20] private b[0] = f32(1) }"
      " for i in 0 .. N { alloc c: i8[3] private c[0] = i8(1) alloc d: f64[2, 4] private d[0, 0] = f64(1) }"
      " alloc e: f32[1] private alloc r: f32[99] register }");
  const ScratchLayout layout = scratch_layout(p);
  std::string text;
  for (const auto& [name, offset] : layout.offsets)
    text += name.str() + "=" + std::to_string(eval_size(offset, {{Symbol("N"), 17}})) + " ";
  EXPECT_EQ(text, "a=0 b=128 c=128 d=192 e=128 ");
  EXPECT_EQ(eval_size(layout.private_bytes, {{Symbol("N"), 17}}), 256);
  EXPECT_EQ(eval_size(layout.shared_bytes, {{Symbol("N"), 17}}), 0);
}

}  // namespace
}  // namespace pto::testing
