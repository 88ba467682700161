#pragma once
// Attributes of the rows that fold axes away, and what the rows mean.
#include <string>
#include <vector>

#include "graph/attrs.h"

namespace pto {

// reduce: (x) -> the fold of a monoid (make_monoid of expr/monoid.h) over axes, which are dropped;
// one result for each component: argmax and argmin give (value, position: i64), where the position
// is row-major among the folded axes, and welford (mean, m2, count). Without axes nothing is folded.
// Halves are folded in float32.
struct ReduceAttrs : AttrsOf<ReduceAttrs> {
  std::string monoid = "add";
  std::vector<int64_t> axes;   // ascending
  void visit(AttrVisitor& v) override {
    v.field("monoid", monoid);
    v.field("axes", axes);
  }
};

// contract: (x, y) -> z. Each axis has a label; z at the labels of `out` is the sum over all other
// labels of x at `lhs` times y at `rhs`. A label twice in one operand is a diagonal. `out` names
// no label twice, and none that no operand has.
//   {lhs = [b, i, k], rhs = [b, k, j], out = [b, i, j]}
// Windows: axis `window[w]` of x (a label of no other axis) is not summed over; x is read there at
//   at[w] * stride[w] + tap[w] * dilation[w] - before[w]
// and is 0 outside. at[w] is a label of `out` with the size count[w]; tap[w] is a label of y.
//   {lhs = [n, c, h], rhs = [o, c, r], out = [n, o, p],
//    window = [h], at = [p], tap = [r], stride = [2], dilation = [1], before = [1], count = [H // 2]}
// The operands have one type. Products are added in its accumulator type (float32 for halves, by
// fused multiply-add for floats), and the sum is converted to `dtype`: the operands' type or that.
struct ContractAttrs : AttrsOf<ContractAttrs> {
  std::vector<std::string> lhs, rhs, out;
  DType dtype = DType::F32;
  std::vector<std::string> window, at, tap;
  std::vector<int64_t> stride, dilation;
  Exprs before, count;
  void visit(AttrVisitor& v) override {
    v.field("lhs", lhs);
    v.field("rhs", rhs);
    v.field("out", out);
    v.field("dtype", dtype);
    v.field("window", window);
    v.field("at", at);
    v.field("tap", tap);
    v.field("stride", stride);
    v.field("dilation", dilation);
    v.field("before", before);
    v.field("count", count);
  }
};

}  // namespace pto
