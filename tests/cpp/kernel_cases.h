#pragma once
// Kernels as text with inputs made for them: what the tests of the tile level run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "tile/kernel.h"

namespace pto::testing {

inline Kernel parse(std::string_view text) {
  Lexer in(text, "kernel");
  Kernel k = parse_kernel(in);
  EXPECT_TRUE(in.done());
  return k;
}

inline Sizes sizes_of(std::initializer_list<std::pair<const char*, int64_t>> list) {
  Sizes out;
  for (const auto& [name, n] : list) out[Symbol(name)] = n;
  return out;
}

// Inputs with small values of either sign (indices: those of an axis of size 3), outputs poisoned.
inline std::vector<BufferPtr> make_buffers(const Kernel& k, const Sizes& sizes, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<BufferPtr> out;
  for (const auto& p : k.params) {
    BufferPtr b = make_buffer(p.dtype, eval_shape(p.shape, sizes));
    auto* bytes = static_cast<char*>(b->data);
    for (int64_t i = 0; i < b->elements(); i++) {
      const double x = static_cast<double>(random() % 2001) / 500.0 - 2.0;
      Scalar s = is_float(p.dtype) ? Scalar::from_double(p.dtype, x)
                                   : Scalar::from_int(p.dtype, static_cast<int64_t>(random() % 3));
      if (p.output) s = is_float(p.dtype) ? Scalar::from_double(p.dtype, NAN) : Scalar::from_int(p.dtype, 99);
      s.to_bytes(bytes + i * size_of(p.dtype));
    }
    out.push_back(b);
  }
  return out;
}

// Outputs equal to a relative and absolute error for floats, exactly for the rest.
inline void expect_close(const Kernel& k, const std::vector<BufferPtr>& got,
                         const std::vector<BufferPtr>& want, double tolerance, const std::string& what) {
  for (size_t i = 0; i < k.params.size(); i++) {
    if (!k.params[i].output) continue;
    int shown = 0;
    for (int64_t e = 0; e < want[i]->elements() && shown < 3; e++) {
      const int64_t at = e * size_of(want[i]->dtype);
      const Scalar g = Scalar::from_bytes(got[i]->dtype, static_cast<char*>(got[i]->data) + at);
      const Scalar w = Scalar::from_bytes(want[i]->dtype, static_cast<char*>(want[i]->data) + at);
      const double x = g.to_double(), y = w.to_double();
      const bool ok = is_float(w.type) ? (std::isnan(x) && std::isnan(y)) || x == y ||
                                             std::fabs(x - y) <= tolerance * (1 + std::fabs(y))
                                       : g == w;
      EXPECT_TRUE(ok) << what << ": " << k.params[i].name.str() << "[" << e << "] is " << g.str() << ", not "
                      << w.str();
      shown += !ok;
    }
  }
}

struct KernelCase {
  const char* name;
  const char* text;
  std::vector<Sizes> sizes;
};

inline const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> cases = {
      {"scalar", "kernel f(x: f32[]) -> (y: f32[]) { store y[] = x[] + f32(1) }", {{}}},
      {"map",
       "kernel f[N](x: f32[N], c: f32[]) -> (y: f32[N]) { axis i: N store y[i] = max(x[i], f32(0)) * c[] }",
       {sizes_of({{"N", 0}}), sizes_of({{"N", 1}}), sizes_of({{"N", 37}}), sizes_of({{"N", 9001}})}},
      {"map_static",
       "kernel f(x: f32[3, 5, 7]) -> (y: f32[3, 5, 7]) {"
       " axis i: 3 axis j: 5 axis k: 7 store y[i, j, k] = exp(x[i, j, k]) }",
       {{}}},
      {"bias",
       "kernel f[B, L](x: f32[B, L, 48], b: f32[48]) -> (y: f32[B, L, 48]) {"
       " axis i: B axis j: L axis k: 48 store y[i, j, k] = x[i, j, k] + b[k] }",
       {sizes_of({{"B", 2}, {"L", 5}}), sizes_of({{"B", 1}, {"L", 1}})}},
      {"transpose",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[N, M]) { axis i: N axis j: M store y[i, j] = x[j, i] }",
       {sizes_of({{"M", 33}, {"N", 70}}), sizes_of({{"M", 1}, {"N", 5}})}},
      {"types",
       "kernel f[N](x: f16[N], i: i64[N], b: bool[N]) -> (y: bf16[N], z: i8[N], w: f64[N]) {"
       " axis a: N m[a]: f32 = map cast(f32, x[a]) * cast(f32, i[a])"
       " store y[a] = cast(bf16, m[a] + f32(1)) store z[a] = cast(i8, i[a] * a)"
       " store w[a] = select(b[a], cast(f64, m[a]), f64(0)) }",
       {sizes_of({{"N", 77}})}},
      {"gather",
       "kernel f[N](x: f32[3, 20], i: i64[N]) -> (y: f32[N, 20]) {"
       " axis a: N axis b: 20 check[a] i[a] < 3, \"out of range\" store y[a, b] = x[min(i[a], 2), b] }",
       {sizes_of({{"N", 9}})}},
      {"concat",
       "kernel f[M, N](x: f32[M], z: f32[N]) -> (y: f32[M + N]) {"
       " axis i: M axis j: N store y[i] = x[i] store y[j + M] = z[j] }",
       {sizes_of({{"M", 20}, {"N", 3}})}},
      {"concat_repeated",
       "kernel f[M, N](x: f32[M], z: f32[N]) -> (y: f32[2 * M + N]) {"
       " axis i: M axis j: N store y[i] = x[i] store y[j + M] = z[j] store y[i + (M + N)] = x[i] }",
       {sizes_of({{"M", 20}, {"N", 3}})}},
      {"concat_after_a_value",
       "kernel f[M](x: f32[9, M], z: f32[9, 47]) -> (y: f32[9, M + 47]) {"
       " axis r: 9 axis i: M axis j: 47 v[r, i]: f32 = map x[r, i] + f32(1)"
       " store y[r, i] = v[r, i] store y[r, j + M] = z[r, j] }",
       {sizes_of({{"M", 0}}), sizes_of({{"M", 13}})}},
      {"concat_repeated_in_rows",
       "kernel f[M, N](x: f32[20, M], z: f32[20, N]) -> (y: f32[20, 2 * M + N], s: f32[20]) {"
       " axis r: 20 axis i: M axis j: N t[r]: f32 = reduce(add, i) x[r, i] store s[r] = t[r]"
       " store y[r, i] = x[r, i] - t[r] store y[r, j + M] = z[r, j] store y[r, i + (M + N)] = x[r, i] }",
       {sizes_of({{"M", 20}, {"N", 3}})}},
      {"row_sum",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[M]) {"
       " axis i: M axis j: N s[i]: f32 = reduce(add, j) x[i, j] store y[i] = s[i] / cast(f32, N) }",
       {sizes_of({{"M", 5}, {"N", 100}}), sizes_of({{"M", 3}, {"N", 1}}), sizes_of({{"M", 2}, {"N", 0}})}},
      {"column_sum",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[N]) {"
       " axis i: M axis j: N s[j]: f32 = reduce(add, i) x[i, j] store y[j] = s[j] }",
       {sizes_of({{"M", 50}, {"N", 100}}), sizes_of({{"M", 3}, {"N", 1}}),
        sizes_of({{"M", 3000}, {"N", 40}})}},
      {"full_sum",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[]) {"
       " axis i: M axis j: N s[]: f32 = reduce(add, i, j) x[i, j] store y[] = s[] }",
       {sizes_of({{"M", 5}, {"N", 100}}), sizes_of({{"M", 300}, {"N", 300}})}},
      {"middle_sum",
       "kernel f[A, B](x: f32[A, B, 6]) -> (y: f32[A, 6]) {"
       " axis i: A axis j: B axis k: 6 s[i, k]: f32 = reduce(add, j) x[i, j, k] store y[i, k] = s[i, k] }",
       {sizes_of({{"A", 4}, {"B", 9}})}},
      {"channel_moments",
       "kernel f[B](x: f32[B, 3, 4, 5]) -> (y: f32[3], z: f32[3]) {"
       " axis b: B axis c: 3 axis h: 4 axis w: 5"
       " s[c]: f32 = reduce(add, b, h, w) x[b, c, h, w]"
       " q[c]: f32 = reduce(add, b, h, w) (x[b, c, h, w] - s[c]) * (x[b, c, h, w] - s[c])"
       " store y[c] = s[c] store z[c] = q[c] }",
       {sizes_of({{"B", 3}})}},
      {"argmax",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[M], p: i64[M]) {"
       " axis i: M axis j: N m, a[i]: f32, i64 = reduce(argmax, j) x[i, j], j"
       " store y[i] = m[i] store p[i] = a[i] }",
       {sizes_of({{"M", 4}, {"N", 1000}}), sizes_of({{"M", 1}, {"N", 3}})}},
      {"argmin_columns",
       "kernel f[M, N](x: f32[M, N]) -> (p: i64[N]) {"
       " axis i: M axis j: N m, a[j]: f32, i64 = reduce(argmin, i) x[i, j], i store p[j] = a[j] }",
       {sizes_of({{"M", 200}, {"N", 33}})}},
      {"welford",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[M]) {"
       " axis i: M axis j: N m, q, n[i]: f32, f32, f32 = reduce(welford, j) x[i, j], f32(0), f32(1)"
       " store y[i] = q[i] / n[i] }",
       {sizes_of({{"M", 4}, {"N", 100}})}},
      {"row_normalised",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[M, N]) {"
       " axis i: M axis j: N"
       " m[i]: f32 = reduce(max, j) x[i, j]"
       " e[i, j]: f32 = map exp(x[i, j] - m[i])"
       " l[i]: f32 = reduce(add, j) e[i, j]"
       " store y[i, j] = e[i, j] / l[i] }",
       {sizes_of({{"M", 5}, {"N", 100}}), sizes_of({{"M", 2}, {"N", 7}}), sizes_of({{"M", 1}, {"N", 1}})}},
      {"row_moments",
       "kernel f[B, L](x: f32[B, L, 40], g: f32[40], b: f32[40]) -> (y: f32[B, L, 40], z: f32[B, L]) {"
       " axis i: B axis l: L axis j: 40"
       " s[i, l]: f32 = reduce(add, j) x[i, l, j]"
       " m[i, l]: f32 = map s[i, l] / f32(40)"
       " d[i, l, j]: f32 = map x[i, l, j] - m[i, l]"
       " q[i, l]: f32 = reduce(add, j) d[i, l, j] * d[i, l, j]"
       " r[i, l]: f32 = map f32(1) / sqrt(q[i, l] / f32(40) + f32(1e-5))"
       " store y[i, l, j] = d[i, l, j] * r[i, l] * g[j] + b[j]"
       " store z[i, l] = m[i, l] }",
       {sizes_of({{"B", 2}, {"L", 3}})}},
      {"rows_and_columns",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[M, N], c: f32[N]) {"
       " axis i: M axis j: N e[i, j]: f32 = map tanh(x[i, j])"
       " s[i]: f32 = reduce(add, j) e[i, j]"
       " t[j]: f32 = reduce(add, i) e[i, j]"
       " store y[i, j] = e[i, j] * s[i] store c[j] = t[j] }",
       {sizes_of({{"M", 7}, {"N", 50}})}},
      {"scan_rows",
       "kernel f[M, N](x: f32[M, N]) -> (y: f32[M, N]) {"
       " axis i: M axis j: N s[i, j]: f32 = scan(add, j) x[i, j] store y[i, j] = s[i, j] * f32(2) }",
       {sizes_of({{"M", 6}, {"N", 33}}), sizes_of({{"M", 1}, {"N", 1}})}},
      {"scan_single_columns",
       "kernel f[M](x: i16[M, 1], z: u16[M, 0]) -> (y: i16[M, 1], w: u16[M, 0]) { axis i: M axis j: 1 axis k: 0"
       " s[i, j]: i16 = scan(min, i) x[i, j] t[i, k]: u16 = scan(min, i) z[i, k]"
       " store y[i, j] = s[i, j] store w[i, k] = t[i, k] }",
       {sizes_of({{"M", 0}}), sizes_of({{"M", 5}})}},
      {"scan_columns",
       "kernel f[M, N](x: i32[M, N]) -> (y: i32[M, N]) {"
       " axis i: M axis j: N s[i, j]: i32 = scan(add, i, reverse) x[i, j] store y[i, j] = s[i, j] }",
       {sizes_of({{"M", 6}, {"N", 70}})}},
      {"scan_both_ways",
       "kernel f[N](x: i64[N]) -> (y: i64[N]) {"
       " axis i: N s[i]: i64 = scan(add, i) x[i] r[i]: i64 = scan(max, i, reverse) s[i] + i"
       " store y[i] = s[i] * r[i] }",
       {sizes_of({{"N", 19}})}},
      {"matmul",
       "kernel f[M, K, N](x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {"
       " axis i: M axis j: N axis k: K t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] "
       "}",
       {sizes_of({{"M", 1}, {"K", 20}, {"N", 70}}), sizes_of({{"M", 9}, {"K", 33}, {"N", 40}}),
        sizes_of({{"M", 65}, {"K", 33}, {"N", 70}}), sizes_of({{"M", 100}, {"K", 16}, {"N", 300}}),
        sizes_of({{"M", 3}, {"K", 0}, {"N", 2}})}},
      {"matmul_nt",
       "kernel f[M](x: f32[M, 48], w: f32[70, 48]) -> (y: f32[M, 70]) {"
       " axis i: M axis j: 70 axis k: 48 t[i, j]: f32 = contract(k) x[i, k] * w[j, k] store y[i, j] = t[i, "
       "j] }",
       {sizes_of({{"M", 2}}), sizes_of({{"M", 70}})}},
      {"matmul_tn",
       "kernel f[K](x: f32[K, 30], w: f32[K, 20]) -> (y: f32[30, 20]) {"
       " axis i: 30 axis j: 20 axis k: K t[i, j]: f32 = contract(k) x[k, i] * w[k, j] store y[i, j] = t[i, "
       "j] }",
       {sizes_of({{"K", 25}})}},
      {"matmul_transposed_result",
       "kernel f[M](x: f32[M, 24], w: f32[24, 20]) -> (y: f32[20, M]) {"
       " axis i: M axis j: 20 axis k: 24 t[i, j]: f32 = contract(k) x[i, k] * w[k, j] store y[j, i] = t[i, "
       "j] }",
       {sizes_of({{"M", 80}})}},
      {"mlp",
       "kernel f[B, L](x: f32[B, L, 32], w: f32[32, 48], b: f32[48], r: f32[B, L, 48]) -> (y: f32[B, L, 48]) "
       "{"
       " axis i: B axis l: L axis j: 48 axis k: 32"
       " t[i, l, j]: f32 = contract(k) x[i, l, k] * w[k, j]"
       " u[i, l, j]: f32 = map t[i, l, j] + b[j]"
       " store y[i, l, j] = u[i, l, j] * erf(u[i, l, j]) + r[i, l, j] }",
       {sizes_of({{"B", 2}, {"L", 3}}), sizes_of({{"B", 5}, {"L", 17}})}},
      {"halves",
       "kernel f[M](x: bf16[M, 32], w: bf16[32, 24]) -> (y: bf16[M, 24]) {"
       " axis i: M axis j: 24 axis k: 32"
       " t[i, j]: f32 = contract(k) cast(f32, x[i, k]) * cast(f32, w[k, j]) store y[i, j] = cast(bf16, t[i, "
       "j]) }",
       {sizes_of({{"M", 80}})}},
      {"integers",
       "kernel f[M](x: i32[M, 9], w: i32[9, 24]) -> (y: i32[M, 24]) {"
       " axis i: M axis j: 24 axis k: 9"
       " t[i, j]: i32 = contract(k) x[i, k] * w[k, j] store y[i, j] = t[i, j] }",
       {sizes_of({{"M", 80}})}},
      {"scores",
       "kernel f[B, S](q: f32[B, S, 12, 16], c: f32[B, S, 12, 16]) -> (y: f32[B, 12, S, S]) {"
       " axis b: B axis h: 12 axis i: S axis j: S axis d: 16"
       " s[b, h, i, j]: f32 = contract(d) q[b, i, h, d] * c[b, j, h, d]"
       " store y[b, h, i, j] = select(j <= i, s[b, h, i, j] * f32(0.25), f32(-inf)) }",
       {sizes_of({{"B", 1}, {"S", 1}}), sizes_of({{"B", 2}, {"S", 19}})}},
      {"mixing",
       "kernel f[B, S](p: f32[B, 4, S, S], v: f32[B, S, 4, 16]) -> (y: f32[B, S, 4, 16]) {"
       " axis b: B axis h: 4 axis i: S axis e: 16 axis j: S"
       " o[b, h, i, e]: f32 = contract(j) p[b, h, i, j] * v[b, j, h, e] store y[b, i, h, e] = o[b, h, i, e] "
       "}",
       {sizes_of({{"B", 1}, {"S", 3}}), sizes_of({{"B", 2}, {"S", 19}})}},
      {"whole_attention",
       "kernel f[S](q: f32[2, S, 16], c: f32[2, S, 16], v: f32[2, S, 16]) -> (y: f32[2, S, 16]) {"
       " axis b: 2 axis i: S axis j: S axis d: 16 axis e: 16"
       " s[b, i, j]: f32 = contract(d) q[b, i, d] * c[b, j, d]"
       " m[b, i]: f32 = reduce(max, j) s[b, i, j]"
       " p[b, i, j]: f32 = map exp(s[b, i, j] - m[b, i])"
       " l[b, i]: f32 = reduce(add, j) p[b, i, j]"
       " o[b, i, e]: f32 = contract(j) p[b, i, j] * v[b, j, e]"
       " store y[b, i, e] = o[b, i, e] / l[b, i] }",
       {sizes_of({{"S", 3}}), sizes_of({{"S", 21}})}},
      {"siblings",
       "kernel f[M](x: f32[M, 32], w: f32[32, 24], u: f32[32, 40]) -> (y: f32[M, 24], z: f32[M, 40]) {"
       " axis i: M axis j: 24 axis n: 40 axis k: 32"
       " t[i, j]: f32 = contract(k) x[i, k] * w[k, j]"
       " s[i, n]: f32 = contract(k) x[i, k] * u[k, n]"
       " store y[i, j] = t[i, j] store z[i, n] = max(s[i, n], f32(0)) }",
       {sizes_of({{"M", 90}})}},
      {"gated",
       "kernel f[M](x: f32[M, 32], w: f32[32, 24], u: f32[32, 24]) -> (y: f32[M, 24]) {"
       " axis i: M axis j: 24 axis k: 32"
       " t[i, j]: f32 = contract(k) x[i, k] * w[k, j]"
       " s[i, j]: f32 = contract(k) x[i, k] * u[k, j]"
       " store y[i, j] = t[i, j] * s[i, j] }",
       {sizes_of({{"M", 90}})}},
      {"matrix_vector",
       "kernel f[M, K](x: f32[M, K], w: f32[K]) -> (y: f32[M]) {"
       " axis i: M axis k: K t[i]: f32 = contract(k) x[i, k] * w[k] store y[i] = t[i] }",
       {sizes_of({{"M", 40}, {"K", 50}})}},
      {"inner_product",
       "kernel f[K](x: f32[K], w: f32[K]) -> (y: f32[]) {"
       " axis k: K t[]: f32 = contract(k) x[k] * w[k] store y[] = t[] }",
       {sizes_of({{"K", 50}}), sizes_of({{"K", 100000}})}},
      {"outer_product",
       "kernel f[M, N](x: f32[M], w: f32[N]) -> (y: f32[M, N]) {"
       " axis i: M axis j: N t[i, j]: f32 = contract() x[i] * w[j] store y[i, j] = t[i, j] }",
       {sizes_of({{"M", 40}, {"N", 50}})}},
      {"two_folded",
       "kernel f[B](x: f32[B, 3, 5], w: f32[5, 3, 20]) -> (y: f32[B, 20]) {"
       " axis i: B axis h: 3 axis d: 5 axis j: 20"
       " t[i, j]: f32 = contract(h, d) x[i, h, d] * w[d, h, j] store y[i, j] = t[i, j] }",
       {sizes_of({{"B", 5}}), sizes_of({{"B", 90}})}},
      {"convolution",
       "kernel f[B](x: f32[B, 3, 9, 20], w: f32[8, 3, 3, 3]) -> (y: f32[B, 8, 9, 20]) {"
       " axis b: B axis o: 8 axis h: 9 axis n: 20 axis c: 3 axis p: 3 axis q: 3"
       " t[b, o, h, n]: f32 = contract(c, p, q)"
       " x[b, c, h + p - 1, n + q - 1 if (1 <= h + p & h + p < 10) & (1 <= n + q & n + q < 21) else f32(0)]"
       " * w[o, c, p, q]"
       " store y[b, o, h, n] = t[b, o, h, n] }",
       {sizes_of({{"B", 2}})}},
      {"strided_convolution",
       "kernel f(x: f32[2, 3, 21], w: f32[20, 3, 3]) -> (y: f32[2, 20, 10]) {"
       " axis b: 2 axis o: 20 axis n: 10 axis c: 3 axis q: 3"
       " t[b, o, n]: f32 = contract(c, q) x[b, c, 2*n + q] * w[o, c, q] store y[b, o, n] = t[b, o, n] }",
       {{}}},
      {"prologue",
       "kernel f[M](x: f32[M, 32], m: f32[M], w: f32[32, 40]) -> (y: f32[M, 40]) {"
       " axis i: M axis j: 40 axis k: 32 n[i, k]: f32 = map tanh(x[i, k] - m[i])"
       " t[i, j]: f32 = contract(k) n[i, k] * w[k, j] store y[i, j] = t[i, j] }",
       {sizes_of({{"M", 90}})}},
      {"contract_then_rows",
       "kernel f[M](x: f32[M, 32], w: f32[32, 40]) -> (y: f32[M, 40]) {"
       " axis i: M axis j: 40 axis k: 32 t[i, j]: f32 = contract(k) x[i, k] * w[k, j]"
       " s[i]: f32 = reduce(add, j) t[i, j] store y[i, j] = t[i, j] - s[i] }",
       {sizes_of({{"M", 90}})}},
  };
  return cases;
}

}  // namespace pto::testing
