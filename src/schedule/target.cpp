#include "schedule/target.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/settings.h"
#include "base/text.h"

namespace pto {
namespace {

struct KnownTarget {
  const char *name, *triple, *cpu, *features;
  int vector_bytes, vector_registers;
  bool fma;
};

// The x86 levels are those of the psABI: v4 has AVX-512 F, BW, CD, DQ and VL; v3 has AVX2, FMA, F16C
// and BMI; v2 has SSE4.2.
constexpr KnownTarget kTargets[] = {
    {"x86.avx512", "x86_64-unknown-linux-gnu", "x86-64-v4", "", 64, 32, true},
    {"x86.avx2", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 32, 16, true},
    {"x86.sse", "x86_64-unknown-linux-gnu", "x86-64-v2", "", 16, 16, false},
    {"aarch64.neon", "aarch64-unknown-linux-gnu", "generic", "+neon", 16, 32, true},
};

// A target by its name, or by what follows the dot ("avx2").
const KnownTarget* find_target(std::string_view name) {
  for (const auto& t : kTargets) {
    const std::string_view full = t.name;
    if (name == full || name == full.substr(full.find('.') + 1)) return &t;
  }
  return nullptr;
}

// What this machine has beyond the target's level.
std::string extra_features([[maybe_unused]] std::string_view name) {
  std::vector<std::string> out;
#if defined(__x86_64__)
  if (name == "x86.avx512") {
    if (__builtin_cpu_supports("avx512vnni")) out.push_back("+avx512vnni");
    if (__builtin_cpu_supports("avx512bf16")) out.push_back("+avx512bf16");
  }
#endif
  return join(out, ",");
}

// One line of a file under /sys, or nothing.
std::string read_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

int64_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  const int64_t n = std::strtoll(text.c_str(), &end, 10);
  return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

void read_caches(Target& target) {
  for (int i = 0; i < 8; i++) {
    const std::string dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string type = read_line(dir + "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    const std::string level = read_line(dir + "level");
    const int64_t bytes = parse_bytes(read_line(dir + "size"));
    if (bytes <= 0) continue;
    if (level == "1") target.l1_bytes = bytes;
    if (level == "2") target.l2_bytes = bytes;
    if (level == "3") target.l3_bytes = bytes;
  }
}

[[noreturn]] void unknown_target(const std::string& name) {
  throw Error({.op = "target",
               .message = "unknown target \"" + name + "\"",
               .expected = "one of " + join(target_names(), ", ")});
}

Target detect_host() {
  const std::string& setting = settings().target;
  const KnownTarget* chosen = nullptr;
  if (!setting.empty()) {
    chosen = find_target(setting);
    if (!chosen) unknown_target(setting);
    if (!host_runs(chosen->name)) throw Error("target", "this machine cannot run PTO_TARGET=" + setting);
  } else {
    for (const auto& t : kTargets)
      if (!chosen && host_runs(t.name)) chosen = &t;
    if (!chosen)
      throw Error({.op = "target",
                   .message = "this machine is none of the known targets",
                   .expected = "one of " + join(target_names(), ", ")});
  }
  Target target = make_target(chosen->name);
  const std::string extra = extra_features(target.name);
  if (!extra.empty()) target.features += (target.features.empty() ? "" : ",") + extra;
  read_caches(target);
  return target;
}

}  // namespace

bool host_runs(std::string_view name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (name == "x86.avx512") return __builtin_cpu_supports("x86-64-v4");
  if (name == "x86.avx2") return __builtin_cpu_supports("x86-64-v3");
  return name == "x86.sse" && __builtin_cpu_supports("x86-64-v2");
#elif defined(__aarch64__)
  return name == "aarch64.neon";
#else
  return false;
#endif
}

std::string Target::key() const {
  std::vector<std::string> parts{name, triple, cpu, features};
  for (int64_t n :
       {int64_t{vector_bytes}, int64_t{vector_registers}, int64_t{fma}, l1_bytes, l2_bytes, l3_bytes})
    parts.push_back(std::to_string(n));
  return join(parts, "|");
}

const Target& host_target() {
  static const Target target = detect_host();
  return target;
}

Target make_target(const std::string& name) {
  const KnownTarget* known = find_target(name);
  if (!known) unknown_target(name);
  Target t;
  t.name = known->name;
  t.triple = known->triple;
  t.cpu = known->cpu;
  t.features = known->features;
  t.vector_bytes = known->vector_bytes;
  t.vector_registers = known->vector_registers;
  t.fma = known->fma;
  return t;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const auto& t : kTargets) names.push_back(t.name);
  return names;
}

}  // namespace pto
