/* The interface between generated CPU code and the runtime; plain C, included by generated C too.
 * A kernel runs on every worker of the pool at once (single program, multiple data). */
#ifndef PTO_RUNTIME_CPU_ABI_H
#define PTO_RUNTIME_CPU_ABI_H
#include <stdint.h>

typedef struct pto_worker {
  int64_t index, count;            /* this worker, and how many run the kernel */
  void (*barrier)(struct pto_worker*);
  char* shared;                    /* one block for all workers, 64-byte aligned */
  char* scratch;                   /* one block of its own, 64-byte aligned */
  int32_t* error;                  /* 0, or 1 + the number of the first failed check */
  void* pool;
} pto_worker;

/* buffers: one pointer a parameter; sizes: the size symbols in the kernel's order.
 * A parallel loop of n iterations gives worker w those in [n*w/count, n*(w+1)/count). */
typedef void (*pto_kernel)(void* const* buffers, const int64_t* sizes, pto_worker* worker);

#endif
