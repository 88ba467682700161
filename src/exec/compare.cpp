#include "exec/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "base/points.h"
#include "exec/reproducer.h"
#include "exec/run_kernel.h"
#include "exec/steps.h"
#include "graph/value_hash.h"
#include "ops/row.h"
#include "runtime/cpu/pool.h"

namespace pto {
namespace {

using Buffers = std::vector<BufferPtr>;

double largest(const BufferPtr& b) {
  const Elements elements(b);
  double most = 0;
  for (int64_t i = 0; i < elements.count(); i++)
    if (const double x = std::abs(elements.get(i).to_double()); std::isfinite(x)) most = std::max(most, x);
  return most;
}

// Where two buffers differ, in words; empty if they do not. Floats may differ by the bound: a part of the
// largest result, or of the largest operand up to 1 (sums that cancel).
class Difference {
 public:
  static Difference bits() { return Difference(false, 0); }
  static Difference bound(const Buffers& operands) {
    double most = 0;
    for (const auto& b : operands)
      if (is_float(b->dtype)) most = std::max(most, largest(b));
    return Difference(true, std::min(most, 1.0));
  }

  std::string operator()(const BufferPtr& got, const BufferPtr& want) const {
    if (got->dtype != want->dtype || got->elements() != want->elements())
      return " is of another type or size";
    const Elements g(packed(got)), w(packed(want));
    const double allowed = within_bound_ && is_float(want->dtype)
                               ? tolerance(want->dtype) * std::max(largest(packed(want)), operands_)
                               : 0;
    for (int64_t i = 0; i < w.count(); i++) {
      const Scalar a = g.get(i), b = w.get(i);
      if (a == b) continue;
      if (is_float(b.type)) {
        const double x = a.to_double(), y = b.to_double();
        if (std::isnan(x) && std::isnan(y)) continue;
        if (within_bound_ && (x == y || std::abs(x - y) <= allowed)) continue;
      }
      return "[" + position(want->shape, i) + "] is " + a.str() + ", and was " + b.str();
    }
    return "";
  }

 private:
  Difference(bool within_bound, double operands) : within_bound_(within_bound), operands_(operands) {}

  static double tolerance(DType type) {
    return type == DType::F64 ? 1e-10 : type == DType::F32 ? 1e-4 : type == DType::F16 ? 1e-2 : 5e-2;
  }
  static std::string position(const std::vector<int64_t>& shape, int64_t at) {
    std::string text;
    for (size_t d = shape.size(); d-- > 0; at /= shape[d])
      text = std::to_string(at % shape[d]) + (text.empty() ? "" : ", ") + text;
    return text;
  }

  bool within_bound_;
  double operands_;
};

// --- a kernel: definition, schedule, loop programs, machine code ------------------------------------------

// Operands shared, results of its own.
Buffers with_new_results(const Buffers& buffers, size_t operands) {
  Buffers all(buffers.begin(), buffers.begin() + static_cast<int64_t>(operands));
  for (size_t i = operands; i < buffers.size(); i++) {
    all.push_back(make_buffer(buffers[i]->dtype, buffers[i]->shape));
    if (all[i]->bytes() > 0) std::memset(all[i]->data, 0, static_cast<size_t>(all[i]->bytes()));
  }
  return all;
}

struct Results {
  std::string stage;
  Buffers buffers;
  std::string error;   // of a check
};

class Comparison : public Watcher {
 public:
  Comparison(const Program& program, const CompileOptions& options, const ComparedPasses& passes)
      : program_(program), options_(options), passes_(passes) {}

  // What the graph computes for buffers of the program.
  std::unordered_map<int, BufferPtr> values;

