// What becomes one kernel, and that kernels compute what the graph says.
#include "fusion_check.h"

namespace pto::testing {
namespace {

const std::vector<Target>& targets() {
  static const std::vector<Target> all{make_target("x86.avx512"), make_target("x86.sse")};
  return all;
}

void expect_computes(const GraphCase& c, const std::string& what) {
  const auto want = interpret(c.graph, c.buffers);
  for (const bool fused : {false, true})
    expect_same_results(run_kernels(c.graph, c.buffers, fused, targets()).outputs, want, 2e-4,
                        what + (fused ? " fused" : " one by one") + "\n" + to_text(c.graph));
}

size_t kernels_of(const GraphCase& c) {
  size_t n = 0;
  for (const auto& g : fuse(c.graph).groups) n += !all_reshapes(g);
  return n;
}

std::string all_text(const GraphCase& c) {
  std::string text;
  for (const auto& g : fuse(c.graph).groups)
    if (!all_reshapes(g)) text += to_text(form_kernel(g).kernel);
  return text + "\n" + join(fuse(c.graph).because, "\n");
}

struct FuseCase {
  const char* name;
  size_t kernels;
  Values (*build)(GraphCase&);
};

const Size B = var("B"), S = var("S");

const FuseCase kCases[] = {
    {"pointwise_chain", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {4, 20}), b = c.f32("b", {20});
       return {mul(add(x, b), call("tanh", {x})[0])};
     }},
    {"softmax_rows", 1,
     [](GraphCase& c) -> Values { return call("softmax", {c.f32("x", {9, 30}), int64_t{-1}}); }},
    {"softmax_columns", 1,
     [](GraphCase& c) -> Values { return call("softmax", {c.f32("x", {30, 12}), int64_t{0}}); }},
    {"softmax_square", 1,
     [](GraphCase& c) -> Values {
       return call("softmax", {c.input("x", DType::F32, {B, S, S}, {3, 9, 9}), int64_t{-1}});
     }},
    {"norm_rows", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.input("x", DType::F32, {B, S, Size(24)}, {2, 5, 24});
       return call("layer_norm", {x, std::vector<int64_t>{24}, c.f32("w", {24}), c.f32("b", {24})});
     }},
    // Each sum computes the function anew: that costs less than a store and two loads.
    {"function_of_two_sums", 2,
     [](GraphCase& c) -> Values {
       const Value y = call("tanh", {c.f32("x", {300, 200})})[0];
       return {call("sum", {y, int64_t{0}})[0], call("sum", {y, int64_t{1}})[0]};
     }},
    {"sum_of_product", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {9, 30});
       return {call("sum", {mul(x, x), int64_t{1}})[0]};
     }},
    {"contraction_epilogue", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {9, 16}), w = c.f32("w", {16, 24}), b = c.f32("b", {24});
       return {add(call("gelu", {add(matmul(x, w), b)})[0], c.f32("r", {9, 24}))};
     }},
    {"reduction_of_contraction", 2,
     [](GraphCase& c) -> Values {
       return {call("softmax", {mul(matmul(c.f32("x", {9, 16}), c.f32("w", {16, 24})), 0.5), int64_t{-1}})};
     }},
    {"views", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {6, 20});
       return {add(reshape(x, {Size(6), Size(4), Size(5)}), c.f32("b", {5}))};
     }},
    {"concat", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {6, 20}), y = c.f32("y", {6, 3});
       return {concat({mul(x, 2.0), y}, 1)};
     }},
    {"scan", 1,
     [](GraphCase& c) -> Values { return {mul(call("cumsum", {c.f32("x", {6, 20}), int64_t{1}})[0], 2.0)}; }},
    {"end_of_scan", 2,
     [](GraphCase& c) -> Values {
       const Value y = call("cumsum", {c.f32("x", {6, 20}), int64_t{1}})[0];
       return {mul(slice(y, {Size(0), Size(19)}, {Size(6), Size(20)}, {1, 1}), 2.0)};
     }},
    {"start_of_scan", 2,
     [](GraphCase& c) -> Values {
       const Value y = call("cumsum", {c.f32("x", {6, 20}), int64_t{1}})[0];
       return {mul(slice(y, {Size(0), Size(0)}, {Size(6), Size(6)}, {1, 1}), 2.0)};
     }},
    {"row_of_scan", 1,
     [](GraphCase& c) -> Values {
       const Value y = call("cumsum", {c.f32("x", {6, 20}), int64_t{1}})[0];
       return {mul(slice(y, {Size(2), Size(0)}, {Size(3), Size(20)}, {1, 1}), 2.0)};
     }},
    {"gather", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {3, 20}), i = c.input("i", DType::I64, {Size(7)}, {7});
       return {add(call("take", {x, i, int64_t{0}})[0], c.f32("b", {20}))};
     }},
    {"sort", 2, [](GraphCase& c) -> Values { return {mul(call("sort", {c.f32("x", {3, 20})})[0], 2.0)}; }},
    {"loss_of_labels", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {9, 30}), t = c.input("t", DType::I64, {Size(9)}, {9});
       return call("cross_entropy", {x, t}, {{"reduction", std::string("none")}});
     }},
    {"argmax", 1, [](GraphCase& c) -> Values { return call("argmax", {c.f32("x", {3, 20}), int64_t{1}}); }},
    {"pad_and_flip", 1,
     [](GraphCase& c) -> Values {
       const Value x = c.f32("x", {3, 20});
       return {add(call("flip", {x, int64_t{1}})[0], x)};
     }},
};

