// Every row says what its gradient is.
#include <gtest/gtest.h>

#include "autodiff/vjp.h"
#include "ops/builder.h"
#include "ops/row.h"

namespace pto {
namespace {

// What has floating operands has a rule, or is declared to be discrete. Rows that hold graphs or calls have neither
// yet, and refuse.
TEST(GradientRows, EveryRowHasARuleOrIsDiscrete) {
  for (const OpRow* row : all_rows()) {
    const bool refuses = row->family == Family::Control || row->family == Family::Foreign;
    if (row->max_inputs == 0 || row->family == Family::Random || refuses) continue;
    const int ways = (row->gradient != nullptr) + !row->partials.empty() + row->discrete;
    EXPECT_EQ(ways, 1) << row->name;
    if (!row->partials.empty()) {
      EXPECT_EQ(static_cast<int>(row->partials.size()), row->max_inputs) << row->name;
    }
  }
}

// A chain of any length, without recursion; every way counts.
TEST(GradientRows, LongChains) {
  const Value x = make_input("x", {DType::F64, {}});
  Value y = x;
  for (int i = 0; i < 100'000; i++) y = add(y, x);
  const Value one = full({}, Scalar::from_double(DType::F64, 1));
  EXPECT_TRUE(vjp({y}, {one}, {x})[0]);
}

TEST(GradientRows, WhatDoesNotReachHasNone) {
  const Value x = make_input("x", {DType::F32, {3}}), z = make_input("z", {DType::F32, {3}});
  const Values found = vjp({mul(x, 2.0)}, {x}, {x, z});
  EXPECT_TRUE(found[0]);
  EXPECT_FALSE(found[1]);
  const Value stopped = elementwise("stop_gradient", {x});
  EXPECT_FALSE(vjp({mul(stopped, 2.0)}, {x}, {x})[0]);
}

}  // namespace
}  // namespace pto
