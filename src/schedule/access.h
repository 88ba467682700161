#pragma once
// How expressions walk through memory: what the choice of loops looks at.
#include "schedule/target.h"
#include "tile/kernel.h"

namespace pto {

// What one step along an axis does to an access.
enum class Stride : uint8_t {
  Same,       // the same element
  Unit,       // the next element
  Constant,   // a constant or symbolic number of elements further
  Irregular,  // depends on the position, or on data
};

// An access is a load, or a store's parameter with its indices.
Stride stride_along(const Kernel& kernel, Symbol array, const Exprs& index, Symbol axis);

struct Access {
  Symbol array;
  Exprs index;
  DType type;
  bool store = false;
};
std::vector<Access> accesses(const Exprs& exprs);

// The widest element that passes through the lanes of these expressions; indices do not count.
int widest_bytes(const Exprs& exprs);
// Is there an elementary function, a root or a division, that of integers included?
bool is_costly(const Exprs& exprs);
bool uses_axis(const Expr& e, Symbol axis);
std::vector<Symbol> store_axes(const Kernel& kernel, const TileStore& store);   // in the kernel's order

}  // namespace pto
