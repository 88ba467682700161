#pragma once
// A block of memory with an owner: what inputs, constants and results live in. Dense row-major
// unless strides say otherwise; strided buffers occur only at the borders (imports), and are
// packed before a kernel reads them.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace pto {

struct Buffer {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements; empty: row-major
  void* data = nullptr;
  bool read_only = false;        // borrowed memory that must not be written
  std::shared_ptr<void> owner;   // keeps `data` alive

  int64_t elements() const;
  int64_t bytes() const { return elements() * size_of(dtype); }
  bool contiguous() const;
};

using BufferPtr = std::shared_ptr<Buffer>;

// 64-byte aligned, from the caching allocator of runtime/cpu; uninitialised.
using AllocateFn = std::shared_ptr<void> (*)(int64_t bytes);
std::shared_ptr<void> allocate(int64_t bytes);
void set_allocator(AllocateFn fn);  // the runtime installs its caching allocator at load
BufferPtr make_buffer(DType dtype, std::vector<int64_t> shape);
BufferPtr packed(const BufferPtr& buffer);  // itself if it is contiguous, else a row-major copy
std::string hex(const Buffer& buffer);      // the bytes of a contiguous one

}  // namespace pto
