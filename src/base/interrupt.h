#pragma once
// What takes long asks now and then whether it is to stop: a language above the core may have a signal
// to tell of. Kernels are not interrupted; loops of programs and compilations are, between their parts.

namespace pto {

// Throws if the work is to stop. Installed once, before threads start.
void set_interrupt_check(void (*check)());
// Calls it, at most every 20 ms in each thread. Only where nothing is lost by an exception.
void check_interrupt();

}  // namespace pto
