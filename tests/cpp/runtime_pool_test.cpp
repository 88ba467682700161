#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "runtime/cpu/allocator.h"
#include "runtime/cpu/pool.h"

namespace pto {
namespace {

TEST(Pool, EveryWorkerRunsOnce) {
  for (int workers : {1, 2, 3, 4, 2, 1}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(workers));
    run_parallel(workers, 0, 0, nullptr, [&](pto_worker& w) {
      EXPECT_EQ(w.count, workers);
      seen[static_cast<size_t>(w.index)]++;
    });
    for (auto& n : seen) EXPECT_EQ(n, 1);
  }
}

TEST(Pool, BarriersOrderWrites) {
  constexpr int kWorkers = 3, kRounds = 2000;
  std::vector<int> slots(kWorkers * 16, 0);  // not atomic: the barrier must order the accesses
  run_parallel(kWorkers, 0, 0, nullptr, [&](pto_worker& w) {
    for (int round = 1; round <= kRounds; round++) {
      slots[static_cast<size_t>(w.index) * 16] = round;
      w.barrier(&w);
      for (int i = 0; i < kWorkers; i++) ASSERT_EQ(slots[static_cast<size_t>(i) * 16], round);
      w.barrier(&w);
    }
  });
}

TEST(Pool, ScratchIsAlignedAndShared) {
  std::mutex mutex;
  for (int64_t bytes : {100, 5000, 64, 1 << 20}) {
    std::set<char*> shared, own;
    run_parallel(3, bytes, bytes, nullptr, [&](pto_worker& w) {
      std::memset(w.scratch, static_cast<int>(w.index), static_cast<size_t>(bytes));
      std::lock_guard lock(mutex);
      std::memset(w.shared, 1, static_cast<size_t>(bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(w.shared) % 64, 0u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(w.scratch) % 64, 0u);
      shared.insert(w.shared);
      own.insert(w.scratch);
    });
    EXPECT_EQ(shared.size(), 1u);
    EXPECT_EQ(own.size(), 3u);
  }
}

TEST(Pool, NestedAndSecondCallersRunAlone) {
  run_parallel(2, 64, 64, nullptr, [&](pto_worker& outer) {
    run_parallel(2, 64, 64, nullptr, [&](pto_worker& inner) {
      EXPECT_EQ(inner.count, 1);
      EXPECT_NE(inner.scratch, outer.scratch);
      EXPECT_NE(inner.shared, outer.shared);
      inner.barrier(&inner);
      run_parallel(2, 64, 64, nullptr,
                   [&](pto_worker& innermost) { EXPECT_NE(innermost.scratch, inner.scratch); });
    });
    outer.barrier(&outer);
  });
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; t++)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; i++)
        run_parallel(2, 64, 64, nullptr, [&](pto_worker& w) {
          w.barrier(&w);
          if (w.index == 0) total++;
        });
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(total, 900);
}

TEST(Pool, ExceptionsOfWorkerZeroPass) {
  for (int i = 0; i < 50; i++) {
    EXPECT_THROW(run_parallel(3, 0, 0, nullptr,
                              [&](pto_worker& w) {
                                w.barrier(&w);
                                if (w.index == 0) throw std::runtime_error("body");
                                w.barrier(&w);
                                w.barrier(&w);
                              }),
                 std::runtime_error);
    std::atomic<int> n{0};
    run_parallel(3, 0, 0, nullptr, [&](pto_worker& w) {
      n++;
      w.barrier(&w);
      EXPECT_EQ(n, 3);
    });
  }
}

