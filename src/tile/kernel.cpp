#include "tile/kernel.h"

#include <algorithm>

#include "base/error.h"

namespace pto {

Expr TileValue::ref(int component) const {
  Exprs index;
  for (Symbol a : axes) index.push_back(var(a));
  return load(names[component], types[component], std::move(index));
}

const Param* Kernel::param(Symbol name) const {
  for (const auto& p : params)
    if (p.name == name) return &p;
  return nullptr;
}

const TileValue* Kernel::value(Symbol name) const {
  for (const auto& v : values)
    if (std::find(v.names.begin(), v.names.end(), name) != v.names.end()) return &v;
  return nullptr;
}

const Axis* Kernel::axis(Symbol name) const {
  for (const auto& a : axes)
    if (a.name == name) return &a;
  return nullptr;
}

}  // namespace pto
