// Each row's element functions against its interpreter: a kernel formed of one node, run by the
// interpreter of kernels, gives the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "row_cases.h"
#include "tile/form_kernels.h"

namespace pto {
namespace {

std::vector<BufferPtr> run_as_kernel(const RowCase& c) {
  FusionGroup group;
  group.nodes = {c.graph.outputs[0].node};
  group.outputs = c.graph.outputs;
  const FormedKernel formed = form_kernel(group);
  verify(formed.kernel, "rows_kernels_test");
  const Sizes bound = bind_sizes(c.graph, c.inputs);
  Sizes sizes;
  for (const auto& [symbol, size] : formed.sizes) sizes[symbol] = eval_size(size, bound);
  std::vector<BufferPtr> buffers;
  for (const auto& input : formed.inputs)
    for (size_t i = 0; i < c.inputs.size(); i++)
      if (c.graph.inputs[i] == input.node) buffers.push_back(c.inputs[i]);
  std::vector<BufferPtr> results;
  for (const auto& output : formed.outputs) {
    const auto buffer = make_buffer(output.dtype(), eval_shape(output.shape(), bound));
    buffers.push_back(buffer);
    for (const auto& wanted : c.graph.outputs)
      if (wanted == output) results.push_back(buffer);
  }
  std::string error;
  interpret(formed.kernel, buffers, sizes, &error);
  EXPECT_EQ(error, "");
  return results;
}

bool same(Scalar a, Scalar b) {
  return a == b || (is_float(a.type) && std::isnan(a.to_double()) && std::isnan(b.to_double()));
}

TEST(RowsKernels, ElementsAreWhatTheInterpreterGives) {
  for (const auto& c : row_cases()) {
    SCOPED_TRACE(c.name);
    const auto expected = interpret(c.graph, c.inputs);
    std::vector<BufferPtr> got;
    ASSERT_NO_THROW(got = run_as_kernel(c));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t r = 0; r < got.size(); r++) {
      ASSERT_EQ(got[r]->shape, expected[r]->shape);
      const Elements a(got[r]), b(expected[r]);
      for (int64_t i = 0; i < a.count(); i++)
        ASSERT_TRUE(same(a.get(i), b.get(i)))
            << "result " << r << " at " << i << ": " << a.get(i).str() << " instead of " << b.get(i).str();
    }
  }
}

}  // namespace
}  // namespace pto
