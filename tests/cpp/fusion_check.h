#pragma once
// Graphs by their kernels: each group formed, run by the interpreter of definitions, and compared with
// the interpreter of graphs.
#include <map>
#include <unordered_map>

#include "graph_passes/pipeline.h"
#include "kernel_cases.h"
#include "ops/builder.h"
#include "ops/functions.h"
#include "ops/leaf_attrs.h"
#include "schedule/schedule.h"
#include "tile/form_kernels.h"

namespace pto::testing {

inline BufferPtr with_shape(const BufferPtr& b, std::vector<int64_t> shape) {
  auto view = std::make_shared<Buffer>(*b);
  view->shape = std::move(shape);
  view->strides.clear();
  return view;
}

struct ByKernels {
  std::vector<BufferPtr> outputs;
  std::vector<Kernel> kernels;
};

// Sizes of the kernel's symbols for sizes of the graph.
inline Sizes kernel_sizes(const FormedKernel& f, const Sizes& sizes) {
  Sizes own;
  for (const auto& [symbol, size] : f.sizes) own[symbol] = eval_size(size, sizes);
  return own;
}

inline bool all_reshapes(const FusionGroup& g) {
  for (const auto& n : g.nodes)
    if (n->row()->name != "reshape") return false;
  return true;
}

inline ByKernels run_kernels(const Graph& graph, const std::vector<BufferPtr>& inputs, bool fused,
                             const std::vector<Target>& targets = {}) {
  ByKernels out;
  const Sizes sizes = bind_sizes(graph, inputs);
  std::map<std::pair<const Node*, int>, BufferPtr> known;
  for (size_t i = 0; i < inputs.size(); i++) known[{graph.inputs[i].get(), 0}] = inputs[i];
  auto get = [&](const Value& v) {
    auto& b = known[{v.node.get(), v.index}];
    if (!b && v.node->row()->name == "constant") b = attrs_of<ConstantAttrs>(*v.node).value;
    EXPECT_TRUE(b) << v.node->row()->name << " is read before it is computed";
    return b;
  };
  for (const auto& group : fuse(graph, fused).groups) {
    if (all_reshapes(group)) {
      for (const auto& n : group.nodes)
        known[{n.get(), 0}] = with_shape(get(n->inputs()[0]), eval_shape(n->outputs()[0].shape, sizes));
      continue;
    }
    const FormedKernel f = form_kernel(group);
    verify(f.kernel, "formed");
    Lexer in(to_text(f.kernel), "formed");
    EXPECT_EQ(to_text(parse_kernel(in)), to_text(f.kernel));
    const Sizes own = kernel_sizes(f, sizes);
    std::vector<BufferPtr> buffers;
    for (size_t p = 0; p < f.kernel.params.size(); p++) {
      const Param& param = f.kernel.params[p];
      const auto shape = eval_shape(param.shape, own);
      buffers.push_back(param.output ? make_buffer(param.dtype, shape) : with_shape(get(f.inputs[p]), shape));
    }
    interpret(f.kernel, buffers, own);
    for (const Target& target : targets) {
      const std::string size_class = pto::size_class(f.kernel, own, target);
      const Scheduled s = make_schedule(f.kernel, size_class, target);
      SCOPED_TRACE(to_text(f.kernel) + to_text(s.kernel) + to_text(s.schedule));
      EXPECT_NO_THROW(verify(s.kernel, "scheduled"));
      EXPECT_NO_THROW(verify(s.kernel, s.schedule, target));
    }
    const size_t first = f.inputs.size();
    for (size_t o = 0; o < f.outputs.size(); o++)
      known[{f.outputs[o].node.get(), f.outputs[o].index}] =
          with_shape(buffers[first + o], eval_shape(f.outputs[o].shape(), sizes));
    out.kernels.push_back(f.kernel);
  }
  for (const auto& v : graph.outputs) out.outputs.push_back(get(v));
  return out;
}

inline void expect_same_results(const std::vector<BufferPtr>& got, const std::vector<BufferPtr>& want,
                                double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) {
    ASSERT_EQ(got[i]->shape, want[i]->shape);
    int shown = 0;
    for (int64_t e = 0; e < want[i]->elements() && shown < 3; e++) {
      const int64_t at = e * size_of(want[i]->dtype);
      const Scalar g = Scalar::from_bytes(got[i]->dtype, static_cast<char*>(got[i]->data) + at);
      const Scalar w = Scalar::from_bytes(want[i]->dtype, static_cast<char*>(want[i]->data) + at);
      const double x = g.to_double(), y = w.to_double();
      const bool ok = is_float(w.type) ? (std::isnan(x) && std::isnan(y)) || x == y ||
                                             std::fabs(x - y) <= tolerance * (1 + std::fabs(y))
                                       : g == w;
      if (ok) continue;
      ADD_FAILURE() << what << ": output " << i << "[" << e << "] is " << g.str() << ", not " << w.str();
      shown++;
    }
  }
}

inline BufferPtr filled(DType type, std::vector<int64_t> shape, uint32_t seed) {
  std::mt19937 random(seed);
  BufferPtr b = make_buffer(type, std::move(shape));
  for (int64_t i = 0; i < b->elements(); i++) {
    const double x = static_cast<double>(random() % 2001) / 500.0 - 2.0;
    const Scalar s = is_float(type) ? Scalar::from_double(type, x) : Scalar::from_int(type, random() % 3);
    s.to_bytes(static_cast<char*>(b->data) + i * size_of(type));
  }
  return b;
}

// A graph and inputs for it.
struct GraphCase {
  Graph graph;
  std::vector<BufferPtr> buffers;

  Value input(const std::string& name, DType type, const Shape& shape, std::vector<int64_t> actual) {
    const Value v = make_input(name, {type, shape});
    graph.inputs.push_back(v.node);
    buffers.push_back(filled(type, std::move(actual), static_cast<uint32_t>(graph.inputs.size())));
    return v;
  }
  Value f32(const std::string& name, std::vector<int64_t> shape) {
    return input(name, DType::F32, Shape(shape.begin(), shape.end()), shape);
  }
};

}  // namespace pto::testing
