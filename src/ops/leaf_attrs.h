#pragma once
// Attributes of the rows without operands, and what the rows mean.
#include "graph/rows.h"   // input and constant

namespace pto {

// data: a leaf of the lazy front end; its node holds the elements (Node::has_data).
struct DataAttrs : AttrsOf<DataAttrs> {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  void visit(AttrVisitor& v) override {
    v.field("dtype", dtype);
    v.field("shape", shape);
  }
};

// full: one known value in any shape.
struct FullAttrs : AttrsOf<FullAttrs> {
  Scalar value;
  Exprs shape;
  void visit(AttrVisitor& v) override {
    v.field("value", value);
    v.field("shape", shape);
  }
};

// size: a scalar that the call determines: one expression over size symbols, of any type
// (bitcast(f64, s) is a run-time number whose bits the symbol holds).
struct SizeAttrs : AttrsOf<SizeAttrs> {
  Exprs value;
  void visit(AttrVisitor& v) override { v.field("value", value); }
};

// iota: each element is its index along the axis.
struct IotaAttrs : AttrsOf<IotaAttrs> {
  DType dtype = DType::I64;
  int64_t axis = 0;
  Exprs shape;
  void visit(AttrVisitor& v) override {
    v.field("dtype", dtype);
    v.field("axis", axis);
    v.field("shape", shape);
  }
};

}  // namespace pto