  void launch(const Step& step, const Buffers& buffers, const Sizes& sizes) override {
    KernelSource source;
    if (const auto it = program_.kernels.find(step.kernel); it != program_.kernels.end()) {
      source.kernel = &it->second;
      source.size_class = size_class(it->second, sizes, options_.target);
      source.schedule = fixed_schedule(program_, step.kernel, source.size_class);
    } else {
      source.loop = &program_.loops.at(step.kernel);
    }
    operands_ = {buffers.begin(), buffers.begin() + static_cast<int64_t>(step.inputs.size())};
    const auto fresh = [&] { return with_new_results(buffers, step.inputs.size()); };
    try {
      source.loop ? compare_loop(*source.loop, "loop", fresh, sizes) : compare_kernel(source, fresh, sizes);
    } catch (const InternalError& e) {
      raise_reproducible(e, text_of(source, options_) + arguments_text(operands_), run_option(sizes),
                         options_);
    }
  }

  void done(const Step& step, Buffers& results) override {
    for (size_t i = 0; i < results.size(); i++) {
      const auto it = values.find(step.outputs[i]);
      if (it == values.end()) continue;
      Buffers operands;
      for (const int b : step.inputs)
        if (const auto known = values.find(b); known != values.end()) operands.push_back(known->second);
      const std::string difference = Difference::bound(operands)(results[i], it->second);
      const std::string what = step.kind == StepKind::Launch ? "kernel " + step.kernel.str() + ": " : "";
      PTO_CHECK(
          difference.empty(), "fuse",
          what + "value " + program_.buffers[step.outputs[i]].name.str() + difference + " in the graph");
      results[i] = it->second;
    }
  }

 private:
  using Fresh = std::function<Buffers()>;

  template <class Params>
  void expect(const Results& got, const Results& want, Symbol kernel, const Params& params,
              const Difference& difference) const {
    const std::string what = "kernel " + kernel.str() + ": ";
    PTO_CHECK(got.error.empty() == want.error.empty(), got.stage,
              what + "the check that fails is " + quote(got.error) + ", and was " + quote(want.error) +
                  " at " + want.stage);
    if (!want.error.empty()) return;   // results mean nothing
    for (size_t i = operands_.size(); i < want.buffers.size(); i++) {
      const std::string text = difference(got.buffers[i], want.buffers[i]);
      PTO_CHECK(text.empty(), got.stage, what + "value " + params[i].name.str() + text + " at " + want.stage);
    }
  }

  void compare_kernel(const KernelSource& source, const Fresh& fresh, const Sizes& sizes) const {
    const Kernel& k = *source.kernel;
    Results definition{"tile", fresh(), ""};
    interpret(k, definition.buffers, sizes, &definition.error);
    const Scheduled made = passes_.schedule(source, options_);
    verify(made.kernel, made.schedule, options_.target);
    Results planned{"schedule", fresh(), ""};
    interpret(made.kernel, made.schedule, planned.buffers, sizes, &planned.error);
    expect(planned, definition, k.name, k.params, Difference::bound(operands_));
    const LoopProgram loop = passes_.lower(made.kernel, made.schedule, options_.target);
    verify(loop, "loop/lower");
    compare_loop(loop, "loop/lower", fresh, sizes, &planned);
  }

  void compare_loop(LoopProgram loop, const std::string& stage, const Fresh& fresh, const Sizes& sizes,
                    const Results* before = nullptr) const {
    const auto off = passes_off(options_, PassLevel::Loop);
    const Difference exact = Difference::bits();
    Results last{stage, fresh(), ""};
    interpret(loop, last.buffers, sizes, &last.error);
    if (before) expect(last, *before, loop.name, loop.params, exact);
    for (const auto& pass : passes_.loop) {
      if (off.count(pass.name)) continue;
      loop = pass.run(loop, options_.target);
      verify(loop, "loop_passes/" + pass.name);
      Results now{"loop_passes/" + pass.name, fresh(), ""};
      interpret(loop, now.buffers, sizes, &now.error);
      expect(now, last, loop.name, loop.params, exact);
      last = std::move(now);
    }
    const auto object = LoadedObject::load(passes_.generate({loop}, options_.target, LlvmOutput::Object));
    const auto function = reinterpret_cast<pto_kernel>(object->symbol(loop.name.str()));
    PTO_CHECK(function, "exec/compare", "an object without its function");
    const int most = loop.parallel() ? num_threads() : 1;
    for (int workers = 1; workers <= most; workers += std::max(most - 1, 1)) {
      const std::string who = workers == 1 ? "one worker" : std::to_string(workers) + " workers";
      Results code{"codegen/llvm by " + who, fresh(), ""};
      run_kernel(loop, function, code.buffers, sizes, workers, &code.error);
      expect(code, last, loop.name, loop.params, exact);
    }
  }

