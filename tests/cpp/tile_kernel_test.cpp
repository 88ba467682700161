// Definitions of kernels: text both ways, what the verifier refuses, what the interpreter computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tile/kernel.h"
#include "tile/opaque.h"

namespace pto {
namespace {

Kernel parse(std::string_view text) {
  Lexer in(text, "kernel");
  Kernel k = parse_kernel(in);
  EXPECT_TRUE(in.done());
  return k;
}

template <class T>
BufferPtr buffer(DType type, std::vector<int64_t> shape, std::vector<T> data) {
  BufferPtr b = make_buffer(type, std::move(shape));
  EXPECT_EQ(static_cast<int64_t>(data.size()), b->elements());
  std::memcpy(b->data, data.data(), data.size() * sizeof(T));
  return b;
}

template <class T>
std::vector<T> contents(const BufferPtr& b) {
  std::vector<T> out(b->elements());
  std::memcpy(out.data(), b->data, out.size() * sizeof(T));
  return out;
}

const char* const kMlp = R"(kernel mlp[M, K, N](x: f32[M, K], w: f32[K, N], b: f32[N]) -> (y: f32[M, N]) {
  axis i: M
  axis j: N
  axis k: K
  t[i, j]: f32 = contract(k) x[i, k] * w[k, j]
  u[i, j]: f32 = map t[i, j] + b[j]
  store y[i, j] = max(u[i, j], f32(0))
  because "the \"bias\" is added in registers"
}
)";

const char* const kArgmax = R"(kernel argmax[M, N](x: f32[M, N]) -> (y: f32[M], p: i64[M]) {
  axis i: M
  axis j: N
  m, a[i]: f32, i64 = reduce(argmax, j) x[i, j], j
  check[i] a[i] < N, "never"
  store y[i] = m[i]
  store p[i] = a[i]
}
)";

const char* const kScan = R"(kernel scans[N](x: i32[N]) -> (y: i32[N], z: i32[N], c: i32[2*N]) {
  axis i: N
  s[i]: i32 = scan(add, i) x[i]
  r[i]: i32 = scan({i32(0) | a0 + b0}, i, reverse) x[i]
  store y[i] = s[i]
  store z[i] = r[i]
  store c[i] = s[i]
  store c[i + N] = x[N - 1 - i if 0 < i else i32(7)] if i < N
}
)";

TEST(TileText, RoundTrips) {
  for (const char* text : {kMlp, kArgmax, kScan}) {
    const Kernel k = parse(text);
    verify(k, "test");
    EXPECT_EQ(to_text(k), text);
  }
}

TEST(TileText, SizesMayBeImplied) {
  const Kernel k = parse("kernel f(x: f32[B, 4*S]) -> (y: f32[S]) { axis i: S store y[i] = x[0, i] }");
  ASSERT_EQ(k.sizes.size(), 2u);
  EXPECT_EQ(k.sizes[0].str(), "B");
  EXPECT_EQ(k.sizes[1].str(), "S");
}

TEST(TileText, Opaque) {
  const char* text =
      "kernel top[M, N](x: f32[M, N]) -> (y: f32[M, 3], p: i64[M, 3]) {\n"
      "  opaque topk {k = 3, axis = 1, largest = false}\n"
      "}\n";
  const Kernel k = parse(text);
  verify(k, "test");
  EXPECT_EQ(to_text(k), text);
  EXPECT_FALSE(opaque_attrs<TopKAttrs>(k).largest);
}

