// What the verifier of loop programs refuses, and why.
#include "loop_cases.h"

namespace pto::testing {
namespace {

TEST(LoopVerify, RefusesText) {
  const std::pair<const char*, const char*> cases[] = {
      {"for i in 0 .. N { y[i] = x[i, 0] }", "accepted"},
      {"parallel i in 0 .. N { y[i] = x[i, 0] }", "accepted"},
      {"x[0, 0] = f32(1)", "the store to x writes an input"},
      {"y[0, 0] = f32(1)", "the store to y has 2 indices"},
      {"z[0] = f32(1)", "the store to z names z, which is no buffer there"},
      {"N[] = 1", "the store to N names N, which is no buffer there"},
      {"y[0] = f64(1)", "the store to y must be f32, not f64 of 1 lanes"},
      {"y[0] = x[0]", "reads x with 1 indices"},
      {"y[0] = x", "uses x, which is no variable there"},
      {"let a = N[0]", "names N, which is no buffer there"},
      {"alloc t: f32[x[0, 0] // f32(1)] private", "a size must be one i64"},
      {"for i in 0 .. 3 { alloc t: f32[i] private }", "has a size that depends on i"},
      {"alloc n: i64[] private let m = n[] alloc t: f32[m] private", "has a size that depends on m"},
      {"alloc n: i64[] private alloc t: f32[n[]] private", "has a size that reads memory: n[]"},
      {"alloc t: f32[N] register", "is a register whose size is not constant"},
      {"alloc t: f32[N] shared", "accepted"},
      {"if true { alloc t: f32[N] shared }", "is shared, and not at the top level"},
      {"parallel i in 0 .. N { barrier }", "a barrier inside a parallel loop"},
      {"for i in 0 .. N { barrier }", "accepted"},
      {"parallel i in 0 .. N { } y[0] = f32(1)",
       "stands outside of parallel loops: every worker would do it"},
      {"alloc t: f32[2] private parallel i in 0 .. N { } t[0] = f32(1)", "accepted"},
      {"unroll i in 0 .. N { }", "loop i is to be unrolled, and its bounds are not constant"},
      {"vector i in 0 .. 8 step N { }", "loop i is to be unrolled, and its bounds are not constant"},
      {"check true, 1", "a check names message 1 of 1"},
      {"check ramp(0, 1, 4) < broadcast(N, 4), 0", "accepted"},
  };
  for (const auto& [body, expected] : cases) {
    const std::string message = refusal([&] {
      verify(parse_loop_text(std::string("loop f[N](x: f32[N, 4], out y: f32[N]) { ") + body +
                             " message \"no\" }"),
             "test");
    });
    EXPECT_NE(message.find(expected), std::string::npos) << body << "\n" << message;
  }
}

// What no text can say, since a pass made it.
TEST(LoopVerify, RefusesStatements) {
  const Symbol y("y"), v("v");
  const Expr one = constant(DType::F32, 1);
  auto wrong = [](StmtPtr made, const std::function<void(Stmt&)>& change) {
    Stmt s = *made;
    change(s);
    return std::make_shared<const Stmt>(s);
  };
  const std::pair<std::vector<StmtPtr>, const char*> cases[] = {
      {{nullptr}, "an empty statement"},
      {{let(v, one), let(v, one)}, "v is defined twice"},
      {{block({let(v, one)}), let(v, one)}, "accepted"},
      {{let(y, one)}, "y is defined twice"},
      {{block({let(v, one)}), store(y, {Expr(0)}, var(v, DType::F32))}, "uses v, which is no variable there"},
      {{let(v, one), store(y, {var(v)}, one)}, "uses v as i64 of 1 lanes"},
      {{let(v, ramp(Expr(0), Expr(1), 4)), store(y, {var(v)}, one)}, "uses v as i64 of 1 lanes"},
      {{store(y, {Expr(0)}, load(y, DType::F64, {Expr(0)}))}, "must be f32, not f64"},
      {{let(v, load(y, DType::F64, {Expr(0)}))}, "reads y as another type"},
      {{wrong(let(v, one), [](Stmt& s) { s.value = {}; })}, "let v is empty"},
      {{wrong(store(y, {Expr(0)}, one), [](Stmt& s) { s.mask = Expr(1); })}, "its mask must be bool"},
      {{wrong(store(y, {Expr(0)}, one),
              [](Stmt& s) {
                s.index = {ramp(Expr(0), Expr(1), 4)};
                s.value = broadcast(s.value, 8);
              })},
       "operands of unequal lanes"},
      {{wrong(if_then(Expr(Scalar::from_bool(true)), {}), [](Stmt& s) { s.value = Expr(1); })},
       "a condition must be bool, not i64"},
      {{wrong(for_loop(ForKind::Serial, v, Expr(0), Expr(2), Expr(1), {}),
              [](Stmt& s) { s.step = Expr(0); })},
       "loop v has a step that is not positive"},
      {{wrong(alloc(v, DType::F32, {Expr(2)}, Scope::Private), [](Stmt& s) { s.scope = Scope::Param; })},
       "has a parameter's scope"},
  };
  for (size_t i = 0; i < std::size(cases); i++) {
    const auto& [body, expected] = cases[i];
    LoopProgram p{Symbol("f")};
    p.params.push_back({y, DType::F32, {Expr(16)}, true});
    p.body = body;
    const std::string message = refusal([&] { verify(p, "test"); });
    EXPECT_NE(message.find(expected), std::string::npos) << i << ": " << expected << "\n" << message;
  }
}

TEST(LoopMakers, Refuse) {
  const Symbol y("y");
  const Expr wide = ramp(Expr(0), Expr(1), 4), one = constant(DType::F32, 1), yes(Scalar::from_bool(true));
  const std::pair<std::function<void()>, const char*> cases[] = {
      {[&] { for_loop(ForKind::Serial, Symbol(), Expr(0), Expr(1), Expr(1), {}); }, "without a variable"},
      {[&] { for_loop(ForKind::Serial, y, Expr(0), wide, Expr(1), {}); },
       "a bound of loop y must be one i64"},
      {[&] { for_loop(ForKind::Serial, y, Expr(0), Expr(1), Expr(-1), {}); }, "must be positive, not -1"},
      {[&] { if_then(broadcast(yes, 4), {}); }, "a condition must be one bool"},
      {[&] { if_then(yes, {nullptr}); }, "an empty statement"},
      {[&] { let(y, Expr()); }, "a let without a name or a value"},
      {[&] { store(y, {one}, one); }, "an index that is not i64"},
      {[&] { store(y, {wide}, broadcast(one, 8)); }, "indices of unequal lanes"},
      {[&] { store(y, {wide}, one, one); }, "a mask that is not bool"},
      {[&] { store(y, {wide}, one, broadcast(yes, 2)); }, "a mask of other lanes"},
      {[&] { alloc(y, DType::F32, {one}, Scope::Private); }, "a size of y must be one i64"},
      {[&] { alloc(y, DType::F32, {}, Scope::Param); }, "without a name or a scope"},
      {[&] { check(Expr(1), 0); }, "a check must be bool"},
      {[&] { check(yes, -1); }, "a negative number"},
  };
  for (const auto& [make, expected] : cases) {
    const std::string message = refusal(make);
    EXPECT_NE(message.find(expected), std::string::npos) << expected << ": " << message;
  }
}

}  // namespace
}  // namespace pto::testing
