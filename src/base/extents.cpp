#include "base/extents.h"

#include <algorithm>

#include "base/text.h"

namespace pto {

int64_t elements_of(const std::vector<int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t n = 1;
  for (int64_t extent : shape) n = saturating_mul(n, extent);
  return n;
}

int64_t bytes_of(DType dtype, const std::vector<int64_t>& shape) {
  return saturating_mul(elements_of(shape), size_of(dtype));
}

std::string type_text(DType dtype, const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (int64_t s : shape) sizes.push_back(std::to_string(s));
  return std::string(name(dtype)) + "[" + join(sizes, ", ") + "]";
}

}  // namespace pto
