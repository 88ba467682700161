#pragma once
// Attributes of the gather and scan rows.
#include <string>

#include "graph/attrs.h"

namespace pto {

struct AxisAttrs : AttrsOf<AxisAttrs> {
  int64_t axis = 0;
  void visit(AttrVisitor& v) override { v.field("axis", axis); }
};

// gather: (x, index...), one index per axis, all of one shape. In the result the axes of the indices
// stand together, before the axis number `at` of those that x keeps.
struct GatherAttrs : AttrsOf<GatherAttrs> {
  std::vector<int64_t> axes;   // ascending
  int64_t at = 0;
  void visit(AttrVisitor& v) override {
    v.field("axes", axes);
    v.field("at", at);
  }
};

// cumulative: (x) -> the monoid over the elements up to each, along the axis (from the end if
// `reverse`). Monoids: add, mul, max, min, logaddexp. Halves accumulate in float32.
struct CumulativeAttrs : AttrsOf<CumulativeAttrs> {
  std::string monoid = "add";
  int64_t axis = 0;
  bool reverse = false;
  void visit(AttrVisitor& v) override {
    v.field("monoid", monoid);
    v.field("axis", axis);
    v.field("reverse", reverse);
  }
};

}  // namespace pto
