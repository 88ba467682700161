#pragma once
// Shapes of numbers. A product that does not fit in 64 bits is the largest number there is.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace pto {

constexpr int64_t kMostBytes = int64_t{1} << 56;   // more than any memory has

// Of two numbers >= 0.
inline int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t elements_of(const std::vector<int64_t>& shape);   // none, if an axis has no positions
int64_t bytes_of(DType dtype, const std::vector<int64_t>& shape);
std::string type_text(DType dtype, const std::vector<int64_t>& shape);   // "f32[3, 4]"

}  // namespace pto