class FuseTest : public ::testing::TestWithParam<FuseCase> {};

TEST_P(FuseTest, ComputesTheGraph) {
  GraphCase c;
  c.graph.outputs = GetParam().build(c);
  expect_computes(c, GetParam().name);
  EXPECT_EQ(kernels_of(c), GetParam().kernels) << all_text(c);
}

INSTANTIATE_TEST_SUITE_P(All, FuseTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

Value linear(GraphCase& c, const std::string& name, const Value& x, int64_t from, int64_t to) {
  return add(matmul(x, c.f32(name + "_w", {from, to})), c.f32(name + "_b", {to}));
}

Value encoder_layer(GraphCase& c, const std::string& name, const Value& x, const Value& mask, int64_t heads,
                    int64_t width) {
  const int64_t d = width / heads;
  auto split = [&](const Value& v) {
    return permute(reshape(v, {B, S, Size(heads), Size(d)}), {0, 2, 1, 3});
  };
  const Value q = split(linear(c, name + "q", x, width, width)),
              k = split(linear(c, name + "k", x, width, width)),
              v = split(linear(c, name + "v", x, width, width));
  const Value scores = add(mul(matmul(q, permute(k, {0, 1, 3, 2})), 0.25), mask);
  const Value context = matmul(call("softmax", {scores, int64_t{-1}})[0], v);
  const Value merged = reshape(permute(context, {0, 2, 1, 3}), {B, S, Size(width)});
  auto norm = [&](const std::string& n, const Value& y) {
    return call("layer_norm",
                {y, std::vector<int64_t>{width}, c.f32(n + "_g", {width}), c.f32(n + "_c", {width})})[0];
  };
  const Value a = norm(name + "n1", add(linear(c, name + "o", merged, width, width), x));
  const Value h = call("gelu", {linear(c, name + "u", a, width, 2 * width)})[0];
  return norm(name + "n2", add(linear(c, name + "d", h, 2 * width, width), a));
}

TEST(Fuse, EncoderLayer) {
  GraphCase c;
  const Value x = c.input("x", DType::F32, {B, S, Size(16)}, {2, 5, 16});
  const Value mask = c.input("mask", DType::I64, {B, S}, {2, 5});
  const Value penalty = mul(sub(1.0, cast(reshape(mask, {B, Size(1), Size(1), S}), DType::F32)), -1e4);
  c.graph.outputs = {encoder_layer(c, "a", encoder_layer(c, "b", x, penalty, 4, 16), penalty, 4, 16)};
  expect_computes(c, "encoder");
  // q, k, v, scores, softmax, context, output, norm, up, down, norm.
  EXPECT_EQ(kernels_of(c), 22u) << all_text(c);
  const Graph given = c.graph;
  c.graph = run_graph_passes(given);
  EXPECT_EQ(kernels_of(c), 22u) << all_text(c);
  // The layers' kernels are the same.
  std::map<std::string, int> texts;
  for (const auto& g : fuse(c.graph).groups)
    if (!all_reshapes(g)) texts[to_text(form_kernel(g).kernel)]++;
  EXPECT_LE(texts.size(), 9u) << all_text(c);
}

TEST(Fuse, LongChain) {
  GraphCase c;
  Value x = c.f32("x", {8});
  for (int i = 0; i < 100000; i++) x = add(x, 1.0);
  c.graph.outputs = {x};
  const Fusion f = fuse(c.graph);
  EXPECT_GE(f.groups.size(), 100000u / 64);
  EXPECT_LE(f.groups.size(), 100000u / 60);
}

TEST(Fuse, LongChainOfMovement) {
  GraphCase c;
  Value x = c.f32("x", {4, 5});
  for (int i = 0; i < 50000; i++) x = flip(permute(x, {1, 0}), {i % 2});
  c.graph.outputs = {x};
  for (const auto& g : fuse(c.graph).groups) EXPECT_LE(g.nodes.size(), 256u);
  form_kernel(fuse(c.graph).groups.back());
}

}  // namespace
}  // namespace pto::testing
