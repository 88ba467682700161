#pragma once
// How a node reads its operands: its row is asked for an element, and what it asks for in turn is
// written down instead of computed.
#include <unordered_set>
#include <vector>

#include "ops/row.h"

namespace pto {

struct ProbeAxis {
  Symbol name;
  Size extent;
};

struct OperandRead {
  Value operand;
  Exprs index;            // over axes; what depends on data is a load
  bool product = false;   // a factor of a contraction
  bool guarded = false;   // read where a condition holds
};

struct Probed {
  std::vector<OperandRead> reads;
  std::vector<Symbol> over;        // axes that the node folds or scans
  std::vector<ProbeAxis> axes;     // the given ones, and those that had to be added
  bool in_order = true;            // a scan is read at its own position, along all of its axis
};

// Element `index` of result `which`. Folded axes are the given ones where their extents fit and the
// index does not use them.
Probed probe(const Node& node, int which, const Exprs& index, const std::vector<ProbeAxis>& axes);

// An index over fresh or given axes that walks all of a shape; axes of size 1 are at 0.
Exprs walking_index(const Shape& shape, std::vector<ProbeAxis>& axes);
std::vector<Symbol> axes_in(const Exprs& index);
// Each part is an axis of its own, or a constant.
bool walks_axes(const Exprs& index);
// Depends on data, or takes positions apart.
bool is_irregular(const Exprs& index);

}  // namespace pto
