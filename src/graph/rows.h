#pragma once
// What the graph asks of the operator table, which stands further down (ops/table.cpp and
// ops/make_node.cpp define these), and the attributes of the two rows that it knows.
#include <memory>
#include <string>

#include "graph/node.h"

namespace pto {

std::string_view row_name(const OpRow& row);
std::shared_ptr<Attrs> default_attrs(const OpRow& row);
const OpRow* find_row(std::string_view name);   // nullptr if there is none
// Makes a node as its row says. Its sizes are as they stand: comparing them adds no guards.
NodePtr make_checked_node(const OpRow& row, Values inputs, AttrsPtr attrs, Loc loc);
Value make_input(std::string_view name, TensorType type, Loc loc = {});

// input: what the caller of a graph gives.
struct InputAttrs : AttrsOf<InputAttrs> {
  std::string name;
  DType dtype = DType::F32;
  Exprs shape;
  void visit(AttrVisitor& v) override {
    v.field("name", name);
    v.field("dtype", dtype);
    v.field("shape", shape);
  }
};

// constant: known elements, which kernels read from a buffer.
struct ConstantAttrs : AttrsOf<ConstantAttrs> {
  BufferPtr value;
  void visit(AttrVisitor& v) override { v.field("value", value); }
};

}  // namespace pto
