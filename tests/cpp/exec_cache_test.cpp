// The cache on disk: hits, damage, other keys, its bound, many processes at once.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "exec/disk_cache.h"
#include "exec_check.h"

namespace pto::testing {
namespace {

namespace fs = std::filesystem;

class ExecCache : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pto-cache-XXXXXX";
    directory_ = mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(directory_)) all.push_back(entry.path());
    return all;
  }

  std::string directory_;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST_F(ExecCache, KeepsWhatItIsGiven) {
  const DiskCache cache(directory_ + "/made/when/needed");
  EXPECT_FALSE(cache.load("a"));
  cache.store("a", std::string("x\0y", 3));
  cache.store("b", "");
  EXPECT_EQ(cache.load("a"), std::string("x\0y", 3));
  EXPECT_EQ(cache.load("b"), "");
  cache.store("a", "new");
  EXPECT_EQ(cache.load("a"), "new");
  EXPECT_FALSE(cache.load("c"));
  EXPECT_FALSE(DiskCache("").load("a"));
}

TEST_F(ExecCache, DamagedEntriesAreNone) {
  const DiskCache cache(directory_);
  cache.store("key", std::string(300, 'v'));
  const fs::path path = cache.path_of("key");
  const std::string good = contents(path);
  for (size_t at = 0; at < good.size(); at += 5) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    write(path, bad);
    EXPECT_FALSE(cache.load("key")) << "byte " << at;
    write(path, good.substr(0, at));
    EXPECT_FALSE(cache.load("key")) << "cut at " << at;
  }
  write(path, good + "more");
  EXPECT_FALSE(cache.load("key"));
  // Another key's entry under this name.
  cache.store("other", "value");
  fs::copy_file(cache.path_of("other"), path, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.load("key"));
  write(path, good);
  EXPECT_EQ(cache.load("key"), std::string(300, 'v'));
}

TEST_F(ExecCache, StaysBelowItsBound) {
  const DiskCache cache(directory_, 64 << 10);
  for (int i = 0; i < 400; i++) cache.store("key" + std::to_string(i), std::string(1000, 'v'));
  int64_t total = 0;
  for (const auto& f : files()) total += static_cast<int64_t>(fs::file_size(f));
  EXPECT_LT(total, (64 << 10) + 64 * 1100);   // what comes between two looks at the directory
  EXPECT_GT(total, 16 << 10);
}

TEST_F(ExecCache, DirectoriesThatCannotBeWrittenAreNoErrors) {
  write(directory_ + "/file", "");
  const DiskCache cache(directory_ + "/file/below");
  cache.store("a", "x");
  EXPECT_FALSE(cache.load("a"));
}

// In processes of their own, where no kernel is in memory yet.
Graph small_graph() {
  const Value x = input("x", {var("B"), 24});
  return graph_of({x}, {call("softmax", {add(mul(x, 3.0), 1.25)}, {{"axis", int64_t{-1}}})[0]});
}

CompileOptions cached_in(const std::string& directory) {
  CompileOptions options;
  options.cache_dir = directory;
  return options;
}

// Exit status: what failed, or 0. `compiled` and `hits` are what is expected; -1: anything.
int run_small(const CompileOptions& options, int64_t compiled, int64_t hits) {
  try {
    const auto bx = filled(DType::F32, {5, 24}, 4);
    const Graph graph = small_graph();
    const auto want = interpret(graph, {bx});
    const int64_t compiled_before = counters().kernels_compiled, hits_before = counters().disk_hits;
    const auto got = compile(graph, options)->run({bx});
    for (int64_t i = 0; i < want[0]->elements(); i++)
      if (std::fabs(static_cast<float*>(got[0]->data)[i] - static_cast<float*>(want[0]->data)[i]) > 1e-5)
        return 2;
    if (compiled >= 0 && counters().kernels_compiled - compiled_before != compiled) return 3;
    if (hits >= 0 && counters().disk_hits - hits_before != hits) return 4;
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 5;
  }
}

template <class F>
pid_t start(F f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST_F(ExecCache, SecondProcessCompilesNothing) {
  const CompileOptions options = cached_in(directory_);
  EXPECT_EQ(status_of(start([&] { return run_small(options, 1, 0); })), 0);
  EXPECT_EQ(status_of(start([&] { return run_small(options, 0, 1); })), 0);
  CompileOptions other = options;   // another machine's entries are not this one's
  other.target.features += other.target.features.empty() ? "+sse4.2" : ",+sse4.2";
  EXPECT_EQ(status_of(start([&] { return run_small(other, 1, 0); })), 0);
}

TEST_F(ExecCache, DamagedKernelsAreRebuilt) {
  const CompileOptions options = cached_in(directory_);
  ASSERT_EQ(status_of(start([&] { return run_small(options, 1, 0); })), 0);
  ASSERT_EQ(files().size(), 1u);
  const fs::path path = files()[0];
  const std::string good = contents(path);
  std::string bad = good;
  bad[bad.size() / 2] ^= 1;
  for (const std::string& damaged :
       {bad, good.substr(0, good.size() / 2), std::string(), std::string(5000, 'x')}) {
    write(path, damaged);
    EXPECT_EQ(status_of(start([&] { return run_small(options, 1, 0); })), 0);
    EXPECT_EQ(status_of(start([&] { return run_small(options, 0, 1); })), 0);
  }
}

TEST_F(ExecCache, EightProcessesAtOnce) {
  const CompileOptions options = cached_in(directory_);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; i++) children.push_back(start([&] { return run_small(options, -1, -1); }));
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(status_of(start([&] { return run_small(options, 0, 1); })), 0);
  EXPECT_EQ(files().size(), 1u);   // no temporary file is left
}

}  // namespace
}  // namespace pto::testing
