// Text of loop programs: exact both ways, with a place in every complaint, and no crash whatever it is.
#include <random>

#include "loop_cases.h"

namespace pto::testing {
namespace {

TEST(LoopText, RoundTripsExactly) {
  for (const char* text : loop_texts()) {
    const LoopProgram p = parse_loop_text(text);
    verify(p, "test");
    EXPECT_EQ(to_text(p), text);
  }
}

TEST(LoopText, StatementsAlone) {
  const StmtPtr s = for_loop(ForKind::Serial, Symbol("i"), Expr(0), Expr(4), Expr(1),
                             {store(Symbol("y"), {var("i")}, constant(DType::F32, 1))});
  EXPECT_EQ(to_text(s, 2), "  for i in 0 .. 4 {\n    y[i] = f32(1)\n  }\n");
  EXPECT_EQ(to_text(barrier()), "barrier\n");
}

TEST(LoopText, ScalarsOfVectorStoresAreBroadcast) {
  const LoopProgram p = parse_loop_text("loop f(out y: i64[4]) { y[ramp(0, 1, 4)] = 7 if true }");
  EXPECT_EQ(p.body[0]->value, broadcast(Expr(7), 4));
  EXPECT_EQ(p.body[0]->mask.lanes(), 4);
}

TEST(LoopText, AMaskStandsOnTheLineOfItsStore) {
  const LoopProgram p = parse_loop_text(
      "loop f(out y: i64[4]) {\n y[0] = 1 if y[1] < 2\n y[0] = 2\n if y[1] < 3 { barrier }\n}");
  ASSERT_EQ(p.body.size(), 3u);
  EXPECT_TRUE(p.body[0]->mask);
  EXPECT_FALSE(p.body[1]->mask);
  EXPECT_EQ(p.body[2]->kind, StmtKind::If);
}

TEST(LoopText, KnowsWhetherAnythingIsParallel) {
  EXPECT_FALSE(parse_loop_text("loop f() { for i in 0 .. 2 { barrier } }").parallel());
  EXPECT_TRUE(
      parse_loop_text("loop f() { if true { } else { for i in 0 .. 2 { parallel j in 0 .. 2 { } } } }")
          .parallel());
}

TEST(LoopText, Complains) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected 'loop', found the end of the text at line 1, column 1"},
      {"loop f(x: f33[2]) { }", "expected a type, found 'f33' at line 1, column 11"},
      {"loop f[N](x: f32[M]) { }", "unknown name 'M'"},
      {"loop f[N, N]() { }", "'N' is defined twice"},
      {"loop f(x: f32[2], out x: f32[2]) { }", "'x' is defined twice"},
      {"loop f(x: f32[x[0]]) { }", "unknown name 'x'"},
      {"loop f() {\n  for i in 0 .. true { }\n}", "a bound must be one i64, found '{' at line 2, column 22"},
      {"loop f() { for i in 0 .. 8 step 0 { } }", "a step must be positive"},
      {"loop f() { for i in 0 .. 8 { for i in 0 .. 2 { } } }", "'i' is defined twice"},
      {"loop f() { for i in 0 .. 8 { } let a = i }", "unknown name 'i'"},
      {"loop f() { if 1 { } }", "a condition must be one bool"},
      {"loop f() { alloc t: f32[2] global }", "expected shared, private or register"},
      {"loop f() { alloc t: f32[1.5] private }", "expected a 64-bit integer, found '1.5'"},
      {"loop f(out y: f32[2]) {\n y[0] = f32(1) + f64(1) }",
       "operands of different types f32 and f64, found '}' at line 2, column 25"},
      {"loop f(out y: f32[2]) { y[f32(0)] = f32(1) }", "an index must be i64"},
      {"loop f(out y: f32[2]) { y[0] = y[f32(1)] }", "a load's index must be i64"},
      {"loop f(out y: f32[2]) { y[0] = f32(1) if 3 }", "a mask must be bool"},
      {"loop f(out y: f32[9]) { y[ramp(0, 1, 4)] = y[ramp(0, 1, 8)] }", "a store of unequal lanes"},
      {"loop f(out y: f32[9]) { y[0] = y[0] & y[1] }", "& of a floating type"},
      {"loop f(out y: f32[9]) { y[0] = ramp(0, 1, 4) + ramp(0, 1, 8) }", "operands of unequal lanes"},
      {"loop f(out y: f32[9]) { y[0] = ramp(0, 1, 0) }", "bad number of lanes"},
      {"loop f(out y: f32[9]) { y[0] = sinus(f32(1)) }", "unknown function 'sinus'"},
      {"loop f() { check 1, 0 }", "a check must be bool"},
      {"loop f() { check true, -1 }", "bad number of a message"},
      {"loop f() { goto 1 }", "expected a statement, found 'goto' at line 1, column 12"},
      {"loop f() { because \"x }", "unterminated string"},
      {"loop f() { } }", "expected the end"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = refusal([&] { parse_loop_text(text); });
    EXPECT_NE(message.find(expected), std::string::npos) << text << "\n" << message;
    EXPECT_THROW(parse_loop_text(text), Error) << text;
  }
}

TEST(LoopText, DeepNestingIsRefused) {
  std::string braces, parentheses = "loop f() { let a = ";
  for (int i = 0; i < 100000; i++) {
    braces += "{ ";
    parentheses += "(";
  }
  EXPECT_NE(refusal([&] { parse_loop_text("loop f() " + braces); }).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(refusal([&] { parse_loop_text(parentheses); }).find("nested too deeply"), std::string::npos);
}

using Pieces = std::vector<std::pair<size_t, size_t>>;   // where tokens of a text begin, how long they are

Pieces tokens_of(const std::string& text, Token::Kind kind) {
  Pieces out;
  Lexer in(text);
  const char* begin = in.peek().text.data();   // a text begins with its first token
  while (!in.done()) {
    const Token t = in.next();
    if (t.kind == kind) out.emplace_back(t.text.data() - begin, t.text.size());
  }
  return out;
}

// Deletes, copies, swaps or replaces characters, or puts tokens in the places of others of their kind.
std::string mutated(const std::string& original, std::mt19937& random) {
  static const char* const pieces[] = {"(",
                                       ")",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       "-",
                                       "..",
                                       "if",
                                       "ramp",
                                       "broadcast",
                                       "0",
                                       "99999999999999999999",
                                       ",",
                                       "f32",
                                       "\"",
                                       "\\",
                                       "x",
                                       "else",
                                       "%",
                                       "hreduce(Add, ",
                                       "cast(i8, ",
                                       "4096",
                                       "#",
                                       "register",
                                       "."};
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::string text = original;
  if (below(2)) {
    const Token::Kind kinds[] = {Token::Name, Token::Number, Token::Punct};
    const Pieces tokens = tokens_of(text, kinds[below(3)]);
    if (tokens.empty()) return text;
    const auto [from, length] = tokens[below(tokens.size())];
    const auto [to, room] = tokens[below(tokens.size())];
    return text.replace(to, room, original.substr(from, length));
  }
  for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); edits--) {
    const size_t at = below(text.size()), length = std::min(1 + below(6), text.size() - at);
    switch (below(4)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(below(text.size()), text.substr(at, length)); break;
      case 2: text.replace(at, length, pieces[below(std::size(pieces))]); break;
      default: std::swap(text[at], text[below(text.size())]);
    }
  }
  return text;
}

TEST(LoopText, MutatedTextIsReadOrRefused) {
  std::mt19937 random(7);
  int read = 0, verified = 0;
  for (int round = 0; round < 2000; round++) {
    const std::string text = mutated(loop_texts()[random() % loop_texts().size()], random);
    LoopProgram p;
    try {
      p = parse_loop_text(text);
    } catch (const Error&) {
      continue;
    }
    read++;
    const std::string printed = to_text(p);
    EXPECT_EQ(to_text(parse_loop_text(printed)), printed) << text;
    try {
      verify(p, "test");
      verified++;
    } catch (const InternalError& e) {
      EXPECT_EQ(e.where(), "test");
      EXPECT_EQ(e.reproducer(), printed);
    }
  }
  EXPECT_GT(read, 200);
  EXPECT_GT(verified, 100);
  EXPECT_LT(verified, read);
}

}  // namespace
}  // namespace pto::testing
