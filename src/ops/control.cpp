// Control flow on values: rows that hold graphs.
#include "ops/control.h"

#include <cstring>
#include <map>

#include "base/points.h"
#include "ops/batching.h"
#include "ops/families.h"
#include "ops/size_context.h"

namespace pto {

std::vector<BufferPtr> interpret_nested(const Graph& graph, const std::vector<BufferPtr>& inputs,
                                        const Sizes& sizes) {
  PTO_CHECK(inputs.size() == graph.inputs.size(), "interpret", "operands of a nested graph");
  std::map<const Node*, std::vector<BufferPtr>> results;
  for (size_t i = 0; i < inputs.size(); i++) results[graph.inputs[i].get()] = {inputs[i]};
  for (const auto& node : graph.order()) {
    if (results.count(node.get())) continue;
    std::vector<BufferPtr> operands;
    for (const auto& input : node->inputs()) operands.push_back(results.at(input.node.get())[input.index]);
    results[node.get()] = interpret(*node, operands, sizes);
  }
  std::vector<BufferPtr> outputs;
  for (const auto& output : graph.outputs) outputs.push_back(results.at(output.node.get())[output.index]);
  return outputs;
}

namespace {

bool same_type(const TensorType& a, const TensorType& b) {
  bool same = a.dtype == b.dtype && a.rank() == b.rank();
  for (int d = 0; same && d < a.rank(); d++) same = sizes_agree(a.shape[d], b.shape[d]);
  return same;
}

std::vector<TensorType> types_of(const Values& values) {
  std::vector<TensorType> types;
  for (const auto& v : values) types.push_back(v.type());
  return types;
}

std::string list_text(const std::vector<TensorType>& types) {
  std::vector<std::string> texts;
  for (const auto& t : types) texts.push_back(t.str());
  return "(" + join(texts, ", ") + ")";
}

void check_types(const InferArgs& in, const std::string& what, const std::vector<TensorType>& expected,
                 const std::vector<TensorType>& got) {
  bool same = expected.size() == got.size();
  for (size_t i = 0; same && i < got.size(); i++) same = same_type(expected[i], got[i]);
  if (!same) in.fail(what, list_text(expected), list_text(got));
}

void check_operands(const InferArgs& in, const GraphAttr& graph, const std::string& what,
                    const std::vector<TensorType>& operands) {
  if (!graph) in.fail("there is no graph for " + what);
  std::vector<TensorType> types;
  for (const auto& input : graph->inputs) types.push_back(input->outputs()[0]);
  check_types(in, what + " does not take the operands", operands, types);
}

const TensorType kBool{DType::Bool, {}};

// --- cond ---------------------------------------------------------------------------------------

std::vector<TensorType> infer_cond(const InferArgs& in) {
  const auto& attrs = static_cast<const CondAttrs&>(in.attrs);
  if (!same_type(in.inputs[0], kBool))
    in.fail("the predicate must be one bool", kBool.str(), in.inputs[0].str());
  const std::vector<TensorType> operands(in.inputs.begin() + 1, in.inputs.end());
  check_operands(in, attrs.then, "the branch taken if true", operands);
  check_operands(in, attrs.orelse, "the branch taken if false", operands);
  const auto types = types_of(attrs.then->outputs);
  check_types(in, "both branches must give results of the same types", types,
              types_of(attrs.orelse->outputs));
  return types;
}

std::vector<BufferPtr> interpret_cond(const Node& node, const std::vector<BufferPtr>& inputs,
                                      const Sizes& sizes) {
  const auto& attrs = attrs_of<CondAttrs>(node);
  const bool taken = Elements(inputs[0]).get(0).to_bool();
  return interpret_nested(taken ? *attrs.then : *attrs.orelse, {inputs.begin() + 1, inputs.end()}, sizes);
}

// --- while_loop ---------------------------------------------------------------------------------

std::vector<TensorType> infer_while(const InferArgs& in) {
  const auto& attrs = static_cast<const WhileAttrs&>(in.attrs);
  if (attrs.state < 1 || attrs.state > static_cast<int64_t>(in.inputs.size()))
    in.fail("the loop needs some state", "1 .. " + std::to_string(in.inputs.size()) + " values",
            std::to_string(attrs.state));
  const std::vector<TensorType> state(in.inputs.begin(), in.inputs.begin() + attrs.state);
  check_operands(in, attrs.condition, "the condition", in.inputs);
  check_operands(in, attrs.body, "the body", in.inputs);
  check_types(in, "the condition must give one bool", {kBool}, types_of(attrs.condition->outputs));
  check_types(in, "the body must give the state's types", state, types_of(attrs.body->outputs));
  return state;
}

std::vector<BufferPtr> interpret_while(const Node& node, const std::vector<BufferPtr>& inputs,
                                       const Sizes& sizes) {
  const auto& attrs = attrs_of<WhileAttrs>(node);
  std::vector<BufferPtr> operands = inputs;
  while (Elements(interpret_nested(*attrs.condition, operands, sizes)[0]).get(0).to_bool()) {
    const auto next = interpret_nested(*attrs.body, operands, sizes);
    std::copy(next.begin(), next.end(), operands.begin());
  }
  operands.resize(attrs.state);
  return operands;
}

// --- scan_loop ----------------------------------------------------------------------------------

std::vector<TensorType> infer_scan_loop(const InferArgs& in) {
  const auto& attrs = static_cast<const ScanLoopAttrs&>(in.attrs);
  const int64_t known = attrs.carries + attrs.sequences;
  if (attrs.carries < 0 || attrs.sequences < 0 || known > static_cast<int64_t>(in.inputs.size()))
    in.fail("carries and sequences must be among the operands",
            std::to_string(in.inputs.size()) + " operands", std::to_string(known));
  if (attrs.length.size() != 1) in.fail("the loop needs one length");
  std::vector<TensorType> operands = in.inputs;
  for (int64_t i = attrs.carries; i < known; i++) {
    TensorType& sequence = operands[i];
    if (sequence.rank() == 0 || !sizes_agree(sequence.shape[0], attrs.length[0]))
      in.fail("the leading axis of every sequence must have the loop's length", to_text(attrs.length[0]),
              in.inputs[i].str());
    sequence.shape.erase(sequence.shape.begin());
  }
  check_operands(in, attrs.body, "the body", operands);
  auto results = types_of(attrs.body->outputs);
  if (static_cast<int64_t>(results.size()) < attrs.carries)
    in.fail("the body must give every carry", std::to_string(attrs.carries) + " results",
            std::to_string(results.size()));
  check_types(in, "the body must give the carries' types",
              {in.inputs.begin(), in.inputs.begin() + attrs.carries},
              {results.begin(), results.begin() + attrs.carries});
  for (size_t i = attrs.carries; i < results.size(); i++)
    results[i].shape.insert(results[i].shape.begin(), attrs.length[0]);
  return results;
}

std::vector<BufferPtr> interpret_scan_loop(const Node& node, const std::vector<BufferPtr>& inputs,
                                           const Sizes& sizes) {
  const auto& attrs = attrs_of<ScanLoopAttrs>(node);
  const int64_t length = eval_size(attrs.length[0], sizes);
  std::vector<BufferPtr> results(inputs.begin(), inputs.begin() + attrs.carries);
  for (size_t i = attrs.carries; i < node.outputs().size(); i++)
    results.push_back(make_buffer(node.outputs()[i].dtype, eval_shape(node.outputs()[i].shape, sizes)));
  for (int64_t step = 0; step < length; step++) {
    const int64_t at = attrs.reverse ? length - 1 - step : step;
    std::vector<BufferPtr> operands = inputs;
    std::copy(results.begin(), results.begin() + attrs.carries, operands.begin());
    for (int64_t i = attrs.carries; i < attrs.carries + attrs.sequences; i++) {
      const auto& sequence = inputs[i];
      operands[i] = make_buffer(sequence->dtype, {sequence->shape.begin() + 1, sequence->shape.end()});
      const int64_t bytes = operands[i]->bytes();
      std::memcpy(operands[i]->data, static_cast<const char*>(sequence->data) + at * bytes, bytes);
    }
    const auto given = interpret_nested(*attrs.body, operands, sizes);
    for (size_t i = 0; i < given.size(); i++) {
      if (static_cast<int64_t>(i) < attrs.carries) {
        results[i] = given[i];
      } else {
        const int64_t bytes = given[i]->bytes();
        std::memcpy(static_cast<char*>(results[i]->data) + at * bytes, given[i]->data, bytes);
      }
    }
  }
  return results;
}

}  // namespace

const std::vector<OpRow>& control_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "cond",
       .family = Family::Control,
       .min_inputs = 1,
       .max_inputs = -1,
       .doc = "One of two graphs, chosen by a bool.",
       .make_attrs = new_attrs<CondAttrs>,
       .infer = infer_cond,
       .interpret = interpret_cond,
       .batch = batch_cond},
      {.name = "while_loop",
       .family = Family::Control,
       .min_inputs = 1,
       .max_inputs = -1,
       .doc = "A graph applied to a state again and again while a condition on it holds.",
       .make_attrs = new_attrs<WhileAttrs>,
       .infer = infer_while,
       .interpret = interpret_while,
       .batch = batch_while_loop},
      {.name = "scan_loop",
       .family = Family::Control,
       .min_inputs = 0,
       .max_inputs = -1,
       .doc = "A graph applied at each position of the sequences' leading axis, carrying a state.",
       .make_attrs = new_attrs<ScanLoopAttrs>,
       .infer = infer_scan_loop,
       .interpret = interpret_scan_loop,
       .batch = batch_scan_loop},
  };
  return rows;
}

}  // namespace pto
