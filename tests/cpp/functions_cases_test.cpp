// Every function of the table builds for all its cases, in every kind of type that it takes, and the
// interpreter gives results of the inferred types.
#include "functions_cases.h"

namespace pto {
namespace {

TEST(FunctionsCases, EveryCaseBuildsAndRuns) {
  for_each_function_case([](FunctionCase& c, const std::string& text) {
    for (const auto& result : c.results(text)) {
      const auto buffer = c.inputs.buffer(result);
      EXPECT_EQ(buffer->dtype, result.dtype());
      EXPECT_EQ(buffer->shape, eval_shape(result.shape(), {}));
    }
  });
}

}  // namespace
}  // namespace pto
