// Values of functions at the points where implementations go wrong.
#include <gtest/gtest.h>

#include <cmath>

#include "functions_run.h"

namespace pto {
namespace {

using Doubles = std::vector<double>;
constexpr double kInf = INFINITY;

void expect_near(const Doubles& got, const Doubles& expected, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); i++) {
    if (std::isinf(expected[i]))
      EXPECT_EQ(got[i], expected[i]) << "at " << i;
    else
      EXPECT_NEAR(got[i], expected[i], tolerance) << "at " << i;
  }
}

TEST(FunctionsSoftmax, RowThatIsAllMinusInfinityIsZero) {
  FunctionRun run, alone;
  const Value x = run.f32({2, 3}, {1, 2, 3, -kInf, -kInf, -kInf});
  const Doubles y = run("softmax", {x});
  expect_near({y.begin() + 3, y.end()}, {0, 0, 0}, 0);
  const Doubles first = alone("softmax", {alone.f32({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(Doubles(y.begin(), y.begin() + 3), Doubles(first.begin(), first.begin() + 3));
}

TEST(FunctionsSoftmax, MaskedAttentionRowIsZero) {
  FunctionRun run;
  const Value q = run.f32({2, 2}, {1, 0, 0, 1}), k = run.f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const Value v = run.f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const Value mask = run.input(DType::Bool, {2, 3}, {1, 1, 0, 0, 0, 0});
  const Doubles y = run("scaled_dot_product_attention", {q, k, v, mask});
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  const double w = 1 / (1 + std::exp(-2 / std::sqrt(2.0)));
  expect_near({y[0], y[1]}, {1 - w + 3 * w, 2 * (1 - w) + 4 * w});
}

TEST(FunctionsCrossEntropy, LargeLogits) {
  for (const double v : {1.0, 1e4, 1e6, 1e8}) {
    FunctionRun run;
    expect_near(run("cross_entropy", {run.f32({1, 2}, {v, v}), run.i64({1}, {0})}), {0.693147});
  }
  FunctionRun run;
  const Value target = run.i64({1}, {0});
  expect_near(run("cross_entropy", {run.f32({1, 2}, {-200, 0}), target}), {200}, 1e-4);
  expect_near(run("cross_entropy", {run.f32({1, 2}, {-30, 30}), target}), {60}, 1e-5);
}

TEST(FunctionsCrossEntropy, TargetOutOfRange) {
  for (const double target : {-1.0, 2.0}) {
    FunctionRun run;
    const Value x = run.f32({1, 2}, {0, 0}), t = run.i64({1}, {target});
    EXPECT_NE(error_of([&] { run("cross_entropy", {x, t}); }).find("out of range"), std::string::npos);
  }
}

TEST(FunctionsHalf, AccumulateWide) {
  FunctionRun run;
  expect_near(run("mean", {run.input(DType::F16, {3}, {40000, 40000, 40000})}), {40000}, 0);
  expect_near(run("sum", {run.input(DType::F16, {4096}, Doubles(4096, 1))}), {4096}, 0);
  expect_near(
      run("cumsum", {run.input(DType::BF16, {512}, Doubles(512, 1)), int64_t{0}}),
      [] {
        Doubles ramp;
        for (int i = 1; i <= 512; i++) ramp.push_back(Scalar::from_double(DType::BF16, i).to_double());
        return ramp;
      }(),
      0);
  const Value index = run.i64({4096}, Doubles(4096, 0));
  const Value ones = run.input(DType::F16, {4096}, Doubles(4096, 1));
  expect_near(run("scatter_add", {run.input(DType::F16, {1}, {0}), int64_t{0}, index, ones}), {4096}, 0);
}

TEST(FunctionsExtremes, NaN) {
  FunctionRun run;
  for (const char* f : {"max", "min"}) {
    EXPECT_TRUE(std::isnan(run(f, {run.f32({2}, {1, NAN})})[0]));
    EXPECT_TRUE(std::isnan(run(f, {run.f32({2}, {NAN, 1})})[0]));
  }
  const Value x = run.f32({2, 2}, {1, NAN, 3, 4});
  const Doubles y = run("max", {x, int64_t{0}});
  EXPECT_EQ(y[0], 3);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(run("argmax", {x})[0], 1);
  EXPECT_EQ(run("argmin", {x})[0], 1);
}

TEST(FunctionsExtremes, OfNothing) {
  FunctionRun run;
  const Value x = run.f32({2, 0}, {});
  EXPECT_TRUE(run("max", {x, int64_t{0}}).empty());
  const std::string message = error_of([&] { call("max", {x, int64_t{1}}); });
  EXPECT_NE(message.find("axis 1 has size 0"), std::string::npos) << message;
  EXPECT_EQ(run("sum", {x, int64_t{1}}), (Doubles{0, 0}));
  EXPECT_EQ(run("prod", {x, int64_t{1}}), (Doubles{1, 1}));
  EXPECT_TRUE(std::isnan(run("mean", {x, int64_t{1}})[0]));
  EXPECT_EQ(run("matmul", {run.f32({4, 0}, {}), run.f32({0, 4}, {})}), Doubles(16, 0));
}

TEST(FunctionsClip, Edges) {
  FunctionRun run;
  const Value x = run.f32({6}, {-1, 0, 0.5, 1, 2, NAN});
  const Doubles y = run("clip", {x, int64_t{0}, int64_t{1}});
  expect_near({y.begin(), y.begin() + 5}, {0, 0, 0.5, 1, 1}, 0);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(run("clip", {run.f32({1}, {0.5}), int64_t{2}, int64_t{1}}), Doubles{1});
  const Value bytes = run.input(DType::I8, {3}, {-128, 0, 127});
  EXPECT_EQ(run("clip", {bytes, int64_t{-1000}, int64_t{1000}}), (Doubles{-128, 0, 127}));
  EXPECT_EQ(call("clip", {bytes, int64_t{-1000}, int64_t{1000}})[0].dtype(), DType::I8);
}

TEST(FunctionsActivations, Tails) {
  FunctionRun run;
  const Value x = run.f32({5}, {-kInf, -100, 0, 100, kInf});
  expect_near(run("sigmoid", {x}), {0, 3.7835e-44, 0.5, 1, 1}, 1e-45);
  expect_near(run("softplus", {x}), {0, 3.7835e-44, std::log(2.0), 100, kInf}, 1e-6);
  expect_near(run("logsumexp", {run.f32({2}, {1000, 1000})}), {1000 + std::log(2.0)}, 1e-4);
  EXPECT_EQ(run("logsumexp", {run.f32({2}, {-kInf, -kInf})})[0], -kInf);
  EXPECT_EQ(run("logsumexp", {run.f32({2}, {kInf, 0})})[0], kInf);
  expect_near(run("logcumsumexp", {run.f32({3}, {-kInf, 1000, 1000}), int64_t{0}}),
              {-kInf, 1000, 1000 + std::log(2.0)}, 1e-4);
}

TEST(FunctionsIndexing, NegativeAndOutOfRange) {
  FunctionRun run;
  const Value x = run.f32({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(run("take", {x, run.i64({2}, {-1, 0}), int64_t{0}}), (Doubles{4, 5, 0, 1}));
  for (const double bad : {3.0, -4.0}) {
    const Value index = run.i64({1}, {bad});
    const std::string message = error_of([&] { run("take", {x, index, int64_t{0}}); });
    EXPECT_NE(message.find("out of range for axis 0 of size 3"), std::string::npos) << message;
    EXPECT_NE(error_of([&] {
                run("scatter", {x, int64_t{0}, run.i64({1, 2}, {bad, bad}), 1.0});
              }).find("out of range"),
              std::string::npos);
  }
  const Value empty = run.f32({0, 2}, {});
  EXPECT_NE(error_of([&] { call("take", {empty, run.i64({1}, {0}), int64_t{0}}); }).find("axis 0 has size 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { call("take", {x, x, int64_t{0}}); }).find("must be integers"), std::string::npos);
}

TEST(FunctionsIndexing, RepeatedIndicesAdd) {
  FunctionRun run;
  EXPECT_EQ(run("index_add", {run.f32({5, 2}, Doubles(10, 0)), int64_t{0}, run.i64({4}, {3, 3, 3, 0}),
                              run.f32({4, 2}, Doubles(8, 1))}),
            (Doubles{1, 1, 0, 0, 0, 0, 3, 3, 0, 0}));
}

TEST(FunctionsIndexing, SortPutsNaNLastAndKeepsTheOrderOfEquals) {
  FunctionRun run;
  const Value x = run.f32({5}, {2, NAN, 1, 2, -1});
  const Doubles y = run("sort", {x});
  expect_near({y.begin(), y.begin() + 4}, {-1, 1, 2, 2}, 0);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(run("argsort", {x}), (Doubles{4, 2, 0, 3, 1}));
  EXPECT_EQ(run("argsort", {x}, {{"descending", true}}), (Doubles{1, 0, 3, 2, 4}));
  EXPECT_EQ(run("topk", {x, int64_t{2}}, {}, 1), (Doubles{1, 0}));
  EXPECT_NE(error_of([&] { call("topk", {x, int64_t{6}}); }).find("k is outside"), std::string::npos);
}

TEST(FunctionsRandom, KnownAnswers) {
  FunctionRun run;
  const Value zero = run.input(DType::U64, {}, {0});
  const Value bits = call("random_bits", {std::vector<int64_t>{1}, zero, zero}, {{"dtype", DType::U64}})[0];
  EXPECT_EQ(Elements(run.buffer(bits)).get(0).bits, 0xe169c58d6627e8d5u);
}

TEST(FunctionsRandom, SlicesOfOneStream) {
  FunctionRun run;
  const Value key = run.input(DType::U64, {}, {12345}), offset = run.input(DType::U64, {}, {7});
  const Doubles longer = run("uniform", {int64_t{10}, key, offset}),
                shorter = run("uniform", {int64_t{4}, key, offset});
  EXPECT_EQ(Doubles(longer.begin(), longer.begin() + 4), shorter);
  for (const double u : longer) EXPECT_TRUE(u >= 0 && u < 1);
  const Value next = run.input(DType::U64, {}, {8});
  EXPECT_NE(run("uniform", {int64_t{4}, key, next}), shorter);
}

TEST(FunctionsMovement, Padding) {
  FunctionRun run;
  const Value x = run.f32({3}, {1, 2, 3});
  auto padded = [&](const char* mode) {
    return run("pad", {x, std::vector<int64_t>{2, 3}, std::string(mode)});
  };
  EXPECT_EQ(padded("constant"), (Doubles{0, 0, 1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(padded("edge"), (Doubles{1, 1, 1, 2, 3, 3, 3, 3}));
  EXPECT_EQ(padded("reflect"), (Doubles{3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(padded("symmetric"), (Doubles{2, 1, 1, 2, 3, 3, 2, 1}));
  EXPECT_EQ(padded("wrap"), (Doubles{2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(FunctionsMovement, SymbolicSizes) {
  const Size n = var("N");
  const Value x = make_input("x", {DType::F32, {n, Size(6)}});
  EXPECT_EQ(call("flatten", {x})[0].type().str(), "f32[6*N]");
  EXPECT_EQ(call("split", {x, int64_t{3}, int64_t{1}})[2].type().str(), "f32[N, 2]");
  EXPECT_EQ(call("tile", {x, std::vector<int64_t>{2, 1}})[0].type().str(), "f32[2*N, 6]");
  EXPECT_EQ(call("softmax", {x})[0].type().str(), "f32[N, 6]");
  EXPECT_EQ(call("arange", {Arg(n)})[0].type().str(), "i64[N]");
}

}  // namespace
}  // namespace pto