  const Program& program_;
  const CompileOptions& options_;
  const ComparedPasses& passes_;
  Buffers operands_;   // of the launch at hand
};

// --- a graph: after each pass, and by kernels --------------------------------------------------------------

std::unordered_map<Value, BufferPtr> all_values(const Graph& graph, const Buffers& inputs,
                                                const Sizes& sizes) {
  std::unordered_map<Value, BufferPtr> values;
  for (size_t i = 0; i < inputs.size(); i++) values[{graph.inputs[i], 0}] = inputs[i];
  for (const auto& node : graph.order()) {
    if (values.count({node, 0})) continue;
    Buffers operands, results;
    for (const auto& v : node->inputs()) operands.push_back(values.at(v));
    if (!node->has_data()) results = interpret(*node, operands, sizes);
    for (size_t i = 0; i < node->outputs().size(); i++)
      values[{node, static_cast<int>(i)}] =
          node->has_data() ? packed(node->data(static_cast<int>(i))) : results[i];
  }
  return values;
}

Buffers outputs_of(const Graph& graph, const Buffers& inputs, const Sizes& sizes) {
  const auto values = all_values(graph, inputs, sizes);
  Buffers out;
  for (const auto& v : graph.outputs) out.push_back(values.at(v));
  return out;
}

void compare_graphs(const Graph& given, const Buffers& inputs, const Sizes& sizes,
                    const CompileOptions& options, const ComparedPasses& passes) {
  const auto off = passes_off(options, PassLevel::Graph);
  const Difference near = Difference::bound(inputs);
  Graph graph = given;
  const Buffers want = outputs_of(graph, inputs, sizes);
  for (const auto& pass : passes.graph) {
    if (off.count(pass.name)) continue;
    graph = pass.run(graph);
    const std::string stage = "graph_passes/" + pass.name;
    verify(graph, stage);
    const Buffers got = outputs_of(graph, inputs, sizes);
    for (size_t i = 0; i < want.size(); i++) {
      const std::string difference = near(got[i], want[i]);
      PTO_CHECK(difference.empty(), stage, "output " + std::to_string(i) + difference + " before the pass");
    }
  }
}

}  // namespace

void compare_levels(const Graph& graph, const Buffers& inputs, const Sizes& extra,
                    const CompileOptions& options, const ComparedPasses& passes) {
  const Sizes sizes = bind_sizes(graph, inputs, extra);
  Buffers dense;
  for (const auto& b : inputs) dense.push_back(packed(b));
  try {
    compare_graphs(graph, dense, sizes, options, passes);
    Places places;
    const Program program = passes.build(graph, options, &places);
    Comparison comparison(program, options, passes);
    const auto values = all_values(places.graph, dense, sizes);
    for (const auto& [value, buffer] : places.buffers)
      if (const auto it = values.find(value); it != values.end()) comparison.values[buffer] = it->second;
    interpret(program, dense, extra, &comparison);
  } catch (const InternalError& e) {
    raise_reproducible(e, to_text(graph) + arguments_text(inputs), run_option(sizes), options);
  }
}

void compare_levels(const Program& program, const Buffers& inputs, const Sizes& extra,
                    const CompileOptions& options, const ComparedPasses& passes) {
  Comparison comparison(program, options, passes);
  try {
    interpret(program, inputs, extra, &comparison);
  } catch (const InternalError& e) {
    raise_reproducible(e, to_text(program) + arguments_text(inputs), run_option(extra), options);
  }
}

}  // namespace pto
