#include "base/settings.h"

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

bool read_flag(const char* name) {
  const std::string text = variable(name).value_or("");
  if (text.empty() || text == "0") return false;
  if (text != "1") refuse(name, "not a flag", "0 or 1", text);
  return true;
}

std::string read_cache_dir() {
  if (const auto dir = variable("PTO_CACHE_DIR")) return *dir;
  if (const auto dir = variable("XDG_CACHE_HOME"); dir && !dir->empty()) return *dir + "/pypto";
  if (const auto home = variable("HOME"); home && !home->empty()) return *home + "/.cache/pypto";
  return "";
}

}  // namespace

const Settings& settings() {
  static const Settings read{.cache_dir = read_cache_dir(),
                             .num_threads = read_threads("PTO_NUM_THREADS"),
                             .debug = read_flag("PTO_DEBUG"),
                             .target = variable("PTO_TARGET").value_or("")};
  return read;
}

const std::vector<SettingInfo>& all_settings() {
  static const std::vector<SettingInfo> all = {
      {"PTO_CACHE_DIR", "directory", "~/.cache/pypto",
       "Where compiled kernels are kept between processes; empty: nowhere."},
      {"PTO_NUM_THREADS", "1 .. 1024", "what affinity and control groups allow",
       "How many threads a program may use."},
      {"PTO_DEBUG", "0 or 1", "0", "Verify every program between all passes."},
      {"PTO_TARGET", "avx512, avx2, sse or neon", "all that the machine has",
       "Restrict code to the instructions of this target."},
  };
  return all;
}

}  // namespace pto
