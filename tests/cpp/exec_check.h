#pragma once
// Graphs compiled and run, beside the interpreter of graphs.
#include <cstring>

#include "exec/executable.h"
#include "functions_cases.h"
#include "fusion_check.h"

namespace pto::testing {

inline CompileOptions without_disk() {
  CompileOptions options;
  options.use_disk_cache = false;
  return options;
}

inline void expect_equal_bits(const std::vector<BufferPtr>& got, const std::vector<BufferPtr>& want,
                              const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); i++) {
    ASSERT_EQ(got[i]->dtype, want[i]->dtype) << what;
    ASSERT_EQ(got[i]->shape, want[i]->shape) << what;
    const auto bytes = static_cast<size_t>(want[i]->bytes());
    EXPECT_TRUE(bytes == 0 || std::memcmp(got[i]->data, want[i]->data, bytes) == 0)
        << what << ": output " << i << " has other bits";
  }
}

inline Value input(const std::string& name, Shape shape, DType type = DType::F32) {
  return make_input(name, {type, std::move(shape)});
}

inline Graph graph_of(const Values& inputs, const Values& outputs) {
  Graph graph;
  for (const auto& v : inputs) graph.inputs.push_back(v.node);
  graph.outputs = outputs;
  return graph;
}

}  // namespace pto::testing
