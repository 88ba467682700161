// Places of temporaries in one arena: first fit by the time in which they are alive.
#include <algorithm>

#include "base/error.h"
#include "exec/program.h"
#include "ops/control.h"

namespace pto {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Error("memory", "the program needs more memory than there is");
  return sum;
}

int64_t bytes_of(const ProgramBuffer& b, const Sizes& sizes) {
  int64_t bytes = size_of(b.dtype);
  for (int64_t extent : eval_shape(b.shape, sizes))
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > (int64_t{1} << 56))
      throw Error("memory", b.name.str() + " of shape " + shape_text(b.shape) + " is larger than any memory");
  return bytes;
}

// Something that needs a place while the steps first .. last run.
struct Life {
  int64_t first, last, bytes;
  int64_t* offset;
};

// Largest first; each at the lowest offset where it meets nothing that lives at the same time.
int64_t place(std::vector<Life> lives) {
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  std::vector<const Life*> placed;   // by offset
  int64_t end = 0;
  for (const auto& life : lives) {
    int64_t offset = 0;
    for (const Life* other : placed) {
      if (other->last < life.first || life.last < other->first) continue;
      if (*other->offset >= offset + life.bytes) break;
      offset = std::max(offset, *other->offset + other->bytes);
    }
    *life.offset = offset;
    end = std::max(end, add(offset, life.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &life,
                                   [](const Life* a, const Life* b) { return *a->offset < *b->offset; }),
                  &life);
  }
  return end;
}

}  // namespace

Workspace plan_workspace(const Program& program, const Step& step, const Sizes& sizes) {
  Workspace w;
  if (step.programs.empty()) return w;
  auto reserve = [&](int64_t bytes) {
    const int64_t at = w.bytes;
    w.bytes = add(w.bytes, aligned(bytes));
    return at;
  };
  size_t state = 0;
  if (step.kind == StepKind::While) {
    state = step.outputs.size();
    w.condition = reserve(1);
  } else if (step.kind == StepKind::Scan) {
    state = static_cast<const ScanLoopAttrs&>(*step.attrs).carries;
  }
  for (size_t i = 0; i < state; i++)
    w.state.push_back(reserve(bytes_of(program.buffers[step.outputs[i]], sizes)));
  int64_t arena = 0;
  for (const auto& p : step.programs) arena = std::max(arena, plan_memory(*p, sizes).arena_bytes);
  w.arena = reserve(arena);
  return w;
}

MemoryPlan plan_memory(const Program& program, const Sizes& sizes) {
  MemoryPlan plan;
  plan.offsets.assign(program.buffers.size(), -1);
  plan.workspaces.assign(program.steps.size(), -1);
  std::vector<Life> lives(program.buffers.size(), {-1, -1, 0, nullptr});
  for (size_t i = 0; i < program.buffers.size(); i++) {
    const int64_t bytes = bytes_of(program.buffers[i], sizes);
    switch (program.buffers[i].kind) {
      case BufferKind::Input: plan.input_bytes = add(plan.input_bytes, bytes); break;
      case BufferKind::Constant: plan.constant_bytes = add(plan.constant_bytes, bytes); break;
      case BufferKind::Output: plan.output_bytes = add(plan.output_bytes, bytes); break;
      case BufferKind::Temp: lives[i] = {-1, -1, aligned(std::max<int64_t>(bytes, 1)), &plan.offsets[i]}; break;
    }
  }
  for (size_t s = 0; s < program.steps.size(); s++) {
    const auto now = static_cast<int64_t>(s);
    auto touch = [&](int b) {
      if (lives[b].first < 0) lives[b].first = now;
      lives[b].last = now;
    };
    for (int b : program.steps[s].inputs) touch(b);
    for (int b : program.steps[s].outputs) touch(b);
    if (const int64_t bytes = plan_workspace(program, program.steps[s], sizes).bytes; bytes > 0)
      lives.push_back({now, now, bytes, &plan.workspaces[s]});
  }
  std::erase_if(lives, [](const Life& l) { return !l.offset || l.first < 0; });
  plan.arena_bytes = place(std::move(lives));
  return plan;
}

}  // namespace pto
