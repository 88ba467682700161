// Passes, text to text; and random graphs, which keep their bits.
#include <cstring>

#include "fusion_check.h"
#include "graph_passes/broadcasting.h"
#include "graph_passes/canonicalise.h"
#include "graph_passes/cse.h"
#include "graph_passes/fold.h"

namespace pto::testing {
namespace {

struct PassCase {
  const char* name;
  Graph (*pass)(const Graph&);
  Values (*before)(GraphCase&);
  Values (*after)(GraphCase&);
};

Value vec(GraphCase& c) { return c.f32("x", {4, 6}); }
Value flipped_sign(const Value& x) { return elementwise("negative", {x}); }
Value numbers(DType type) { return iota({Size(4)}, 0, type); }

const PassCase kCases[] = {
    {"two_permutes", canonicalise,
     [](GraphCase& c) -> Values { return {permute(permute(vec(c), {1, 0}), {1, 0})}; },
     [](GraphCase& c) -> Values { return {vec(c)}; }},
    {"two_reshapes", canonicalise,
     [](GraphCase& c) -> Values { return {reshape(reshape(vec(c), {Size(24)}), {Size(3), Size(8)})}; },
     [](GraphCase& c) -> Values { return {reshape(vec(c), {Size(3), Size(8)})}; }},
    {"two_negatives", canonicalise,
     [](GraphCase& c) -> Values { return {flipped_sign(flipped_sign(vec(c)))}; },
     [](GraphCase& c) -> Values { return {vec(c)}; }},
    {"one_negative", canonicalise, [](GraphCase& c) -> Values { return {flipped_sign(vec(c))}; },
     [](GraphCase& c) -> Values { return {flipped_sign(vec(c))}; }},
    {"widening_cast", canonicalise,
     [](GraphCase& c) -> Values { return {cast(cast(vec(c), DType::F64), DType::F16)}; },
     [](GraphCase& c) -> Values { return {cast(vec(c), DType::F16)}; }},
    {"narrowing_cast_stays", canonicalise,
     [](GraphCase& c) -> Values { return {cast(cast(vec(c), DType::F16), DType::F32)}; },
     [](GraphCase& c) -> Values { return {cast(cast(vec(c), DType::F16), DType::F32)}; }},
    {"saturating_cast_stays", canonicalise,
     [](GraphCase&) -> Values { return {cast(cast(numbers(DType::I32), DType::F64), DType::U8)}; },
     [](GraphCase&) -> Values { return {cast(cast(numbers(DType::I32), DType::F64), DType::U8)}; }},
    {"order_of_operands", canonicalise,
     [](GraphCase& c) -> Values {
       const Value x = vec(c), y = c.f32("y", {4, 6});
       return {add(y, x)};
     },
     [](GraphCase& c) -> Values {
       const Value x = vec(c), y = c.f32("y", {4, 6});
       return {add(x, y)};
     }},
    {"product_with_zero_stays", fold_constants, [](GraphCase& c) -> Values { return {mul(vec(c), 0.0)}; },
     [](GraphCase& c) -> Values { return {mul(vec(c), 0.0)}; }},
    {"known_scalars", fold_constants,
     [](GraphCase& c) -> Values {
       return {mul(vec(c), add(full({}, Scalar::from_double(DType::F32, 2)), 3.0))};
     },
     [](GraphCase& c) -> Values { return {mul(vec(c), full({}, Scalar::from_double(DType::F32, 5)))}; }},
    {"repeated_rows", sink_broadcasts,
     [](GraphCase& c) -> Values {
       return {mul(broadcast_to(c.f32("b", {1, 6}), {Size(4), Size(6)}),
                   full({Size(4), Size(6)}, Scalar::from_double(DType::F32, 2)))};
     },
     [](GraphCase& c) -> Values {
       return {
           broadcast_to(mul(c.f32("b", {1, 6}), full({Size(1), Size(6)}, Scalar::from_double(DType::F32, 2))),
                        {Size(4), Size(6)})};
     }},
    {"rows_that_differ_stay", sink_broadcasts,
     [](GraphCase& c) -> Values { return {add(vec(c), broadcast_to(c.f32("b", {6}), {Size(4), Size(6)}))}; },
     [](GraphCase& c) -> Values { return {add(vec(c), broadcast_to(c.f32("b", {6}), {Size(4), Size(6)}))}; }},
    {"equal_nodes", merge_common_nodes,
     [](GraphCase& c) -> Values {
       const Value x = vec(c);
       return {add(flipped_sign(x), flipped_sign(x))};
     },
     [](GraphCase& c) -> Values {
       const Value y = flipped_sign(vec(c));
       return {add(y, y)};
     }},
};

class PassTest : public ::testing::TestWithParam<PassCase> {};

TEST_P(PassTest, TextToText) {
  GraphCase before, after;
  before.graph.outputs = GetParam().before(before);
  after.graph.outputs = GetParam().after(after);
  EXPECT_EQ(to_text(GetParam().pass(before.graph)), to_text(after.graph));
}

INSTANTIATE_TEST_SUITE_P(All, PassTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// --- random graphs -------------------------------------------------------------------------------

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  GraphCase make(int nodes) {
    GraphCase c;
    const Size m = var("M"), n = var("N");
    values_ = {c.input("x", DType::F32, {m, n}, {9, 13}), c.input("y", DType::F32, {m, n}, {9, 13}),
               c.input("w", DType::F32, {n, n}, {13, 13}), c.input("b", DType::F32, {n}, {13}),
               c.input("i", DType::I64, {m, n}, {9, 13})};
    while (static_cast<int>(values_.size()) < nodes + 5)
      if (const Value v = step(pick())) values_.push_back(v);
    c.graph.outputs = {values_.back(), values_[values_.size() - 2], pick()};
    return c;
  }

 private:
  uint32_t below(uint32_t n) { return random_() % n; }
  Value pick() { return values_[below(static_cast<uint32_t>(values_.size()))]; }

  // Another value that broadcasts with x.
  Value partner(const Value& x) {
    for (int tries = 0; tries < 8; tries++) {
      const Value y = pick();
      if (y.dtype() != x.dtype() || y.rank() > x.rank()) continue;
      bool fits = true;
      for (int d = 0; d < y.rank(); d++) {
        const Size &a = x.shape()[x.rank() - 1 - d], &b = y.shape()[y.rank() - 1 - d];
        fits &= a == b || b.is_const(1);
      }
      if (fits) return y;
    }
    return x;
  }

  Value step(const Value& x) {
    const bool floats = is_float(x.dtype());
    const int last = x.rank() - 1;
    switch (below(18)) {
      case 0:
      case 1: return add(x, partner(x));
      case 2: return mul(x, partner(x));
      case 3: return sub(x, floats ? Operand(0.5) : Operand(int64_t{1}));
      case 4: return floats ? call("tanh", {x})[0] : Value();
      case 5: return flipped_sign(x);
      case 6: return cast(x, floats ? DType::F64 : DType::F32);
      case 7: return last >= 1 && floats ? call("softmax", {x, int64_t{last}})[0] : Value();
      case 8: return last >= 1 ? reduce(floats ? "max" : "add", x, {last}, true) : Value();
      case 9: return last >= 1 ? reduce("add", x, {int64_t(below(last + 1))}, below(2) == 0) : Value();
      case 10:
        return last >= 1 ? permute(x, last == 1 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 2, 1})
                         : Value();
      case 11: return reshape(x, {product(x.shape())});
      case 12: return last >= 0 ? flip(x, {last}) : Value();
      case 13: return last >= 0 ? concat({x, x}, last) : Value();
      case 14: return last >= 0 ? call("cumsum", {x, int64_t{last}})[0] : Value();
      case 15: {
        const Value w = values_[2];
        if (last < 1 || x.dtype() != w.dtype() || !(x.shape()[last] == w.shape()[0])) return {};
        return mul(matmul(x, w), 0.25);
      }
      case 16:
        if (last < 0 || !(x.shape()[0] == values_[0].shape()[0])) return {};
        return last > 1
                   ? Value()
                   : call("take", {x, call("clip", {values_[4], int64_t{0}, int64_t{2}})[0], int64_t{0}})[0];
      default:
        return last >= 0 ? slice(x, Exprs(last + 1, Expr(0)), x.shape(), std::vector<int64_t>(last + 1, 2))
                         : Value();
    }
  }

  std::mt19937 random_;
  Values values_;
};

TEST(RandomGraphs, PassesKeepBitsAndKernelsComputeTheSame) {
  const std::vector<Target> targets{make_target("x86.avx512")};
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); seed++) {
    const GraphCase c = RandomGraph(seed).make(4 + static_cast<int>(seed % 12));
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(c.graph));
    const auto want = interpret(c.graph, c.buffers);
    const Graph simpler = run_graph_passes(c.graph, {}, [&](const std::string& pass, const Graph& g) {
      verify(g, pass);
      const auto got = interpret(g, c.buffers);
      for (size_t i = 0; i < want.size(); i++)
        EXPECT_EQ(std::memcmp(got[i]->data, want[i]->data, want[i]->bytes()), 0)
            << pass << " changes output " << i;
    });
    // Sums in another order may cancel: the tolerance follows the largest element.
    for (const bool fused : {false, true}) {
      const auto got = run_kernels(simpler, c.buffers, fused, targets).outputs;
      expect_same_results(got, want, 5e-3, fused ? "fused" : "one by one");
    }
  }
}

}  // namespace
}  // namespace pto::testing
