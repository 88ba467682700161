// What a program's text may say, and what is found out when its sizes are known.
#include "exec/run_plan.h"
#include "exec_check.h"
#include "ops/control.h"

namespace pto::testing {
namespace {

constexpr const char* kCopy =
    "program main[B] {\n  input x: f32[B, 2]\n  output y: f32[2 * B]\n  copy (x) -> (y)\n}\n";

constexpr const char* kCond =
    "program main {\n  input p: bool[]\n  input x: f32[4]\n  output y: f32[2, 2]\n  cond(p, x) -> (y) {\n"
    "    program then {\n      input a: f32[4]\n      output b: f32[4]\n      copy (a) -> (b)\n    }\n"
    "    program else {\n      input c: f32[4]\n      output d: f32[4]\n      copy (c) -> (d)\n    }\n  }\n}\n";

constexpr const char* kWhile =
    "program main {\n  input p: bool[]\n  input x: f32[4]\n  output y: f32[4]\n  while(x, p) -> (y) {\n"
    "    program condition {\n      input a: f32[4]\n      input q: bool[]\n      output r: bool[]\n"
    "      copy (q) -> (r)\n    }\n"
    "    program body {\n      input c: f32[4]\n      input s: bool[]\n      output d: f32[4]\n"
    "      copy (c) -> (d)\n    }\n  }\n}\n";

constexpr const char* kScan =
    "program main[N] {\n  input c: f32[2]\n  input xs: f32[N, 3]\n  output y: f32[2]\n  output ys: f32[N, 3]\n"
    "  scan[carries = 1, sequences = 1, length = N](c, xs) -> (y, ys) {\n"
    "    program body {\n      input a: f32[2]\n      input b: f32[3]\n      output d: f32[2]\n"
    "      output e: f32[3]\n      copy (a) -> (d)\n      copy (b) -> (e)\n    }\n  }\n}\n";

constexpr const char* kForeign =
    "program main {\n  input x: f32[4]\n  output y: f32[4]\n"
    "  foreign {name = \"f\", function = 0, pure = true, dtypes = [f32], ranks = [1], sizes = [4]}(x) -> (y)\n}\n";

constexpr const char* kLaunch =
    "program main[B, C] {\n  input x: f32[B]\n  output y: f32[C]\n  launch k[N = C](x) -> (y)\n}\n"
    "kernel k[N](x: f32[N]) -> (y: f32[N]) {\n  axis i: N\n  store y[i] = x[i] * f32(2)\n}\n";

TEST(ExecVerify, TextsThatDoNotFitAreRefused) {
  struct Case {
    const char *text, *from, *to, *message;
  };
  for (const Case& c : std::vector<Case>{
           {kCopy, "2 * B", "B * B", ""},   // B may be as it must: seen when it runs
           {kCopy, "2 * B", "3", "x: f32[B, 2] is taken as f32[3]"},
           {kCopy, "2 * B", "2 * B + 1", "x: f32[B, 2] is taken as f32[2*B + 1]"},
           {kCopy, "main[B]", "main", "the size B is not among those of program \"main\""},
           {kCond, "b: f32[4]", "b: f32[5]", "a: f32[4] is taken as f32[5]"},
           {kCond, "y: f32[2, 2]", "y: f32[1]", "y: f32[1] is taken as f32[4]"},
           {kCond, "a: f32[4]\n      output b: f32[4]", "a: f32[3]\n      output b: f32[3]",
            "x: f32[4] is taken as f32[3]"},
           {kCond, "p: bool[]", "p: bool[2]", "p: bool[2] is taken as bool[]"},
           {kCond, "      copy (a)", "      guard 1 == 2\n      copy (a)", "guards of its own"},
           {kCond, "output d: f32[4]", "output d: f32[Q]", "the size Q is not among those"},
           {kWhile, "y: f32[4]", "y: f32[2]", "y: f32[2] is taken as f32[4]"},
           {kWhile, "q: bool[]\n      output r: bool[]", "q: bool[1]\n      output r: bool[2]",
            "q: bool[1] is taken as bool[2]"},
           {kWhile, "bool[]\n      copy", "i8[]\n      copy", "q: bool[] is taken as i8[]"},
           {kWhile, "copy (q) -> (r)", "copy (a) -> (r)", "a: f32[4] is taken as bool[]"},
           {kScan, "length = N", "length = N + 1", "xs: f32[N, 3] is taken as f32[N + 1, 3]"},
           {kScan, "y: f32[2]", "y: f32[3]", "y: f32[3] is taken as f32[2]"},
           {kScan, "ys: f32[N, 3]", "ys: f32[3]", ""},
           {kScan, "ys: f32[N, 3]", "ys: f32[N]", ""},   // N may be 0
           {kScan, "ys: f32[N, 3]", "ys: f16[N, 3]", "ys: f16[N, 3] is taken as f32[N, 3]"},
           {kScan, "sequences = 1", "sequences = 9223372036854775807", "other carries and sequences"},
           {kForeign, "sizes = [4]", "sizes = [5]", "y: f32[4] is taken as f32[5]"},
           {kForeign, "dtypes = [f32], ranks = [1]", "dtypes = [f32, f32], ranks = [1, 0]",
            "gives other results"},
           {kForeign, "ranks = [1]", "ranks = [2]", "malformed result types"},
           {kForeign, "y: f32[4]", "y: f32[2, 2]", "y is a foreign call's result of another rank"},
           {kLaunch, "N = C", "N = 2 * C", ""},
           {kLaunch, "N = C", "N = B + 1", "x: f32[B] is taken as f32[B + 1]"},
       }) {
    std::string text = c.text;
    EXPECT_NO_THROW(parse_program(text)) << text;
    const size_t at = text.find(c.from);
    ASSERT_NE(at, text.npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);
    const std::string error = error_of([&] { parse_program(text); });
    EXPECT_EQ(error.empty(), std::string(c.message).empty()) << error << "\n" << text;
    EXPECT_NE(error.find(c.message), error.npos) << error << "\n" << text;
  }
}

TEST(ExecVerify, SizesThatDoNotFitAreErrors) {
  Executable e(parse_program(kLaunch), without_disk());
  const auto x = filled(DType::F32, {4}, 1);
  EXPECT_EQ(e.run({x}, {{Symbol("C"), 4}})[0]->shape, std::vector<int64_t>{4});
  for (const int64_t c : {5, 3, 1000}) {
    const std::string error = error_of([&] { e.run({x}, {{Symbol("C"), c}}); });
    EXPECT_NE(error.find("for these sizes x is taken as one of another size"), error.npos) << error;
  }
  std::string text = kScan;
  text.replace(text.find("ys: f32[N, 3]"), 13, "ys: f32[3]");
  Executable scan(parse_program(text), without_disk());
  const auto c = filled(DType::F32, {2}, 2), xs = filled(DType::F32, {1, 3}, 3);
  expect_equal_bits(scan.run({c, xs}), interpret(scan.program(), {c, xs}), "one position");
  const auto two = filled(DType::F32, {2, 3}, 3);
  const std::string error = error_of([&] { scan.run({c, two}); });
  EXPECT_NE(error.find("ys is taken as one of another size"), error.npos) << error;
}

// Guards of nested graphs are the program's.
TEST(ExecVerify, GuardsStandOutside) {
  const Value p = input("p", {}, DType::Bool), x = input("x", {var("B")}), a = input("a", {var("B")});
  auto branch = std::make_shared<Graph>(graph_of({a}, {mul(a, 2.0)}));
  branch->guards.push_back(equal(mod(var("B"), Expr(2)), Expr(0)));
  auto attrs = std::make_shared<CondAttrs>();
  attrs->then = attrs->orelse = branch;
  const auto e = compile(graph_of({p, x}, {make_value("cond", {p, x}, attrs)}), without_disk());
  verify(e->program(), "test");
  ASSERT_EQ(e->program().guards.size(), 1U);
  const auto flag = make_buffer(DType::Bool, {});
  *static_cast<uint8_t*>(flag->data) = 1;
  EXPECT_EQ(e->run({flag, filled(DType::F32, {2}, 1)})[0]->shape[0], 2);
  EXPECT_NE(error_of([&] { e->run({flag, filled(DType::F32, {3}, 1)}); }).find("B % 2 == 0"),
            std::string::npos);
}

// How much a loop program computes is not known: all workers take part.
TEST(ExecVerify, LoopProgramsRunInParallel) {
  auto parallel = [](const std::string& kernel) {
    const Program p = parse_program(
        "program main {\n  input x: f32[4]\n  output y: f32[4]\n  launch k(x) -> (y)\n}\n" + kernel);
    return RunPlan(p, p, {}, {}, without_disk()).parallel();
  };
  EXPECT_TRUE(parallel("loop k(x: f32[4], out y: f32[4]) { parallel i in 0 .. 4 { y[i] = x[i] } }"));
  EXPECT_FALSE(parallel("loop k(x: f32[4], out y: f32[4]) { for i in 0 .. 4 { y[i] = x[i] } }"));
  EXPECT_FALSE(parallel("kernel k(x: f32[4]) -> (y: f32[4]) { axis i: 4 store y[i] = x[i] * f32(2) }"));
}

// Copies are none; the kernels of nested programs are launched as often as these run.
TEST(ExecVerify, LaunchesAreOfKernels) {
  const std::string kernel = "kernel k(x: f32[4]) -> (y: f32[4]) { axis i: 4 store y[i] = x[i] * f32(2) }";
  auto launches = [](const std::string& text, const std::vector<BufferPtr>& inputs) {
    Executable e(parse_program(text), without_disk());
    const int64_t before = counters().launches;
    e.run(inputs);
    return counters().launches - before;
  };
  const auto x = filled(DType::F32, {4}, 1), xs = filled(DType::F32, {3, 2}, 1),
             c = filled(DType::F32, {4}, 1);
  EXPECT_EQ(
      launches("program main {\n  input x: f32[4]\n  temp t: f32[4]\n  output y: f32[4]\n  output z: f32[4]\n"
               "  launch k(x) -> (t)\n  launch k(t) -> (y)\n  copy (x) -> (z)\n}\n" +
                   kernel,
               {x}),
      2);
  EXPECT_EQ(launches("program main {\n  input c: f32[4]\n  input xs: f32[3, 2]\n  output y: f32[4]\n"
                     "  scan[carries = 1, sequences = 1, length = 3](c, xs) -> (y) {\n    program body {\n"
                     "      input a: f32[4]\n      input b: f32[2]\n      output d: f32[4]\n"
                     "      launch k(a) -> (d)\n    }\n  }\n}\n" +
                         kernel,
                     {c, xs}),
            3);
}

TEST(ExecVerify, AnyNameOfAProgramParsesBack) {
  for (const char* name : {"<lambda>", "Модель.forward", "a \"b\"\\", ""}) {
    Program p = parse_program(kCopy);
    p.name = name;
    const std::string text = to_text(p);
    EXPECT_EQ(parse_program(text).name, name) << text;
  }
}

TEST(ExecVerify, MessagesHoldWholeCharacters) {
  const std::string error = error_of([] { parse_program("program Модель[B] {}"); });
  EXPECT_NE(error.find("found 'М' at"), error.npos) << error;
}

}  // namespace
}  // namespace pto::testing
