#pragma once
// Waiting for an atomic to change: spin for what is usually there within microseconds, then park in
// the kernel. To be woken takes tens of microseconds, so that those who wait for work in progress are
// more patient than those who are idle: else both sides of short regions would park every time.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace pto {

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A word that one side advances and others wait on. Waiters register before they park, so that
// advancing costs no system call while nobody is parked.
class alignas(64) Signal {
 public:
  int32_t load() const { return word_.load(std::memory_order_acquire); }

  // One side at a time.
  void advance() {
    word_.store(word_.load(std::memory_order_relaxed) + 1);  // ordered before the load of parked_
    if (parked_.load() > 0) word_.notify_all();
  }

  // Return when the word differs from `old`; what was written before advance() is visible then.
  void wait_idle(int32_t old) { wait(old, std::chrono::microseconds(20)); }
  void wait_busy(int32_t old) { wait(old, std::chrono::milliseconds(2)); }

 private:
  void wait(int32_t old, std::chrono::nanoseconds patience) {
    for (int i = 0; i < 64; i++) {
      if (load() != old) return;
      cpu_relax();
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::chrono::nanoseconds waited{0}; waited < patience;
         waited = std::chrono::steady_clock::now() - start) {
      for (int i = 0; i < 16; i++) {
        if (load() != old) return;
        cpu_relax();
      }
      // The one that is waited for may need this processor.
      if (waited > std::chrono::microseconds(20)) sched_yield();
    }
    parked_.fetch_add(1);
    while (word_.load() == old) word_.wait(old);
    parked_.fetch_sub(1);
  }

  std::atomic<int32_t> word_{0};
  std::atomic<int32_t> parked_{0};
};

}  // namespace pto
