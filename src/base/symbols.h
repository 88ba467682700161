#pragma once
// Short lists of names.
#include <algorithm>
#include <vector>

#include "base/symbol.h"

namespace pto {

inline bool contains(const std::vector<Symbol>& names, Symbol name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace pto
