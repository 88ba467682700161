#pragma once
// A target as data: what schedules and generators need to know about a machine.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pto {

struct Target {
  std::string name;            // "x86.avx512", "x86.avx2", "x86.sse", "aarch64.neon"
  std::string triple, cpu;     // as LLVM names them
  std::string features;        // "+avx512f,+avx512bw,..."
  int vector_bytes = 16;
  int vector_registers = 16;
  bool fma = true;
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;  // per core; l3 in all

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  std::string key() const;     // everything that changes code: part of cache keys
};

// The machine that runs this process, restricted by PTO_TARGET ("avx512", "avx2", "sse"; names of
// known targets). pto::Error for an unknown name or one the machine cannot run.
const Target& host_target();
// Whether this machine runs code for the target of that name.
bool host_runs(std::string_view name);
Target make_target(const std::string& name);
std::vector<std::string> target_names();

}  // namespace pto
