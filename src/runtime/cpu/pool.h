#pragma once
// The thread pool: one parallel region at a time, single program, multiple data.
#include <cstdint>
#include <functional>

#include "runtime/cpu/abi.h"

namespace pto {

// Threads that a program may use: PTO_NUM_THREADS, else affinity and cgroup quota.
int num_threads();
void set_num_threads(int n);   // pto::Error unless 1 <= n <= 1024

// Runs `body(worker)` on `workers` workers (this thread is worker 0) and returns when all are
// done. If another thread holds the pool, or workers is 1, this thread runs alone with count 1.
// Workers spin about 20 us for the next region, then park. `shared` and `scratch` blocks of at
// least these sizes are provided (kept and grown by the pool, per thread). After a fork the child
// starts a pool of its own. Exceptions of `body` (worker 0 only may throw) are passed on.
void run_parallel(int workers, int64_t shared_bytes, int64_t scratch_bytes, int32_t* error,
                  const std::function<void(pto_worker&)>& body);

}  // namespace pto
