#pragma once
// A program that runs: kernels are compiled per size class when first met, kept in memory and on
// disk; the arena is planned per tuple of sizes.
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/settings.h"
#include "exec/program.h"
#include "schedule/target.h"

namespace pto {

// Public counters (process-wide), readable from Python: pto.counters(). `size_classes` counts, for
// each program, the combinations of its kernels' classes in which it ran: each may compile kernels. `launches`
// counts kernels that ran, each time they did.
struct Counters {
  std::atomic<int64_t> traces{0}, graphs_compiled{0}, kernels_compiled{0}, size_classes{0}, disk_hits{0},
      launches{0}, runs{0}, compile_microseconds{0};
};
Counters& counters();

struct CompileOptions {
  Target target = host_target();
  std::vector<std::string> passes_off;  // names, of any level
  bool use_disk_cache = true;
  std::string cache_dir = settings().cache_dir;  // empty: nothing is kept on disk
};

class Executable {
 public:
  Executable(Program program, CompileOptions options);
  Executable(const Graph& graph, CompileOptions options);
  ~Executable();
  const Program& program() const;
  const CompileOptions& options() const;

  // Inputs are packed if they are strided; shapes and dtypes are checked (pto::Error). `extra` gives
  // the sizes that shapes do not bind. Returns new buffers. Safe to call from many threads.
  // With PTO_DEBUG=compare the levels are compared on these inputs first (exec/compare.h).
  std::vector<BufferPtr> run(const std::vector<BufferPtr>& inputs, const Sizes& extra = {});

  // For the tools. `level` is "tile", "schedule", "loop", "loop.lowered", "exec" (texts that parse back
  // and run), "c", "llvm", "asm".
  // Sizes choose the class; empty: those of the last run, else a guess of 64 for every symbol.
  std::string text(const std::string& level, const Sizes& sizes = {});
  MemoryPlan memory(const Sizes& sizes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The names of options.passes_off that belong to a level; pto::Error for a name of none.
enum class PassLevel { Graph, Loop };
std::set<std::string> passes_off(const CompileOptions& options, PassLevel level);

// Graph passes, fusion, kernels: the tensor graph to a program (exec/build.cpp), and all the way.
// `places` receives the buffers of values of the graph as it was after its passes.
struct Places {
  Graph graph;
  std::vector<std::pair<Value, int>> buffers;
};
Program build_program(const Graph& graph, const CompileOptions& options = {}, Places* places = nullptr);
std::shared_ptr<Executable> compile(const Graph& graph, const CompileOptions& options = {});

}  // namespace pto
