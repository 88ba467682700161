#include "runtime/cpu/pool.h"

#include <pthread.h>

#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "runtime/cpu/wait.h"

namespace pto {
namespace {

// Kernels run with the default floating-point state (nearest even, subnormals kept, no traps), whatever
// the caller or another library has set; the caller's state, flags included, is as before afterwards.
class FloatingState {
 public:
#if defined(__x86_64__)
  static constexpr uint32_t kDefault = 0x1F80;
  FloatingState() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(kDefault); }
  ~FloatingState() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  uint32_t saved_;
#elif defined(__aarch64__)
  FloatingState() : saved_(__builtin_aarch64_get_fpcr()) { __builtin_aarch64_set_fpcr(0); }
  ~FloatingState() { __builtin_aarch64_set_fpcr(saved_); }

 private:
  uint32_t saved_;
#endif
};

// A block of memory that is kept and grown; its contents are not.
class Scratch {
 public:
  char* at_least(int64_t bytes) {
    if (bytes > bytes_) {
      block_.reset();
      bytes_ = 0;
      block_ = allocate(bytes);
      bytes_ = bytes;
    }
    return static_cast<char*>(block_.get());
  }

 private:
  std::shared_ptr<void> block_;
  int64_t bytes_ = 0;
};

// The last to arrive opens the barrier for all; the number of openings is the sense.
class Barrier {
 public:
  void reset(int32_t count) {
    count_ = count;
    arrived_.store(0, std::memory_order_relaxed);
  }
  void arrive_and_wait() {
    const int32_t old = opened_.load();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      arrived_.store(0, std::memory_order_relaxed);
      opened_.advance();
    } else {
      opened_.wait_busy(old);
    }
  }
  // For those who wait for somebody that will not come.
  void open() { opened_.advance(); }

 private:
  int32_t count_ = 1;
  alignas(64) std::atomic<int32_t> arrived_{0};
  Signal opened_;
};

void no_barrier(pto_worker*) {}

class Pool {
 public:
  // The pool of this process; nullptr if it serves another thread.
  static Pool* lease();
  void release() { leased_.store(false, std::memory_order_release); }

  void run(int workers, int64_t shared_bytes, int64_t scratch_bytes, int32_t* error,
           const std::function<void(pto_worker&)>& body);

 private:
  struct Slot {
    Signal go;        // advanced when there is work
    pto_worker worker{};
    Scratch scratch;
  };

  void start_threads(int workers);
  void serve(Slot& slot);
  static void barrier(pto_worker* worker);

  std::deque<Slot> slots_;  // one a worker, the caller's first; a deque never moves its elements
  std::atomic<bool> leased_{false};
  Scratch shared_;
  const std::function<void(pto_worker&)>* body_ = nullptr;
  Barrier barrier_;
  // After an exception in worker 0 the others run to their end without waiting for it.
  std::atomic<bool> abandoned_{false};
  alignas(64) std::atomic<int32_t> running_{0};
  Signal finished_;
};

// Replaced in a forked child, where the threads of the old one do not exist.
std::atomic<Pool*> the_pool{nullptr};

Pool* Pool::lease() {
  Pool* pool = the_pool.load(std::memory_order_acquire);
  if (!pool) {
    static const bool registered [[maybe_unused]] = [] {
      pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
      return true;
    }();
    auto* made = new Pool;  // never destroyed: its threads are parked in it when the process ends
    if (the_pool.compare_exchange_strong(pool, made))
      pool = made;
    else
      delete made;
  }
  return pool->leased_.exchange(true, std::memory_order_acquire) ? nullptr : pool;
}

void Pool::start_threads(int workers) {
  if (slots_.empty()) slots_.emplace_back();
  while (static_cast<int>(slots_.size()) < workers) {
    Slot& slot = slots_.emplace_back();
    try {
      std::thread([this, &slot] { serve(slot); }).detach();
    } catch (const std::system_error&) {  // no more threads: fewer workers do the work
      slots_.pop_back();
      return;
    }
  }
}

void Pool::serve(Slot& slot) {
  const FloatingState state;
  for (int32_t seen = 0;; seen++) {
    slot.go.wait_idle(seen);
    (*body_)(slot.worker);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.advance();
  }
}

void Pool::barrier(pto_worker* worker) {
  auto* pool = static_cast<Pool*>(worker->pool);
  if (!pool->abandoned_.load(std::memory_order_relaxed)) pool->barrier_.arrive_and_wait();
}

void Pool::run(int workers, int64_t shared_bytes, int64_t scratch_bytes, int32_t* error,
               const std::function<void(pto_worker&)>& body) {
  start_threads(workers);
  workers = std::min(workers, static_cast<int>(slots_.size()));
  char* shared = shared_.at_least(shared_bytes);
  for (int i = 0; i < workers; i++)
    slots_[i].worker = {i, workers, barrier, shared, slots_[i].scratch.at_least(scratch_bytes), error, this};
  body_ = &body;
  barrier_.reset(workers);
  running_.store(workers - 1, std::memory_order_relaxed);
  const int32_t finished = finished_.load();
  for (int i = 1; i < workers; i++) slots_[i].go.advance();
  std::exception_ptr thrown;
  try {
    body(slots_[0].worker);
  } catch (...) {
    thrown = std::current_exception();
    abandoned_.store(true, std::memory_order_relaxed);
    // Some wait at the barrier already, or arrive there before they see the flag.
    while (running_.load(std::memory_order_acquire) > 0) {
      barrier_.open();
      std::this_thread::yield();
    }
  }
  if (workers > 1) finished_.wait_busy(finished);
  abandoned_.store(false, std::memory_order_relaxed);
  if (thrown) std::rethrow_exception(thrown);
}

// Blocks of a thread that runs alone, one pair a depth of nesting.
struct Alone {
  std::deque<std::pair<Scratch, Scratch>> blocks;
  size_t depth = 0;
};

void run_alone(int64_t shared_bytes, int64_t scratch_bytes, int32_t* error,
               const std::function<void(pto_worker&)>& body) {
  thread_local Alone alone;
  struct Depth {
    ~Depth() { alone.depth--; }
  };
  if (alone.blocks.size() == alone.depth) alone.blocks.emplace_back();
  auto& [shared, scratch] = alone.blocks[alone.depth];
  pto_worker worker{0,     1,      no_barrier, shared.at_least(shared_bytes), scratch.at_least(scratch_bytes),
                    error, nullptr};
  alone.depth++;
  const Depth restore;
  body(worker);
}

}  // namespace

void run_parallel(int workers, int64_t shared_bytes, int64_t scratch_bytes, int32_t* error,
                  const std::function<void(pto_worker&)>& body) {
  const FloatingState state;
  Pool* pool = workers > 1 ? Pool::lease() : nullptr;
  if (!pool) return run_alone(shared_bytes, scratch_bytes, error, body);
  struct Lease {
    Pool* pool;
    ~Lease() { pool->release(); }
  };
  const Lease lease{pool};
  pool->run(workers, shared_bytes, scratch_bytes, error, body);
}

}  // namespace pto
