#pragma once
// Runs functions of the table on numbers, by the interpreter of the tensor graph.
#include <string>
#include <vector>

#include "base/points.h"
#include "ops/functions.h"

namespace pto {

class FunctionRun {
 public:
  Value input(DType type, std::vector<int64_t> shape, const std::vector<double>& values) {
    const auto buffer = make_buffer(type, shape);
    for (size_t i = 0; i < values.size(); i++)
      Elements(buffer).set(static_cast<int64_t>(i),
                           is_float(type) ? Scalar::from_double(type, values[i])
                                          : Scalar::from_int(type, static_cast<int64_t>(values[i])));
    const Value v =
        make_input("x" + std::to_string(graph_.inputs.size()), {type, {shape.begin(), shape.end()}});
    graph_.inputs.push_back(v.node);
    buffers_.push_back(buffer);
    return v;
  }
  Value f32(std::vector<int64_t> shape, const std::vector<double>& values) {
    return input(DType::F32, std::move(shape), values);
  }
  Value i64(std::vector<int64_t> shape, const std::vector<double>& values) {
    return input(DType::I64, std::move(shape), values);
  }

  BufferPtr buffer(const Value& v) {
    Graph graph = graph_;
    graph.outputs = {v};
    return interpret(graph, buffers_)[0];
  }
  std::vector<double> values(const Value& v) {
    const Elements result(buffer(v));
    std::vector<double> all;
    for (int64_t i = 0; i < result.count(); i++) all.push_back(result.get(i).to_double());
    return all;
  }
  std::vector<double> operator()(const std::string& name, std::vector<Arg> positional,
                                 std::map<std::string, Arg> named = {}, int result = 0) {
    return values(call(name, std::move(positional), std::move(named))[result]);
  }

  // What has been given so far, with results.
  Graph graph(const Values& results) const {
    Graph g = graph_;
    g.outputs = results;
    return g;
  }
  const std::vector<BufferPtr>& buffers() const { return buffers_; }

 private:
  Graph graph_;
  std::vector<BufferPtr> buffers_;
};

// The message of the user's error that a call raises; "" if it raises none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace pto
