// The tape: nodes made from taped ones keep what led to them, until they are released.
#include "api/session.h"
#include "exec_check.h"
#include "ops/gradient_mode.h"

namespace pto::testing {
namespace {

Value data(double value) {
  const auto b = make_buffer(DType::F32, {3});
  for (int64_t i = 0; i < b->elements(); i++) static_cast<float*>(b->data)[i] = static_cast<float>(value);
  return make_data(b);
}

float first(const Value& v) { return *static_cast<const float*>(data_of(v)->data); }

TEST(ExecTape, ReachesFloatingResultsOfTapedOperands) {
  const Value x = make_variable(data(2)), plain = data(3);
  EXPECT_TRUE(x.node->taped());
  EXPECT_FALSE(plain.node->taped());
  EXPECT_TRUE(mul(x, plain).node->taped());
  EXPECT_FALSE(mul(plain, plain).node->taped());
  EXPECT_FALSE(elementwise("less", {x, plain}).node->taped());
  EXPECT_FALSE(elementwise("stop_gradient", {x}).node->taped());
  EXPECT_FALSE(cast(x, DType::I32).node->taped());
}

TEST(ExecTape, NothingIsRecordedWithGradientsOff) {
  const Value x = make_variable(data(2));
  const WithGradients off(false);
  const Value y = mul(x, x);
  EXPECT_FALSE(y.node->taped());
  for (const auto& v : y.node->inputs()) EXPECT_FALSE(v.node->taped());
  EXPECT_EQ(first(y), 4);
  EXPECT_TRUE(y.node->inputs().empty());
}

TEST(ExecTape, KeepsInputsUntilReleased) {
  const Value x = make_variable(data(2));
  const Value y = mul(x, x), z = add(y, 1.0);
  EXPECT_EQ(first(z), 5);
  EXPECT_FALSE(z.node->inputs().empty());
  EXPECT_EQ(first(mul(z, z)), 25);   // read as data, not through its inputs
  release_tape({z});
  EXPECT_TRUE(z.node->inputs().empty());
  EXPECT_TRUE(z.node->released());
  EXPECT_TRUE(y.node->released());
  EXPECT_TRUE(x.node->taped());
  EXPECT_EQ(first(y), 4);
}

TEST(ExecTape, WhatWasReleasedIsAConstantOfWhatFollows) {
  const Value x = make_variable(data(2));
  const Value y = mul(x, x);
  release_tape({y});
  const Value z = mul(x, y);
  EXPECT_TRUE(z.node->taped());
  EXPECT_EQ(z.node->inputs()[0], x);
  EXPECT_FALSE(z.node->inputs()[1].node->released());
  EXPECT_FALSE(mul(y, y).node->taped());
  EXPECT_EQ(first(z), 8);
}

TEST(ExecTape, AVariableKeepsNothingOfWhatMadeIt) {
  const Value x = make_variable(data(2));
  std::weak_ptr<Node> before;
  Value next;
  {
    const Value y = mul(x, x);
    before = y.node;
    next = make_variable(y);
  }
  EXPECT_EQ(first(next), 4);
  EXPECT_TRUE(next.node->taped());
  EXPECT_TRUE(next.node->inputs().empty());
  EXPECT_TRUE(before.expired());
}

TEST(ExecTape, LongTapesAreReadReleasedAndFreed) {
  const Value x = make_variable(data(0));
  Value y = x;
  for (int i = 0; i < 100'000; i++) y = add(y, 1.0);
  EXPECT_EQ(first(y), 100'000);
  release_tape({y});
  EXPECT_TRUE(y.node->inputs().empty());
  Value z = x;
  for (int i = 0; i < 100'000; i++) z = add(z, 1.0);
  EXPECT_EQ(first(z), 100'000);   // and freed as it is
}

}  // namespace
}  // namespace pto::testing