TEST(TileText, Refuses) {
  auto message = [](const std::string& text) {
    try {
      parse(text);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(
      message("kernel f(x: f32[N]) -> (y: f32[N]) { axis i: N store y[i] = z[i] }").find("unknown name 'z'"),
      std::string::npos);
  EXPECT_NE(message("kernel f(x: f32[N]) -> (x: f32[N]) { }").find("'x' is defined twice"),
            std::string::npos);
  EXPECT_NE(message("kernel f() -> (y: f32[2]) { opaque fft {} }").find("unknown template 'fft'"),
            std::string::npos);
  EXPECT_NE(message("kernel f(x: f32[N]) -> (y: f32[]) { axis i: N s[]: f32 = reduce(median, i) x[i] }")
                .find("unknown monoid 'median'"),
            std::string::npos);
}

TEST(TileVerify, Refuses) {
  auto message = [](const std::string& body) {
    try {
      verify(parse("kernel f[N](x: f32[N, 4]) -> (y: f32[N]) { axis i: N axis j: 4 " + body + " }"), "test");
    } catch (const InternalError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::pair<const char*, const char*> cases[] = {
      {"store y[i] = x[i, 0]", "accepted"},
      {"store y[i] = x[i, j]", "uses j, which is not bound there"},
      {"store y[j] = x[0, j]", "accepted"},  // N may be 4
      {"s[i]: f32 = reduce(add, j) x[i, j]", "output y is never stored"},
      {"s[i, j]: f32 = reduce(add, j) x[i, j] store y[i] = x[i, 0]", "s folds its own axis j"},
      {"s[i]: f32 = reduce(add, j) x[i, j] store y[i] = s[i + 0 * i]", "elsewhere than at its own axes"},
      {"s[i]: f32 = contract(j) x[i, j] + x[i, j] store y[i] = s[i]", "contracts other than a product"},
      {"s[i]: f32 = scan(add, j) x[i, 0] store y[i] = s[i]", "scans along an axis that is not its own"},
      {"s[i]: i64 = map i store y[i] = x[i, s[i]] t[i]: f32 = map x[i, 0, 0]", "reads x with 3 indices"},
      {"store x[i, 0] = x[i, 0]", "is not to an output"},
      {"s[i]: f32 = map y[i] store y[i] = s[i]", "reads the output y"},
  };
  for (const auto& [body, expected] : cases)
    EXPECT_NE(message(body).find(expected), std::string::npos) << body << ": " << message(body);
}

TEST(TileInterpret, Contract) {
  const Kernel k = parse(kMlp);
  auto x = buffer<float>(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  auto w = buffer<float>(DType::F32, {3, 2}, {1, -1, 2, -2, 3, -3});
  auto b = buffer<float>(DType::F32, {2}, {10, 20});
  auto y = make_buffer(DType::F32, {2, 2});
  interpret(k, {x, w, b, y}, {{Symbol("M"), 2}, {Symbol("K"), 3}, {Symbol("N"), 2}});
  EXPECT_EQ(contents<float>(y), (std::vector<float>{24, 6, 42, 0}));
}

TEST(TileInterpret, TupleReduction) {
  const Kernel k = parse(kArgmax);
  auto x = buffer<float>(DType::F32, {2, 3}, {1, 5, 5, -1, NAN, 7});
  auto y = make_buffer(DType::F32, {2}), p = make_buffer(DType::I64, {2});
  std::string error;
  interpret(k, {x, y, p}, {{Symbol("M"), 2}, {Symbol("N"), 3}}, &error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(contents<float>(y)[0], 5.0f);
  EXPECT_TRUE(std::isnan(contents<float>(y)[1]));
  EXPECT_EQ(contents<int64_t>(p), (std::vector<int64_t>{1, 1}));
}

TEST(TileInterpret, ScansAndPredicates) {
  const Kernel k = parse(kScan);
  auto x = buffer<int32_t>(DType::I32, {3}, {1, 2, 4});
  auto y = make_buffer(DType::I32, {3}), z = make_buffer(DType::I32, {3}), c = make_buffer(DType::I32, {6});
  interpret(k, {x, y, z, c}, {{Symbol("N"), 3}});
  EXPECT_EQ(contents<int32_t>(y), (std::vector<int32_t>{1, 3, 7}));
  EXPECT_EQ(contents<int32_t>(z), (std::vector<int32_t>{7, 6, 4}));
  EXPECT_EQ(contents<int32_t>(c), (std::vector<int32_t>{1, 3, 7, 7, 2, 1}));
}

TEST(TileInterpret, FailedCheck) {
  const Kernel k = parse(R"(kernel take(x: f32[3], at: i64[2]) -> (y: f32[2]) {
    axis i: 2
    check[i] at[i] < 3, "index out of range"
    store y[i] = x[min(at[i], 2)]
  })");
  auto x = buffer<float>(DType::F32, {3}, {1, 2, 3});
  auto y = make_buffer(DType::F32, {2});
  std::string error;
  interpret(k, {x, buffer<int64_t>(DType::I64, {2}, {1, 3}), y}, {}, &error);
  EXPECT_EQ(error, "index out of range");
}

TEST(TileInterpret, EmptyReduction) {
  const Kernel k = parse(
      "kernel f[N](x: f32[N]) -> (y: f32[]) { axis i: N s[]: f32 = reduce(max, i) x[i] store y[] = s[] }");
  auto y = make_buffer(DType::F32, {});
  interpret(k, {make_buffer(DType::F32, {0}), y}, {{Symbol("N"), 0}});
  EXPECT_EQ(contents<float>(y)[0], -INFINITY);
}

TEST(TileOpaque, SortIsStableAndPutsNanLast) {
  const Kernel k = parse(
      "kernel f(x: f32[5]) -> (y: f32[5], p: i64[5]) { opaque sort {axis = 0, descending = true, by_index = "
      "false} }");
  verify(k, "test");
  auto y = make_buffer(DType::F32, {5}), p = make_buffer(DType::I64, {5});
  interpret(k, {buffer<float>(DType::F32, {5}, {1, 2, NAN, 2, -3}), y, p}, {});
  EXPECT_EQ(contents<int64_t>(p), (std::vector<int64_t>{2, 1, 3, 0, 4}));
  EXPECT_EQ(contents<float>(y)[1], 2.0f);
}

TEST(TileOpaque, TopK) {
  const Kernel k = parse(
      "kernel f(x: i32[4, 2]) -> (y: i32[2, 2], p: i64[2, 2]) { opaque topk {k = 2, axis = 0, largest = "
      "false} }");
  verify(k, "test");
  auto y = make_buffer(DType::I32, {2, 2}), p = make_buffer(DType::I64, {2, 2});
  interpret(k, {buffer<int32_t>(DType::I32, {4, 2}, {4, 1, 3, 2, 2, 3, 1, 4}), y, p}, {});
  EXPECT_EQ(contents<int32_t>(y), (std::vector<int32_t>{1, 1, 2, 2}));
  EXPECT_EQ(contents<int64_t>(p), (std::vector<int64_t>{3, 0, 2, 1}));
}

TEST(TileOpaque, ScatterRowsAndElements) {
  const Kernel rows = parse(
      "kernel f(x: f32[3, 2], i: i64[2], u: f32[2, 2]) -> (y: f32[3, 2]) { opaque scatter {axis = 0, combine "
      "= \"add\"} }");
  verify(rows, "test");
  auto x = buffer<float>(DType::F32, {3, 2}, {0, 0, 0, 0, 0, 0});
  auto u = buffer<float>(DType::F32, {2, 2}, {1, 2, 3, 4});
  auto y = make_buffer(DType::F32, {3, 2});
  interpret(rows, {x, buffer<int64_t>(DType::I64, {2}, {2, 2}), u, y}, {});
  EXPECT_EQ(contents<float>(y), (std::vector<float>{0, 0, 0, 0, 4, 6}));

  const Kernel elements = parse(
      "kernel f(x: f32[3, 2], i: i64[2, 2], u: f32[2, 2]) -> (y: f32[3, 2]) { opaque scatter {axis = 0, "
      "combine = \"set\"} }");
  verify(elements, "test");
  std::string error;
  interpret(elements, {x, buffer<int64_t>(DType::I64, {2, 2}, {0, 1, 0, 3}), u, y}, {}, &error);
  EXPECT_EQ(contents<float>(y), (std::vector<float>{3, 0, 0, 2, 0, 0}));
  EXPECT_EQ(error, "[scatter] index out of range for axis 0 of size 3");
}

}  // namespace
}  // namespace pto