TEST(Pool, ParkedWorkersWakeUp) {
  for (int i = 0; i < 5; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> n{0};
    run_parallel(3, 0, 0, nullptr, [&](pto_worker& w) {
      if (w.index == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      w.barrier(&w);
      n++;
    });
    EXPECT_EQ(n, 3);
  }
}

// ThreadSanitizer does not follow a fork of a process with threads.
#if !defined(__SANITIZE_THREAD__)
TEST(Pool, WorksInAForkedChild) {
  run_parallel(2, 0, 0, nullptr, [](pto_worker&) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    std::atomic<int> n{0};
    run_parallel(2, 128, 128, nullptr, [&](pto_worker& w) {
      n++;
      w.barrier(&w);
    });
    _exit(n == 2 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

// Another library may flush subnormals or round otherwise in this thread.
TEST(Pool, FloatingStateIsTheDefaultInsideAndTheCallersOutside) {
  const int before = std::fegetround();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
  for (int workers : {1, 3}) {
    std::atomic<int> right{0};
    run_parallel(workers, 0, 0, nullptr, [&](pto_worker&) {
      const volatile float one = 1, tiny = 1e-40f;
      right += one + tiny == one && tiny * one != 0;
    });
    EXPECT_EQ(right, workers);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    EXPECT_EQ(std::fetestexcept(FE_INEXACT), 0);
  }
  std::fesetround(before);
}

TEST(Pool, RefusesSenselessNumbersOfThreads) {
  const int before = num_threads();
  EXPECT_GE(before, 1);
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_THROW(set_num_threads(1025), Error);
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(before);
}

// The best of many short runs: other processes may hold the processors.
TEST(Pool, PrintsLatencies) {
  constexpr int kRuns = 200, kRounds = 100;
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  double barrier = 1e9, region = 1e9;
  for (int run = 0; run < kRuns; run++) {
    run_parallel(2, 0, 0, nullptr, [&](pto_worker& w) {
      w.barrier(&w);
      const auto start = now();
      for (int i = 0; i < kRounds; i++) w.barrier(&w);
      if (w.index == 0) barrier = std::min(barrier, Nanoseconds(now() - start).count() / kRounds);
    });
    const auto start = now();
    for (int i = 0; i < kRounds; i++) run_parallel(2, 0, 0, nullptr, [](pto_worker&) {});
    region = std::min(region, Nanoseconds(now() - start).count() / kRounds);
  }
  std::printf("barrier %.0f ns, region %.0f ns\n", barrier, region);
}

TEST(Allocator, ReusesAlignsAndCounts) {
  trim_allocator();
  const int64_t before = allocator_stats().in_use_bytes;
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{64}, int64_t{65}, int64_t{1000}, int64_t{100000},
                        int64_t{2} << 20, (int64_t{5} << 20) + 3}) {
    void* first = nullptr;
    {
      auto p = allocate(bytes);
      first = p.get();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
      std::memset(first, 7, static_cast<size_t>(bytes));
      EXPECT_EQ(allocator_stats().in_use_bytes, before + bytes);
    }
    EXPECT_EQ(allocator_stats().in_use_bytes, before);
    EXPECT_EQ(allocate(bytes).get(), first);
  }
  EXPECT_GT(allocator_stats().cached_bytes, 0);
  trim_allocator();
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
}

TEST(Allocator, CacheIsBounded) {
  trim_allocator();
  for (int i = 0; i < 40; i++) {
    std::vector<std::shared_ptr<void>> blocks;
    for (int j = 0; j < 4; j++) blocks.push_back(allocate((int64_t{64} << 20) + (int64_t{i} << 23)));
  }
  EXPECT_LE(allocator_stats().cached_bytes, int64_t{1} << 30);
  trim_allocator();
}

TEST(Allocator, PeakAndRefusal) {
  reset_allocator_peak();
  const int64_t before = allocator_stats().in_use_bytes;
  {
    auto a = allocate(1000), b = allocate(3000);
  }
  EXPECT_EQ(allocator_stats().peak_bytes, before + 4000);
  EXPECT_THROW(allocate(int64_t{1} << 60), Error);
  EXPECT_EQ(allocator_stats().in_use_bytes, before);
}

TEST(Allocator, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; i++) {
        auto p = allocate((i * 37 + t) % 5000);
        std::memset(p.get(), t, static_cast<size_t>((i * 37 + t) % 5000));
      }
    });
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace pto
