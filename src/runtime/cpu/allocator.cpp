#include "runtime/cpu/allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>

#include "base/buffer.h"
#include "base/error.h"

namespace pto {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kMaxCached = int64_t{1} << 30;

// Sizes are rounded up to 64 bytes or to an eighth of their power of two, so that at most an eighth
// of a block is wasted and few classes are needed.
constexpr int kClassesPerPower = 8;
constexpr int kClasses = 64 * kClassesPerPower;

struct SizeClass {
  int index;
  int64_t bytes;
};

SizeClass class_of(int64_t bytes) {
  const auto n = static_cast<uint64_t>(std::max<int64_t>(bytes, 64));
  const int power = std::bit_width(n - 1) - 1;  // 2^power < n <= 2^(power + 1)
  const uint64_t step = std::max<uint64_t>((uint64_t{1} << power) / kClassesPerPower, 64);
  const uint64_t rounded = (n + step - 1) / step * step;
  const int part = static_cast<int>((rounded - (uint64_t{1} << power) + step - 1) / step) - 1;
  return {power * kClassesPerPower + part, static_cast<int64_t>(rounded)};
}

void* map_block(int64_t bytes) {
  if (bytes < kHugePage) return std::aligned_alloc(64, static_cast<size_t>(bytes));
  // Mapped with room to align, and trimmed.
  const auto size = static_cast<size_t>(bytes), room = size + kHugePage;
  void* raw = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<char*>(raw);
  const size_t head = -reinterpret_cast<uintptr_t>(begin) & (kHugePage - 1);
  if (head) munmap(begin, head);
  if (const size_t tail = room - head - size) munmap(begin + head + size, tail);
  madvise(begin + head, size, MADV_HUGEPAGE);  // refused by some systems; then pages are small
  return begin + head;
}

void unmap_block(void* p, int64_t bytes) {
  if (bytes < kHugePage)
    std::free(p);
  else
    munmap(p, static_cast<size_t>(bytes));
}

class Cache {
 public:
  void* take(int64_t requested) {
    const SizeClass size = class_of(requested);
    void* p = nullptr;
    {
      std::lock_guard lock(mutex);
      auto& list = lists_[size.index];
      if (!list.empty()) {
        p = list.back().p;
        list.pop_back();
        cached_ -= size.bytes;
      }
      count(requested);
    }
    if (!p) p = map_block(size.bytes);
    if (!p) {  // the cache may hold what is missing
      trim();
      p = map_block(size.bytes);
    }
    if (!p) {
      std::lock_guard lock(mutex);
      in_use_ -= requested;
    }
    return p;
  }

  void give(void* p, int64_t requested) {
    const SizeClass size = class_of(requested);
    std::lock_guard lock(mutex);
    in_use_ -= requested;
    if (size.bytes > kMaxCached) return unmap_block(p, size.bytes);
    while (cached_ + size.bytes > kMaxCached) evict_oldest();
    lists_[size.index].push_back({p, size.bytes, clock_++});
    cached_ += size.bytes;
  }

  void trim() {
    std::lock_guard lock(mutex);
    for (auto& list : lists_) {
      for (const auto& block : list) unmap_block(block.p, block.bytes);
      list.clear();
    }
    cached_ = 0;
  }

  AllocatorStats stats() {
    std::lock_guard lock(mutex);
    return {in_use_, peak_, cached_};
  }
  void reset_peak() {
    std::lock_guard lock(mutex);
    peak_ = in_use_;
  }

  std::mutex mutex;  // held across a fork, so that the child finds the lists whole

 private:
  struct Block {
    void* p;
    int64_t bytes;
    uint64_t freed;  // when, by clock_
  };

  void count(int64_t requested) {
    in_use_ += requested;
    peak_ = std::max(peak_, in_use_);
  }

  void evict_oldest() {
    std::deque<Block>* oldest = nullptr;
    for (auto& list : lists_)
      if (!list.empty() && (!oldest || list.front().freed < oldest->front().freed)) oldest = &list;
    const Block block = oldest->front();
    oldest->pop_front();
    cached_ -= block.bytes;
    unmap_block(block.p, block.bytes);
  }

  std::array<std::deque<Block>, kClasses> lists_;  // each in the order of release
  uint64_t clock_ = 0;
  int64_t in_use_ = 0, peak_ = 0, cached_ = 0;
};

Cache& cache() {
  static Cache* instance = [] {
    auto* made = new Cache;  // never destroyed: buffers outlive static destructors
    pthread_atfork([] { cache().mutex.lock(); }, [] { cache().mutex.unlock(); },
                   [] { cache().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

[[maybe_unused]] const bool installed = [] {
  set_allocator(caching_allocate);
  return true;
}();

}  // namespace

std::shared_ptr<void> caching_allocate(int64_t bytes) {
  // A class above this would not fit the address space, and rounding must not overflow.
  void* p = bytes < (int64_t{1} << 47) ? cache().take(bytes) : nullptr;
  if (!p) throw Error("allocate", "out of memory for " + std::to_string(bytes) + " bytes");
  return {p, [bytes](void* block) { cache().give(block, bytes); }};
}

AllocatorStats allocator_stats() { return cache().stats(); }
void reset_allocator_peak() { cache().reset_peak(); }
void trim_allocator() { cache().trim(); }

}  // namespace pto
