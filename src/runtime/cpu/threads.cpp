// How many threads a program may use.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/settings.h"
#include "runtime/cpu/pool.h"

namespace pto {
namespace {

constexpr int kMaxThreads = 1024;

int affinity_count() {
  // A fixed set holds 1024 processors; machines with more report an error, and get all of them.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// Processors that a quota of `quota` per `period` microseconds allows, rounded up; 0: no limit.
int quota_count(const std::string& quota, int64_t period) {
  int64_t q = 0;
  const auto parsed = std::from_chars(quota.data(), quota.data() + quota.size(), q);
  if (parsed.ec != std::errc() || q <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((q + period - 1) / period, kMaxThreads));
}

// The tightest quota of this process's control groups, of either version; 0: no limit.
int cgroup_count() {
  int limit = 0;
  const auto tighten = [&](int n) {
    if (n > 0) limit = limit == 0 ? n : std::min(limit, n);
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    // A quota of an outer group binds the inner ones too.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (controllers.empty()) {
        std::ifstream in("/sys/fs/cgroup" + path + "/cpu.max");
        std::string quota;
        int64_t period = 0;
        if (in >> quota >> period) tighten(quota_count(quota, period));
      } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
        const std::string dir = "/sys/fs/cgroup/cpu" + path;
        std::ifstream quota_in(dir + "/cpu.cfs_quota_us"), period_in(dir + "/cpu.cfs_period_us");
        std::string quota;
        int64_t period = 0;
        if (quota_in >> quota && period_in >> period) tighten(quota_count(quota, period));
      }
      if (path.empty() || path.find('/') == std::string::npos) break;
    }
  }
  return limit;
}

int default_threads() {
  if (const int n = settings().num_threads) return n;
  int n = std::min(affinity_count(), kMaxThreads);
  if (const int quota = cgroup_count()) n = std::min(n, quota);
  return n;
}

std::atomic<int> chosen_threads{0};  // by set_num_threads; 0: the default

}  // namespace

int num_threads() {
  if (const int n = chosen_threads.load()) return n;
  static const int n = default_threads();
  return n;
}

void set_num_threads(int n) {
  if (n < 1 || n > kMaxThreads)
    throw Error({.op = "set_num_threads",
                 .message = "not a number of threads",
                 .expected = "an integer from 1 to " + std::to_string(kMaxThreads),
                 .got = std::to_string(n)});
  chosen_threads = n;
}

}  // namespace pto
