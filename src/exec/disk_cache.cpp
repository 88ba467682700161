#include "exec/disk_cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/text.h"

namespace pto {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'p', 't', 'o', 'k', 'e', 'r', 'n', '1'};
constexpr const char* kSuffix = ".kernel";
constexpr int64_t kMaxFile = int64_t{1} << 28;

struct Header {
  char magic[8];
  uint64_t key_bytes, value_bytes, checksum;
};

uint64_t checksum(const std::string& key, const std::string& value) {
  return hash_combine(hash_bytes(key, 11), hash_bytes(value, 13));
}

class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

  bool read(char* to, size_t bytes) const {
    while (bytes > 0) {
      const ssize_t n = ::read(fd_, to, bytes);
      if (n <= 0) return false;
      to += n;
      bytes -= static_cast<size_t>(n);
    }
    return true;
  }
  bool write(const char* from, size_t bytes) const {
    while (bytes > 0) {
      const ssize_t n = ::write(fd_, from, bytes);
      if (n <= 0) return false;
      from += n;
      bytes -= static_cast<size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

std::string hex(uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(n));
  return text;
}

std::string stamp(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return "-";
  return std::to_string(s.st_size) + "." + std::to_string(s.st_mtim.tv_sec) + "." +
         std::to_string(s.st_mtim.tv_nsec);
}

}  // namespace

const std::string& compiler_build() {
  static const std::string build = [] {
    Dl_info here{};
    if (!dladdr(reinterpret_cast<void*>(&compiler_build), &here) || !here.dli_fname) return std::string("-");
    const std::string self = here.dli_fname;
    const std::string folder = self.substr(0, self.rfind('/') + 1);
    return stamp(self) + " " + stamp(folder + "libpto_llvm.so");
  }();
  return build;
}

std::string DiskCache::path_of(const std::string& key) const {
  return directory_ + "/" + hex(hash_bytes(key, 1)) + hex(hash_bytes(key, 2)) + kSuffix;
}

std::optional<std::string> DiskCache::load(const std::string& key) const {
  if (directory_.empty()) return {};
  const File file(path_of(key), O_RDONLY);
  Header header{};
  if (file.fd() < 0 || !file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      header.value_bytes > static_cast<uint64_t>(kMaxFile))
    return {};
  struct stat s{};
  if (fstat(file.fd(), &s) != 0 ||
      static_cast<uint64_t>(s.st_size) != sizeof header + header.key_bytes + header.value_bytes)
    return {};
  std::string stored(header.key_bytes, '\0'), value(header.value_bytes, '\0');
  if (!file.read(stored.data(), stored.size()) || !file.read(value.data(), value.size())) return {};
  if (stored != key || checksum(stored, value) != header.checksum) return {};
  futimens(file.fd(), nullptr);   // the oldest are dropped first
  return value;
}

void DiskCache::store(const std::string& key, const std::string& value) const {
  if (directory_.empty() || static_cast<int64_t>(value.size()) > kMaxFile) return;
  std::error_code error;
  fs::create_directories(directory_, error);
  static std::atomic<int64_t> count{0};
  const int64_t number = count++;
  const std::string path = path_of(key);
  const std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(number);
  bool written = false;
  {
    const File file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (file.fd() < 0) return;
    Header header{{}, key.size(), value.size(), checksum(key, value)};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    written = file.write(reinterpret_cast<const char*>(&header), sizeof header) &&
              file.write(key.data(), key.size()) && file.write(value.data(), value.size());
  }
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
  if (number % 64 == 0) prune();
}

void DiskCache::prune() const {
  struct Entry {
    fs::path path;
    fs::file_time_type time;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
    // Temporary names of processes that died end in numbers, and age like the rest.
    if (it->path().filename().string().find(kSuffix) == std::string::npos) continue;
    std::error_code gone;   // others prune too
    const auto time = it->last_write_time(gone);
    const auto bytes = static_cast<int64_t>(it->file_size(gone));
    if (gone) continue;
    entries.push_back({it->path(), time, bytes});
    total += bytes;
  }
  if (total <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const auto& entry : entries) {
    if (total <= max_bytes_ / 4 * 3) break;
    std::error_code gone;
    fs::remove(entry.path, gone);
    total -= entry.bytes;
  }
}

}  // namespace pto
