#pragma once
// Values as keys: of which node, and which of its results.
#include "graph/node.h"

template <>
struct std::hash<pto::Value> {
  size_t operator()(const pto::Value& v) const noexcept {
    return pto::hash_combine(reinterpret_cast<uintptr_t>(v.node.get()), static_cast<uint64_t>(v.index));
  }
};
