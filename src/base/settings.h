#pragma once
// What the environment can set, in one place. Read once, at the first use; a value that makes no
// sense is a pto::Error that names the variable.
#include <string>
#include <vector>

namespace pto {

struct Settings {
  std::string cache_dir;     // PTO_CACHE_DIR; empty: nothing is kept on disk
  int num_threads = 0;       // PTO_NUM_THREADS; 0: as many as affinity and quotas allow
  bool debug = false;        // PTO_DEBUG: programs are verified after every pass
  bool compare = false;      // PTO_DEBUG=compare: and levels are compared at every run (exec/compare.h)
  bool perf_map = false;     // PTO_PERF_MAP: kernels are named in /tmp/perf-PID.map
  std::string target;        // PTO_TARGET; empty: all that this machine has
};
const Settings& settings();

struct SettingInfo {
  std::string name, type, fallback, doc;
};
const std::vector<SettingInfo>& all_settings();

}  // namespace pto
