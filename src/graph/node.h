#pragma once
// The tensor graph: whole tensors, value semantics, symbolic sizes. A node applies one row of the
// operator table; the graph knows the row only as an opaque pointer.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "expr/size.h"
#include "graph/attrs.h"

namespace pto {

struct OpRow;   // ops/row.h
class Node;
using NodePtr = std::shared_ptr<Node>;

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;
  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const TensorType&) const = default;
  std::string str() const;  // "f32[B, 64]"
};

// One result of a node.
struct Value {
  NodePtr node;
  int index = 0;
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return type().rank(); }
  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Value&) const = default;
};
using Values = std::vector<Value>;

class Node {
 public:
  Node(const OpRow* row, AttrsPtr attrs, Values inputs, std::vector<TensorType> outputs, Loc loc);
  ~Node();  // iterative: chains of any length are freed without recursion
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const OpRow* row() const { return row_; }
  const AttrsPtr& attrs() const { return attrs_; }
  const Values& inputs() const { return inputs_; }
  const std::vector<TensorType>& outputs() const { return outputs_; }
  Loc loc() const { return loc_; }

  // The lazy front end: results that have been computed. A node with data is a leaf (its inputs are dropped by
  // set_data, so that what led to it can be freed, unless the tape needs them).
  // Any thread may ask; one at a time sets.
  bool has_data() const { return computed_.load(std::memory_order_acquire); }
  const BufferPtr& data(int index) const { return data_[index]; }
  void set_data(std::vector<BufferPtr> data);

  // A node that a gradient may be asked through keeps its inputs when it has data, until it is released: then
  // it is a constant of what is made from it later, and no gradient passes it. One that is forgotten is as if
  // it had never been on a tape.
  bool taped() const { return tape_.load(std::memory_order_relaxed) == Tape::On; }
  bool released() const { return tape_.load(std::memory_order_relaxed) == Tape::Released; }
  void tape() { tape_.store(Tape::On, std::memory_order_relaxed); }
  void release() { leave_tape(Tape::Released); }
  void forget() { leave_tape(Tape::Off); }

  // A node with data may stand for a call of a whole graph: this makes the results of that graph for its
  // operands, when a gradient is asked for through it.
  using Expansion = std::function<Values(const Values& operands)>;
  const Expansion* expansion() const { return expansion_.get(); }
  void set_expansion(Expansion expansion) {
    expansion_ = std::make_shared<const Expansion>(std::move(expansion));
  }

 private:
  const OpRow* row_;
  AttrsPtr attrs_;
  Values inputs_;
  std::vector<TensorType> outputs_;
  Loc loc_;
  std::vector<BufferPtr> data_;
  std::atomic<bool> computed_{false};  // data_ is there, and stays as it is
  enum class Tape : uint8_t { Off, On, Released };
  void leave_tape(Tape state);
  std::atomic<Tape> tape_{Tape::Off};
  std::shared_ptr<const Expansion> expansion_;
};

// A closed graph: inputs are nodes of the row "input"; every node is reached from the outputs or
// is an input. Guards are boolean expressions over the size symbols that a caller must check
// before it runs the graph.
struct Graph {
  std::string name = "main";
  std::vector<NodePtr> inputs;
  Values outputs;
  Exprs guards;
  std::vector<NodePtr> order() const;  // topological, deterministic, iterative
  std::vector<Symbol> size_symbols() const;
};
using GraphPtr = std::shared_ptr<const Graph>;

// All results of a node.
Values results_of(const NodePtr& node);

// Nodes reached from `roots` in topological order; the walk does not go past nodes for which
// `is_leaf` holds (they are listed): without it, those with data.
std::vector<NodePtr> topological(const Values& roots, const std::function<bool(const Node&)>& is_leaf = {});

// graph/print.cpp, graph/parse.cpp: text round-trips exactly.
//   graph main(x: f32[B, 64], w: f32[64, 32]) {
//     guard (B % 2 == 0)
//     %0 = contract(x, w) {lhs = [i, k], ...} : f32[B, 32]  @ "model.py":3:5-12 "Block.forward / f"
//     return %0
//   }
// A location is file, line, columns and path of names; results that are known (data) stand as
// constants. Without locations, equal structures have equal texts.
std::string to_text(const Graph& graph, bool locations = true);
Graph parse_graph(std::string_view text);
Graph parse_graph(Lexer& in);

// graph/verify.cpp: throws InternalError naming `where`.
void verify(const Graph& graph, std::string_view where);

}  // namespace pto
