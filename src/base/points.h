#pragma once
// Walks over index spaces and elements by index: what the interpreters of all levels are written
// with.
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/scalar.h"

namespace pto {

// Calls f(index) for all points of a box, row-major ascending.
template <class F>
void for_each_point(const std::vector<int64_t>& extents, F f) {
  for (int64_t e : extents)
    if (e <= 0) return;
  std::vector<int64_t> index(extents.size(), 0);
  for (;;) {
    f(index);
    size_t d = extents.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The elements of a dense buffer, by index or by position in row-major order.
class Elements {
 public:
  explicit Elements(BufferPtr buffer) : buffer_(std::move(buffer)) {
    PTO_CHECK(buffer_->contiguous(), "interpret", "elements of a strided buffer");
  }
  const std::vector<int64_t>& shape() const { return buffer_->shape; }
  DType dtype() const { return buffer_->dtype; }
  int64_t count() const { return buffer_->elements(); }
  int64_t position(const std::vector<int64_t>& index) const {
    PTO_CHECK(index.size() == shape().size(), "interpret", "an index of the wrong rank");
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); d++) {
      PTO_CHECK(index[d] >= 0 && index[d] < shape()[d], "interpret", "an index outside the shape");
      at = at * shape()[d] + index[d];
    }
    return at;
  }
  Scalar get(int64_t at) const { return Scalar::from_bytes(dtype(), place(at)); }
  Scalar get(const std::vector<int64_t>& index) const { return get(position(index)); }
  void set(int64_t at, Scalar value) const { value.to_bytes(place(at)); }
  void set(const std::vector<int64_t>& index, Scalar value) const { set(position(index), value); }

 private:
  char* place(int64_t at) const { return static_cast<char*>(buffer_->data) + at * size_of(dtype()); }
  BufferPtr buffer_;
};

}  // namespace pto
