#pragma once
// What an operator is: one row. Everything else (bindings, stubs, docs, tests, fuzzers, lowering)
// is derived from it. Rows stand in one file a family, collected by table.cpp.
#include <functional>
#include <string>
#include <vector>

#include "graph/rows.h"   // find_row, make_input
#include "ops/emit.h"

namespace pto {

enum class Family : uint8_t {
  Leaf,
  Elementwise,
  Movement,
  Reduction,
  Scan,
  Contraction,
  Gather,
  Scatter,
  Sort,
  Random,
  Control,
  Foreign
};
std::string_view name(Family family);

struct InferArgs {
  const OpRow& row;
  const std::vector<TensorType>& inputs;
  const Attrs& attrs;
  Loc loc;
  // Raises the user's error with operator, operands and location filled in.
  [[noreturn]] void fail(std::string message, std::string expected = "", std::string got = "",
                         std::string label = "") const;
};

// How the row is tested against NumPy, and what inputs make sense. Exposed to Python as it is.
struct TestSpec {
  // An expression over inputs x0, x1, ... (float64 or integer arrays) and attributes by name,
  // with np, and `ref` (tests/ops/reference.py) for what NumPy lacks.
  std::string numpy;
  // Per input: "real", "positive", "unit" (-1..1), "nonzero", "small" (-8..8), "int", "bool",
  // "index:K" (indices into input 0's axis K), ...
  std::vector<std::string> domains{"real"};
  // Letters of the dtypes that the row takes: b bool, i signed, u unsigned, f floats (with halves).
  std::string dtypes = "f";
  double ulp = 2;        // allowed error in units of the result type's last place, at float32/64
  double atol = 0;       // added, for results near zero
  bool exact = false;    // bit for bit
};

// What a gradient rule is given. It answers with the cotangents of the operands, each of its operand's type;
// an absent Value stands for zero. Rules build values with the functions of ops/compose.h, so that they can be
// differentiated in turn; they are linear in the cotangents, from which forward mode follows.
struct Vjp {
  const Node& node;
  const Values& x;  // the operands
  const Values& y;  // the results
  const Values& d;  // the results' cotangents, of their types; at least one is there
  const std::vector<bool>& wanted;  // whose cotangents are asked for: floating operands alone
};
using GradientRule = Values (*)(const Vjp&);
using PartialRule = Value (*)(const Vjp&);  // the cotangent of one operand

// What a batching rule is given: operands of which some have a new leading axis of size `size`, the others
// being the same for all of it. It answers with results that all have that axis.
struct Batch {
  const Node& node;
  const Values& x;
  const std::vector<bool>& batched;  // which operands have the axis; at least one
  const Size& size;
};
using BatchRule = Values (*)(const Batch&);

struct OpRow {
  std::string name;
  Family family;
  int min_inputs, max_inputs;  // max -1: any number
  std::string doc;  // one line
  std::shared_ptr<Attrs> (*make_attrs)();
  // Result types; checks everything (raises through InferArgs::fail). Operands of elementwise rows
  // have equal shapes already: broadcasting and promotion are done by the builder.
  std::vector<TensorType> (*infer)(const InferArgs&);
  // Elementwise rows: the result for operands `args`.
  Expr (*scalar)(const Attrs&, const Exprs& args, const TensorType& result) = nullptr;
  // Rows that are not opaque: element `index` of result `which`, as an expression; elementwise
  // rows get theirs from `scalar`.
  Expr (*element)(Emit&, const Node&, int which, const Exprs& index) = nullptr;
  // Rows that no element function describes (sort, scatter): the loop template's name.
  std::string opaque;
  // Slow and obvious, on whole buffers; elementwise rows get theirs from `scalar`.
  std::vector<BufferPtr> (*interpret)(const Node&, const std::vector<BufferPtr>&, const Sizes&) = nullptr;
  // Rows with floating results have one of these, or are `discrete`: constant wherever they have a derivative.
  GradientRule gradient = nullptr;
  std::vector<PartialRule> partials;  // elementwise rows: one for each operand, null where it is discrete
  bool discrete = false;
  BatchRule batch = nullptr;  // elementwise rows need none
  TestSpec test;
  std::vector<std::string> aliases;  // of the public function that an elementwise row becomes

  bool is_elementwise() const { return scalar != nullptr; }
};

// --- the table -----------------------------------------------------------------------------------
const std::vector<const OpRow*>& all_rows();
const OpRow& row(std::string_view name);  // InternalError if there is none

template <class T>
const T& attrs_of(const Node& node) {
  return static_cast<const T&>(*node.attrs());
}

// The only maker of nodes: checks arity, infers types. Sizes that must agree but are not proved
// equal become guards of the current SizeContext (ops/size_context.h).
NodePtr make_node(const OpRow& row, Values inputs, AttrsPtr attrs, Loc loc = {});
// The node itself if these are its operands, else one like it.
NodePtr with_operands(const NodePtr& node, const Values& operands);
Value make_value(std::string_view row, Values inputs, AttrsPtr attrs, Loc loc = {});

// Interprets a node or a whole graph.
std::vector<BufferPtr> interpret(const Node& node, const std::vector<BufferPtr>& inputs, const Sizes& sizes);
std::vector<BufferPtr> interpret(const Graph& graph, const std::vector<BufferPtr>& inputs,
                                 const Sizes& extra = {});
// Binds size symbols by matching the inputs' shapes with the buffers'; pto::Error on a mismatch. `extra` holds
// the values of symbols that no shape determines.
Sizes bind_sizes(const Graph& graph, const std::vector<BufferPtr>& inputs, const Sizes& extra = {});

}  // namespace pto
