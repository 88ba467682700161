// Nodes from rows, and what they compute.
#include <map>

#include "base/points.h"
#include "expr/eval.h"
#include "ops/control.h"
#include "ops/gradient_mode.h"
#include "ops/leaf_attrs.h"
#include "ops/row.h"
#include "ops/size_context.h"

namespace pto {

constexpr int64_t kMaxBytes = int64_t{1} << 56;

thread_local bool t_gradients = true, t_tape = true;

bool gradients_enabled() { return t_gradients; }
void set_gradients_enabled(bool enabled) { t_gradients = enabled; }
WithGradients::WithGradients(bool enabled) : previous_(t_gradients) { t_gradients = enabled; }
WithGradients::~WithGradients() { t_gradients = previous_; }
WithoutTape::WithoutTape() : previous_(t_tape) { t_tape = false; }
WithoutTape::~WithoutTape() { t_tape = previous_; }

std::string_view row_name(const OpRow& row) { return row.name; }
std::shared_ptr<Attrs> default_attrs(const OpRow& row) { return row.make_attrs(); }

void InferArgs::fail(std::string message, std::string expected, std::string got, std::string label) const {
  ErrorInfo info{
      .op = row.name, .message = std::move(message), .expected = std::move(expected), .got = std::move(got)};
  for (size_t i = 0; i < inputs.size(); i++)
    info.operands.push_back("x" + std::to_string(i) + ": " + inputs[i].str());
  info.label = std::move(label);
  info.loc = loc;
  throw Error(std::move(info));
}

// Sizes beyond any memory are refused before they are multiplied, beside an axis of size 0 too.
void check_bytes(const InferArgs& args, const TensorType& type) {
  int64_t bytes = size_of(type.dtype);
  bool large = false;
  for (const auto& size : type.shape) {
    if (!size.is_const() || size.as_int() == 0) continue;
    large |= __builtin_mul_overflow(bytes, size.as_int(), &bytes) || bytes > kMaxBytes;
  }
  if (large) args.fail("the result is larger than any memory", "at most 2^56 bytes", type.str());
}

namespace {

const OpRow& stop_row() {
  static const OpRow& stop = row("stop_gradient");
  return stop;
}

// That no gradient passes here stands in the graph, so that no walk needs to know how it was recorded.
Value stopped(const Value& v) {
  static const AttrsPtr none = std::make_shared<NoAttrs>();
  return {
      std::make_shared<Node>(&stop_row(), none, Values{v}, std::vector<TensorType>{v.type()}, v.node->loc()),
      0};
}

// Is a gradient asked for through a node with these operands? Those through which none may pass are stopped.
bool record(const OpRow& row, Values& inputs, const std::vector<TensorType>& results) {
  if (!t_tape) return false;
  bool taped = false, released = false, floating = false;
  for (const auto& v : inputs) {
    if (!is_float(v.dtype())) continue;
    taped |= v.node->taped();
    released |= v.node->released();
  }
  if ((!taped && !released) || &row == &stop_row()) return false;
  for (const auto& type : results) floating |= is_float(type.dtype);
  const bool on = taped && floating && gradients_enabled();
  if (floating)
    for (auto& v : inputs)
      if (is_float(v.dtype()) && (v.node->released() || (!on && v.node->taped()))) v = stopped(v);
  return on;
}

}  // namespace

NodePtr make_node(const OpRow& row, Values inputs, AttrsPtr attrs, Loc loc) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const auto& v : inputs) {
    PTO_CHECK(v, "make_node", "an operand of " + row.name + " is nothing");
    types.push_back(v.type());
  }
  PTO_CHECK(attrs, "make_node", row.name + " without attributes");
  const InferArgs args{row, types, *attrs, loc};
  const int count = static_cast<int>(inputs.size());
  if (count < row.min_inputs || (row.max_inputs >= 0 && count > row.max_inputs)) {
    const std::string least = std::to_string(row.min_inputs);
    args.fail("another number of operands",
              row.max_inputs == row.min_inputs ? least
              : row.max_inputs < 0             ? "at least " + least
                                               : least + " .. " + std::to_string(row.max_inputs),
              std::to_string(count));
  }
  auto results = row.infer(args);
  for (const auto& type : results) check_bytes(args, type);
  const bool taped = record(row, inputs, results);
  auto node = std::make_shared<Node>(&row, std::move(attrs), std::move(inputs), std::move(results), loc);
  if (taped) node->tape();
  return node;
}

NodePtr make_checked_node(const OpRow& row, Values inputs, AttrsPtr attrs, Loc loc) {
  SizeContext apart;
  const WithSizeContext scope(apart);
  return make_node(row, std::move(inputs), std::move(attrs), loc);
}

NodePtr with_operands(const NodePtr& node, const Values& operands) {
  if (operands == node->inputs()) return node;
  return make_node(*node->row(), operands, node->attrs(), node->loc());
}

Value make_value(std::string_view name, Values inputs, AttrsPtr attrs, Loc loc) {
  return {make_node(row(name), std::move(inputs), std::move(attrs), loc), 0};
}

