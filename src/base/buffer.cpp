#include "base/buffer.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/extents.h"

namespace pto {
namespace {

std::shared_ptr<void> plain_allocate(int64_t bytes) {
  const size_t rounded = (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + 63) / 64 * 64;
  void* p = std::aligned_alloc(64, rounded);
  if (!p) throw Error("allocate", "out of memory for " + std::to_string(bytes) + " bytes");
  return {p, std::free};
}

std::atomic<AllocateFn> g_allocator{plain_allocate};

}  // namespace

std::shared_ptr<void> allocate(int64_t bytes) { return g_allocator.load()(bytes); }
void set_allocator(AllocateFn fn) { g_allocator = fn; }

int64_t Buffer::elements() const { return elements_of(shape); }

bool Buffer::contiguous() const {
  if (strides.empty() || elements() == 0) return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

BufferPtr make_buffer(DType dtype, std::vector<int64_t> shape) {
  for (int64_t d : shape)
    if (d < 0) throw Error("allocate", "a size is negative: " + std::to_string(d));
  const int64_t bytes = bytes_of(dtype, shape);
  if (bytes > kMostBytes) throw Error("allocate", "the tensor is larger than any memory");
  auto buffer = std::make_shared<Buffer>();
  buffer->dtype = dtype;
  buffer->shape = std::move(shape);
  buffer->owner = allocate(bytes);
  buffer->data = buffer->owner.get();
  return buffer;
}

BufferPtr packed(const BufferPtr& buffer) {
  if (buffer->contiguous()) return buffer;
  auto out = make_buffer(buffer->dtype, buffer->shape);
  const int64_t item = size_of(buffer->dtype), rank = static_cast<int64_t>(buffer->shape.size());
  std::vector<int64_t> index(rank, 0);
  const int64_t inner = buffer->shape[rank - 1], inner_stride = buffer->strides[rank - 1];
  auto* to = static_cast<char*>(out->data);
  const auto* base = static_cast<const char*>(buffer->data);
  for (int64_t done = 0, total = buffer->elements(); done < total; done += inner) {
    int64_t offset = 0;
    for (int64_t d = 0; d + 1 < rank; d++) offset += index[d] * buffer->strides[d];
    const char* from = base + offset * item;
    if (inner_stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(inner * item));
    } else {
      for (int64_t j = 0; j < inner; j++)
        std::memcpy(to + j * item, from + j * inner_stride * item, static_cast<size_t>(item));
    }
    to += inner * item;
    for (int64_t d = rank - 2; d >= 0; d--) {
      if (++index[d] < buffer->shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

std::string hex(const Buffer& buffer) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto* bytes = static_cast<const uint8_t*>(buffer.data);
  std::string text;
  text.reserve(static_cast<size_t>(buffer.bytes()) * 2);
  for (int64_t i = 0; i < buffer.bytes(); i++) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace pto
