#pragma once
// Rows that no element function describes, and the loop templates of the same names that their
// kernels are (tile/opaque.h): attributes and meaning.
#include <string>

#include "graph/attrs.h"

namespace pto {

// sort: (x) -> (values) or (values, indices: i64), all of x's shape. Stable: equal elements keep
// their order in either direction. NaN counts as the greatest; -0 equals +0.
// With `by_index` the outputs are (indices) alone.
struct SortAttrs : AttrsOf<SortAttrs> {
  int64_t axis = 0;
  bool descending = false;
  bool by_index = false;
  void visit(AttrVisitor& v) override {
    v.field("axis", axis);
    v.field("descending", descending);
    v.field("by_index", by_index);
  }
};

// topk: (x) -> (values, indices: i64): the first k elements along the axis, in the order in which
// sort puts them (descending if `largest`).
struct TopKAttrs : AttrsOf<TopKAttrs> {
  int64_t k = 1;
  int64_t axis = 0;
  bool largest = true;
  void visit(AttrVisitor& v) override {
    v.field("k", k);
    v.field("axis", axis);
    v.field("largest", largest);
  }
};

// scatter: (x, index, updates) -> (y of x's shape). y is x, and then for each position of `index`,
// row-major ascending, y at that place of the axis is combined with the update: `combine` is "set",
// "add", "mul", "min" or "max", one operation of the element type (so halves round at each).
// If index has x's rank, it and updates have one shape, and their other coordinates are those of y.
// Else index has rank 1, the axis of updates is as long as it, and whole rows are updated.
// An index outside [0, size) is an error; nothing is written for it.
struct ScatterAttrs : AttrsOf<ScatterAttrs> {
  int64_t axis = 0;
  std::string combine = "set";
  void visit(AttrVisitor& v) override {
    v.field("axis", axis);
    v.field("combine", combine);
  }
};

// What an index outside an axis of this size raises. A symbol stays unnamed: kernels name sizes their own way.
std::string scatter_message(const ScatterAttrs& attrs, const Size& extent);

// The order of sort: does `a` stand before `b`, from their values alone?
bool sorts_before(Scalar a, Scalar b, bool descending);
// The operation of scatter's `combine`; false for "set" and unknown names.
bool scatter_op(std::string_view combine, Op& op);

}  // namespace pto
