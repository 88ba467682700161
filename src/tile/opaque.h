#pragma once
// Kernels that the five kinds of value do not express: loop templates, known by name, over whole
// parameters. Their meaning stands here; the code that machines run is a template of the same name
// in src/schedule.
#include <string>
#include <vector>

#include "tile/kernel.h"

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

// topk: (x) -> (values, indices: i64): the first elements along the axis, as many as the outputs
// hold, of the order in which sort puts them (descending if `largest`).
struct TopKAttrs : AttrsOf<TopKAttrs> {
  int64_t axis = 0;
  bool largest = true;
  void visit(AttrVisitor& v) override {
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

struct OpaqueTemplate {
  std::string name;
  std::shared_ptr<Attrs> (*make_attrs)();
  // Throws InternalError naming `where` unless the parameters are as stated above.
  void (*verify)(const Kernel&, std::string_view where);
  void (*interpret)(const Kernel&, const std::vector<BufferPtr>&, const Sizes&, std::string* error);
};

const OpaqueTemplate* find_opaque(std::string_view name);   // nullptr if there is none
const OpaqueTemplate& opaque_template(const Kernel& kernel);

template <class T>
const T& opaque_attrs(const Kernel& kernel) {
  return static_cast<const T&>(*kernel.opaque_attrs);
}

// The order of sort: does `a` stand before `b`, from their values alone?
bool sorts_before(Scalar a, Scalar b, bool descending);
// The operation of scatter's `combine`; false for "set" and unknown names.
bool scatter_op(std::string_view combine, Op& op);

}  // namespace pto
