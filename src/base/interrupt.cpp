#include "base/interrupt.h"

#include <chrono>

namespace pto {
namespace {

void (*installed)() = nullptr;

}  // namespace

void set_interrupt_check(void (*check)()) { installed = check; }

void check_interrupt() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point next{};
  if (!installed) return;
  const auto now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(20);
  installed();
}

}  // namespace pto
