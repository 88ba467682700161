#pragma once
// Compiled kernels on disk, one file a kernel, named by the hash of its key. The file holds the whole
// key and a checksum of everything: a damaged or foreign entry is as good as none. Files are written
// under a temporary name and renamed, so that processes never see half of one; the directory is kept
// below a number of bytes. Whatever goes wrong with the disk, nothing is thrown.
#include <optional>
#include <string>

namespace pto {

class DiskCache {
 public:
  explicit DiskCache(std::string directory, int64_t max_bytes = int64_t{512} << 20)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  std::optional<std::string> load(const std::string& key) const;
  void store(const std::string& key, const std::string& value) const;
  std::string path_of(const std::string& key) const;

 private:
  void prune() const;
  std::string directory_;   // empty: nothing is kept
  int64_t max_bytes_;
};

// What tells this build of the compiler from others; part of every key.
const std::string& compiler_build();

}  // namespace pto
