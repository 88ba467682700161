// Loop templates against their meaning.
#include "lower_check.h"
#include "tile/opaque.h"

namespace pto::testing {
namespace {

void fill(const BufferPtr& b, int seed, bool many_equal, int64_t below = 0) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (int64_t i = 0; i < b->elements(); i++) {
    const int r = static_cast<int>(random() % (many_equal ? 9 : 100000));
    Scalar s = is_float(b->dtype) ? Scalar::from_double(b->dtype, r == 3   ? NAN
                                                                  : r == 4 ? -0.0
                                                                           : r - 4)
                                  : Scalar::from_int(b->dtype, below > 0 ? r % below : r - 4);
    s.to_bytes(static_cast<char*>(b->data) + i * size_of(b->dtype));
  }
}

void expect_template(const std::string& text, const Sizes& sizes, bool many_equal, int64_t index_below = 0) {
  SCOPED_TRACE(text);
  const Kernel k = parse(text);
  const LoopProgram program = lower(k, Schedule{k.name}, make_target("avx2"));
  auto got = make_buffers(k, sizes), want = make_buffers(k, sizes);
  for (size_t i = 0; i < k.params.size(); i++) {
    if (k.params[i].output) continue;
    fill(got[i], static_cast<int>(i), many_equal, i == 1 ? index_below : 0);
    want[i] = got[i];
  }
  std::string loop_error, error;
  interpret(program, got, sizes, &loop_error);
  interpret(k, want, sizes, &error);
  expect_same_bits(k, got, want, "template");
  EXPECT_EQ(loop_error, error);
  expect_passes_keep_bits(k, program, make_target("avx2"), sizes, got, loop_error);
}

TEST(LowerOpaque, SortsLines) {
  for (const char* type : {"f32", "i32", "u8", "f64"})
    for (const char* descending : {"true", "false"})
      for (int64_t n : {0, 1, 2, 15, 16, 17, 33, 64, 100, 257})
        for (bool many_equal : {true, false}) {
          const std::string t = type, attrs = std::string(", descending = ") + descending;
          expect_template("kernel f[N](x: " + t + "[3, N]) -> (y: " + t +
                              "[3, N], p: i64[3, N]) { opaque sort " + "{axis = 1" + attrs +
                              ", by_index = false} }",
                          sizes_of({{"N", n}}), many_equal);
        }
}

TEST(LowerOpaque, SortsAlongAnyAxisToAnyOutputs) {
  for (int64_t n : {1, 18, 40}) {
    expect_template(
        "kernel f[N](x: f32[N, 3]) -> (y: f32[N, 3]) { opaque sort {axis = 0, descending = false, "
        "by_index = false} }",
        sizes_of({{"N", n}}), false);
    expect_template(
        "kernel f[N](x: f32[2, N, 3]) -> (p: i64[2, N, 3]) { opaque sort {axis = 1, descending = "
        "true, by_index = true} }",
        sizes_of({{"N", n}}), true);
  }
}

TEST(LowerOpaque, SelectsTheFirst) {
  for (const char* k : {"1", "3", "20", "150"})
    for (const char* largest : {"true", "false"})
      for (int64_t n : {150, 200, 333})
        for (bool many_equal : {true, false}) {
          const std::string count = k;
          expect_template("kernel f[N](x: f32[2, N, 2]) -> (y: f32[2, " + count + ", 2], p: i64[2, " + count +
                              ", 2]) { opaque topk {k = " + count + ", axis = 1, largest = " + largest +
                              "} }",
                          sizes_of({{"N", n}}), many_equal);
        }
}

TEST(LowerOpaque, ScattersElementsAndRows) {
  for (const char* combine : {"set", "add", "mul", "min", "max"}) {
    const std::string c = std::string(", combine = \"") + combine + "\"} }";
    for (int64_t t : {0, 1, 5, 23}) {
      const Sizes sizes = sizes_of({{"T", t}, {"D", 70}});
      expect_template(
          "kernel f[T, D](x: f32[4, D], i: i64[T], u: f32[T, D]) -> (y: f32[4, D]) { opaque scatter "
          "{axis = 0" +
              c,
          sizes, true, 4);
      expect_template(
          "kernel f[T, D](x: f32[2, 4], i: i32[T], u: f32[2, T]) -> (y: f32[2, 4]) { opaque scatter "
          "{axis = 1" +
              c,
          sizes, true, 4);
      expect_template(
          "kernel f[T, D](x: i32[9, D], i: i64[T, D], u: i32[T, D]) -> (y: i32[9, D]) { opaque "
          "scatter {axis = 0" +
              c,
          sizes, false, 9);
      expect_template(
          "kernel f[T, D](x: f32[3, 4, 5], i: i64[2, T, 5], u: f32[2, T, 5]) -> (y: f32[3, 4, 5]) { "
          "opaque scatter {axis = 1" +
              c,
          sizes, false, 4);
      expect_template(
          "kernel f[T, D](x: f32[8], i: i64[T], u: f32[T]) -> (y: f32[8]) { opaque scatter {axis = 0" + c,
          sizes, true, 8);
    }
  }
}

TEST(LowerOpaque, IndicesOutsideAreErrorsAndWriteNothing) {
  expect_template(
      "kernel f(x: f32[3, 20], i: i64[40], u: f32[40, 20]) -> (y: f32[3, 20]) { opaque scatter "
      "{axis = 0, combine = \"add\"} }",
      {}, false);
  expect_template(
      "kernel f(x: f32[3], i: i64[40], u: f32[40]) -> (y: f32[3]) { opaque scatter "
      "{axis = 0, combine = \"set\"} }",
      {}, false);
  expect_template(
      "kernel f[s0](x: f32[s0], i: i64[40], u: f32[40]) -> (y: f32[s0]) { opaque scatter "
      "{axis = 0, combine = \"set\"} }",
      sizes_of({{"s0", 3}}), false);
}

// The names of a kernel's sizes are the compiler's own.
TEST(LowerOpaque, MessagesNameNoSymbols) {
  for (const auto& [size, message] : {std::pair{"s0", "[scatter] index out of range for axis 0"},
                                      {"3", "[scatter] index out of range for axis 0 of size 3"}}) {
    const Kernel k =
        parse(std::string("kernel f[s0](x: f32[") + size + "], i: i64[40], u: f32[40]) -> (y: f32[" + size +
              "]) { opaque scatter {axis = 0, combine = \"add\"} }");
    EXPECT_EQ(lower(k, Schedule{k.name}, make_target("avx2")).messages, std::vector<std::string>{message});
  }
}

}  // namespace
}  // namespace pto::testing
