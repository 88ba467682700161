#pragma once
// Attributes of the rows that move elements, and what the rows mean. In each, `shape`, `size`,
// `start`, `before` and `after` hold sizes, one for each axis.
#include "graph/attrs.h"
#include "ops/index_attrs.h"

namespace pto {

// reshape: (x) -> x's elements, row-major, in a shape of as many elements.
// broadcast: (x) -> x repeated by NumPy's rule: `shape` may have more axes in front, and an axis of
// size 1 (the constant) is repeated; all other sizes are equal.
struct ShapeAttrs : AttrsOf<ShapeAttrs> {
  Exprs shape;
  void visit(AttrVisitor& v) override { v.field("shape", shape); }
};

// permute: (x) -> y; axis d of y is axis perm[d] of x.
struct PermuteAttrs : AttrsOf<PermuteAttrs> {
  std::vector<int64_t> perm;
  void visit(AttrVisitor& v) override { v.field("perm", perm); }
};

// diagonal: (x) -> y; axis d of x is read at y's index number axes[d]. Axes of x that share an axis
// of y have one size, and every axis of y has at least one: [0, 0] is the diagonal of a matrix.
struct DiagonalAttrs : AttrsOf<DiagonalAttrs> {
  std::vector<int64_t> axes;
  void visit(AttrVisitor& v) override { v.field("axes", axes); }
};

// slice: (x) -> y; y[i, ...] is x[start[0] + i * step[0], ...] for i < size[0]. Steps are not 0;
// negative ones walk backwards, so that a reversed axis has start n - 1 and step -1.
// Everything is within bounds: whoever makes the node has wrapped and clamped.
struct SliceAttrs : AttrsOf<SliceAttrs> {
  Exprs start, size;
  std::vector<int64_t> step;
  void visit(AttrVisitor& v) override {
    v.field("start", start);
    v.field("size", size);
    v.field("step", step);
  }
};

// pad: (x, value: a scalar of x's type) -> x with `before` and `after` (>= 0) values around it.
struct PadAttrs : AttrsOf<PadAttrs> {
  Exprs before, after;
  void visit(AttrVisitor& v) override {
    v.field("before", before);
    v.field("after", after);
  }
};

// concat {axis} (AxisAttrs): (x, ...) -> one after the other along the axis. At most so many at once:
// longer lists are joined as a tree, so that the expression for an element stays small.
inline constexpr int kMaxConcat = 16;

// cast, bitcast {dtype}: see expr/expr.h for what they mean.
struct DTypeAttrs : AttrsOf<DTypeAttrs> {
  DType dtype = DType::F32;
  void visit(AttrVisitor& v) override { v.field("dtype", dtype); }
};

}  // namespace pto
