#pragma once
// The caching allocator behind pto::allocate: freed blocks are kept in lists by size, bounded in
// bytes, so that a program that runs again finds its buffers mapped and its pages touched.
#include <cstdint>
#include <memory>

namespace pto {

struct AllocatorStats {
  int64_t in_use_bytes;  // requested by blocks that are alive
  int64_t peak_bytes;    // the greatest in_use_bytes since the start or the last reset
  int64_t cached_bytes;  // held in the lists
};
AllocatorStats allocator_stats();
void reset_allocator_peak();
// Gives all cached blocks back to the system.
void trim_allocator();

// 64-byte aligned, uninitialised; blocks of 2 MiB and more stand on huge pages where the system has
// them. pto::Error if there is no memory. Installed as pto::allocate when the library is loaded.
std::shared_ptr<void> caching_allocate(int64_t bytes);

}  // namespace pto
