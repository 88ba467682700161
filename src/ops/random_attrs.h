#pragma once
#include "graph/attrs.h"

namespace pto {

// random_bits: (key: u64, offset: u64) -> the bits of `dtype` (u32 or u64) at every index of `shape`.
// Key and offset have the first `keys` axes of it, and are scalars where that is 0. Element i (row-major
// over the other axes, counted from 0 for each key) comes from one block of Philox 4x32-10 with
// the counter words (i low, i high, offset low, offset high) and the key words (low, high): words 0
// and 1 of its output, or 2 and 3 for `pair` 1; u32 takes the first, u64 the first as its low half.
struct RandomBitsAttrs : AttrsOf<RandomBitsAttrs> {
  DType dtype = DType::U32;
  Exprs shape;
  int64_t pair = 0;
  int64_t keys = 0;
  void visit(AttrVisitor& v) override {
    v.field("dtype", dtype);
    v.field("shape", shape);
    v.field("pair", pair);
    v.field("keys", keys);
  }
};

}  // namespace pto
