#include "base/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace pto {
namespace {

constexpr int kMaxThreads = 1024;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return {};
  return value;
}

[[noreturn]] void refuse(const char* name, const std::string& message, const std::string& expected,
                         const std::string& got) {
  throw Error({.op = name, .message = message, .expected = expected, .got = quote(got)});
}

int read_threads(const char* name) {
  const auto text = variable(name);
  if (!text || text->empty()) return 0;
  int n = 0;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, n);
  if (parsed.ec != std::errc() || parsed.ptr != end || n < 1 || n > kMaxThreads)
    refuse(name, "not a number of threads", "an integer from 1 to " + std::to_string(kMaxThreads), *text);
  return n;
}

std::string read_one_of(const char* name, const std::vector<std::string>& values) {
  const std::string text = variable(name).value_or("");
  if (text.empty()) return values[0];
  if (std::find(values.begin(), values.end(), text) == values.end())
    refuse(name, "not one of its values", join(values, ", "), text);
  return text;
}

std::string read_cache_dir() {
  if (const auto dir = variable("PTO_CACHE_DIR")) return *dir;
  if (const auto dir = variable("XDG_CACHE_HOME"); dir && !dir->empty()) return *dir + "/pypto";
  if (const auto home = variable("HOME"); home && !home->empty()) return *home + "/.cache/pypto";
  return "";
}

}  // namespace

const Settings& settings() {
  static const Settings read = [] {
    const std::string debug = read_one_of("PTO_DEBUG", {"0", "1", "compare"});
    return Settings{.cache_dir = read_cache_dir(),
                    .num_threads = read_threads("PTO_NUM_THREADS"),
                    .debug = debug != "0",
                    .compare = debug == "compare",
                    .perf_map = read_one_of("PTO_PERF_MAP", {"0", "1"}) == "1",
                    .target = variable("PTO_TARGET").value_or("")};
  }();
  return read;
}

const std::vector<SettingInfo>& all_settings() {
  static const std::vector<SettingInfo> all = {
      {"PTO_CACHE_DIR", "directory", "~/.cache/pypto",
       "Where compiled kernels are kept between processes; empty: nowhere."},
      {"PTO_NUM_THREADS", "1 .. 1024", "what affinity and control groups allow",
       "How many threads a program may use."},
      {"PTO_DEBUG", "0, 1 or compare", "0",
       "1: verify every program after every pass. compare: at every run, compare neighbouring levels on the inputs "
       "too, and name the first pass, kernel and value that deviate (slow)."},
      {"PTO_PERF_MAP", "0 or 1", "0", "1: name kernels in /tmp/perf-PID.map, for the profiler perf."},
      {"PTO_TARGET", "avx512, avx2, sse or neon", "all that the machine has",
       "Restrict code to the instructions of this target."},
  };
  return all;
}

}  // namespace pto
