#pragma once
// Loop programs as text, with buffers to run them on.
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "loop/loop.h"

namespace pto::testing {

inline LoopProgram parse_loop_text(std::string_view text) {
  Lexer in(text, "loop program");
  LoopProgram p = parse_loop(in);
  if (!in.done()) in.fail("expected the end");
  return p;
}

// What `f` throws, or "accepted".
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

inline BufferPtr filled(DType type, std::vector<int64_t> shape, const std::vector<double>& values) {
  BufferPtr b = make_buffer(type, std::move(shape));
  EXPECT_EQ(static_cast<int64_t>(values.size()), b->elements());
  for (size_t i = 0; i < values.size(); i++)
    Scalar::from_double(type, values[i]).to_bytes(static_cast<char*>(b->data) + i * size_of(type));
  return b;
}

inline std::vector<double> values_of(const BufferPtr& b) {
  std::vector<double> out;
  for (int64_t i = 0; i < b->elements(); i++)
    out.push_back(
        Scalar::from_bytes(b->dtype, static_cast<char*>(b->data) + i * size_of(b->dtype)).to_double());
  return out;
}

// Every kind of statement and expression.
inline const std::vector<const char*>& loop_texts() {
  static const std::vector<const char*> texts = {
      R"(loop empty() {
}
)",
      R"(loop scale[N](x: f32[N], out y: f32[N]) {
  for i in 0 .. N {
    y[i] = x[i] * f32(0.5)
  }
  because "one \"pass\""
}
)",
      R"(loop mlp[M, K, N](x: f32[M, K], w: f32[K, N], out y: f32[M, N]) {
  alloc wp: f32[(N + 31) // 32, K, 32] shared
  parallel jo in 0 .. (N + 31) // 32 {
    for k in 0 .. K {
      unroll u in 0 .. 2 {
        let column = jo * 32 + u * 16
        let m = ramp(column, 1, 16) < broadcast(N, 16)
        wp[broadcast(jo, 16), broadcast(k, 16), ramp(u * 16, 1, 16)] = w[k, ramp(column, 1, 16) if m else broadcast(f32(0), 16)]
      }
    }
  }
  barrier
  parallel i in 0 .. M {
    for j in 0 .. N step 16 {
      alloc acc: f32[16] register
      acc[ramp(0, 1, 16)] = broadcast(f32(0), 16)
      for k in 0 .. K {
        acc[ramp(0, 1, 16)] = fma(broadcast(x[i, k], 16), wp[j // 32, k, ramp(j % 32, 1, 16)], acc[ramp(0, 1, 16)])
      }
      y[i, ramp(j, 1, 16)] = max(acc[ramp(0, 1, 16)], broadcast(f32(0), 16)) if ramp(j, 1, 16) < broadcast(N, 16)
    }
  }
  because "packed"
  because "blocked"
}
)",
      R"(loop checks(x: i32[8], at: i64[], out y: bool[2]) {
  let v = x[ramp(0, 1, 8)]
  check v < broadcast(i32(9), 8), 0
  if 0 <= at[] & at[] < 8 {
    y[0] = x[at[]] == i32(3)
  } else if at[] == -1 {
    y[0] = false
  } else {
    check false, 1
    {
      let other = hreduce(Max, v)
      y[0] = other != i32(0)
    }
  }
  y[1] = not(hreduce(Add, select(v < broadcast(i32(0), 8), broadcast(i32(1), 8), broadcast(i32(0), 8))) == i32(0))
  message "too large"
  message "index out\nof range"
}
)",
      R"(loop numbers(out y: f64[3], out out: u8[4], out let: bf16[1]) {
  alloc t: i64[2, 3] private
  vector e in 0 .. 4 step 2 {
    out[e] = cast(u8, e) + u8(250)
  }
  t[1, 2] = -9223372036854775808
  y[0] = f64(nan_0x7ff8000000000000) + f64(-inf) * f64(1e-300)
  y[1] = bitcast(f64, t[1, 2] - -5 - (3 - 2)) / f64(0.1)
  y[2] = exp(f64(-1.5))
  let[0] = bf16(1.25)
}
)",
  };
  return texts;
}

}  // namespace pto::testing