Value make_input(std::string_view name, TensorType type, Loc loc) {
  auto attrs = std::make_shared<InputAttrs>();
  attrs->name = name;
  attrs->dtype = type.dtype;
  attrs->shape = std::move(type.shape);
  return make_value("input", {}, std::move(attrs), loc);
}

// --- interpretation -----------------------------------------------------------------------------

namespace {

std::vector<BufferPtr> interpret_elementwise(const Node& node, const std::vector<BufferPtr>& inputs,
                                             const Sizes& sizes) {
  const TensorType& type = node.outputs()[0];
  std::map<Symbol, size_t> operands;
  std::vector<Elements> xs;
  Exprs args;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Symbol name("x" + std::to_string(i));
    operands[name] = i;
    args.push_back(var(name, inputs[i]->dtype));
    xs.emplace_back(inputs[i]);
  }
  const Expr body = node.row()->scalar(*node.attrs(), args, type);
  const bool one_operation = info(body.op()).cls != OpClass::Structural && body.args() == args;
  const auto result = make_buffer(type.dtype, eval_shape(type.shape, sizes));
  int64_t at = 0;
  EvalEnv env;
  env.var = [&](Symbol s) { return xs[operands.at(s)].get(at); };
  std::vector<Scalar> scalars(xs.size());
  for (; at < result->elements(); at++) {
    if (!one_operation) {
      Elements(result).set(at, eval_scalar(body, env));
      continue;
    }
    for (size_t i = 0; i < xs.size(); i++) scalars[i] = xs[i].get(at);
    Elements(result).set(at, eval_op(body.op(), scalars.data()));
  }
  return {result};
}

std::string text(const Buffer& buffer) {
  std::vector<std::string> sizes;
  for (int64_t n : buffer.shape) sizes.push_back(std::to_string(n));
  return std::string(name(buffer.dtype)) + "[" + join(sizes, ", ") + "]";
}

void check_guards(const Graph& graph, const Sizes& sizes) {
  EvalEnv env;
  env.var = [&](Symbol s) { return Scalar::from_int(DType::I64, sizes.at(s)); };
  for (const auto& guard : graph.guards)
    if (!is_bound(guard, sizes) || !eval_scalar(guard, env).to_bool())
      throw Error({.op = graph.name,
                   .message = "the sizes are not those that this graph was made for",
                   .expected = to_text(guard)});
}

}  // namespace

std::vector<BufferPtr> interpret(const Node& node, const std::vector<BufferPtr>& inputs, const Sizes& sizes) {
  if (node.has_data()) {
    std::vector<BufferPtr> results;
    for (size_t i = 0; i < node.outputs().size(); i++)
      results.push_back(packed(node.data(static_cast<int>(i))));
    return results;
  }
  if (node.row()->is_elementwise()) return interpret_elementwise(node, inputs, sizes);
  PTO_CHECK(node.row()->interpret, "interpret",
            "a node of " + node.row()->name + " has no values of its own");
  return node.row()->interpret(node, inputs, sizes);
}

std::vector<BufferPtr> interpret(const Graph& graph, const std::vector<BufferPtr>& inputs,
                                 const Sizes& extra) {
  const Sizes sizes = bind_sizes(graph, inputs, extra);
  check_guards(graph, sizes);
  std::vector<BufferPtr> dense;
  for (const auto& b : inputs) dense.push_back(packed(b));
  return interpret_nested(graph, dense, sizes);
}

Sizes bind_sizes(const Graph& graph, const std::vector<BufferPtr>& inputs, const Sizes& extra) {
  if (inputs.size() != graph.inputs.size())
    throw Error({.op = graph.name,
                 .message = "another number of inputs",
                 .expected = std::to_string(graph.inputs.size()),
                 .got = std::to_string(inputs.size())});
  auto refuse = [&](size_t i, const std::string& message, const std::string& label = "") {
    const Node& input = *graph.inputs[i];
    throw Error({.op = graph.name,
                 .message = "input " + attrs_of<InputAttrs>(input).name + " has " + message,
                 .expected = input.outputs()[0].str(),
                 .got = text(*inputs[i]),
                 .label = label,
                 .loc = input.loc()});
  };
  std::vector<ShapeMatch> matches;
  for (size_t i = 0; i < inputs.size(); i++) {
    const TensorType& type = graph.inputs[i]->outputs()[0];
    PTO_CHECK(inputs[i], "bind_sizes", "an input is no buffer");
    if (inputs[i]->dtype != type.dtype) refuse(i, "another type");
    if (inputs[i]->shape.size() != type.shape.size()) refuse(i, "another rank");
    matches.push_back({type.shape, inputs[i]->shape});
  }
  Sizes sizes = extra;
  if (const auto wrong = solve_sizes(matches, sizes))
    refuse(wrong->match, "another size of axis " + std::to_string(wrong->axis), std::to_string(wrong->axis));
  return sizes;
}

}  // namespace pto
