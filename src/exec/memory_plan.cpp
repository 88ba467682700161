// Places of temporaries in one arena: first fit by the time in which they are alive.
#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/extents.h"
#include "exec/program.h"
#include "ops/control.h"

namespace pto {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw Error("memory", "the program needs more memory than there is");
  return sum;
}

int64_t bytes_of(const ProgramBuffer& b, const Sizes& sizes) {
  const int64_t bytes = pto::bytes_of(b.dtype, eval_shape(b.shape, sizes));
  if (bytes > kMostBytes)
    throw Error("memory", b.name.str() + " of shape " + shape_text(b.shape) + " is larger than any memory");
  return bytes;
}

// Something that needs a place while the steps first .. last run: a buffer, or the workspace of a step.
struct Life {
  int64_t first, last, bytes;
  size_t number;
  bool workspace;
  int64_t& offset(MemoryPlan& plan) const {
    return workspace ? plan.workspaces[number] : plan.offsets[number];
  }
  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
  std::string name(const Program& p) const {
    return workspace ? "step " + std::to_string(number) : p.buffers[number].name.str();
  }
};

// All that needs one. The plan has no places yet, and its other numbers.
std::vector<Life> lives_of(const Program& program, const Sizes& sizes, MemoryPlan& plan) {
  plan.offsets.assign(program.buffers.size(), -1);
  plan.workspaces.assign(program.steps.size(), -1);
  std::vector<Life> lives;
  for (size_t i = 0; i < program.buffers.size(); i++) {
    const ProgramBuffer& b = program.buffers[i];
    const int64_t bytes = bytes_of(b, sizes);
    switch (b.kind) {
      case BufferKind::Input: plan.input_bytes = add(plan.input_bytes, bytes); break;
      case BufferKind::Constant: plan.constant_bytes = add(plan.constant_bytes, bytes); break;
      case BufferKind::Output: plan.output_bytes = add(plan.output_bytes, bytes); break;
      case BufferKind::Temp: break;
    }
    lives.push_back({-1, -1, placed_bytes(b, sizes), i, false});
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
      lives.push_back({now, now, bytes, s, true});
  }
  std::erase_if(lives, [&](const Life& l) {
    return l.first < 0 || (!l.workspace && program.buffers[l.number].kind != BufferKind::Temp);
  });
  return lives;
}

// Largest first; each at the lowest offset where it meets nothing that lives at the same time. Gives the end.
int64_t place(std::vector<Life> lives, MemoryPlan& plan) {
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  std::vector<const Life*> placed;  // by offset
  int64_t end = 0;
  for (const auto& life : lives) {
    int64_t offset = 0;
    for (const Life* other : placed) {
      if (!other->meets(life)) continue;
      if (other->offset(plan) >= offset + life.bytes) break;
      offset = std::max(offset, other->offset(plan) + other->bytes);
    }
    life.offset(plan) = offset;
    end = std::max(end, add(offset, life.bytes));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &life,
                         [&](const Life* a, const Life* b) { return a->offset(plan) < b->offset(plan); }),
        &life);
  }
  return end;
}

bool within(const Sizes& some, const Sizes& all) {
  return std::all_of(some.begin(), some.end(), [&](const auto& size) {
    const auto it = all.find(size.first);
    return it != all.end() && it->second == size.second;
  });
}

void add_symbols(const Program& program, std::set<Symbol>& symbols) {
  for (const auto& b : program.buffers)
    for (const auto& size : b.shape)
      visit(size, [&](const Expr& e) {
        if (e.is_var()) symbols.insert(e.symbol());
      });
  for (const auto& s : program.steps)
    for (const auto& inner : s.programs) add_symbols(*inner, symbols);
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
  for (const auto& fixed : program.plans)
    if (within(fixed.sizes, sizes)) return fixed.plan;
  MemoryPlan plan;
  plan.arena_bytes = place(lives_of(program, sizes, plan), plan);
  return plan;
}

int64_t placed_bytes(const ProgramBuffer& buffer, const Sizes& sizes) {
  return aligned(std::max<int64_t>(bytes_of(buffer, sizes), 1));
}

std::vector<Symbol> plan_symbols(const Program& program) {
  std::set<Symbol> symbols;
  add_symbols(program, symbols);
  std::vector<Symbol> list(symbols.begin(), symbols.end());
  std::sort(list.begin(), list.end(), [](Symbol a, Symbol b) { return a.str() < b.str(); });
  return list;
}

Program with_plans(Program program, const Sizes& sizes) {
  for (auto& s : program.steps)
    for (auto& inner : s.programs) inner = std::make_shared<const Program>(with_plans(*inner, sizes));
  FixedPlan fixed;
  for (Symbol s : plan_symbols(program)) fixed.sizes[s] = sizes.at(s);
  fixed.plan = plan_memory(program, sizes);
  program.plans = {fixed};
  return program;
}

std::string fault_of(const Program& program, const FixedPlan& fixed) {
  for (Symbol s : plan_symbols(program))
    if (!fixed.sizes.count(s)) return "no size is given for " + s.str();
  MemoryPlan given = fixed.plan, own;
  const auto lives = lives_of(program, fixed.sizes, own);
  if (given.offsets.size() != own.offsets.size() || given.workspaces.size() != own.workspaces.size())
    return "it is a plan of another program";
  const std::tuple<const char*, int64_t, int64_t> totals[] = {
      {"inputs", given.input_bytes, own.input_bytes},
      {"outputs", given.output_bytes, own.output_bytes},
      {"constants", given.constant_bytes, own.constant_bytes}};
  for (const auto& [what, says, are] : totals)
    if (says != are)
      return std::string(what) + " take " + std::to_string(are) + " bytes, not " + std::to_string(says);
  for (const auto& life : lives) {
    const int64_t offset = life.offset(given);
    const std::string name = life.name(program);
    if (offset < 0) return name + " has no place";
    if (offset % kAlignment != 0)
      return name + " does not begin at a multiple of " + std::to_string(kAlignment);
    if (offset > given.arena_bytes - life.bytes) return name + " ends beyond the arena";
    for (const auto& other : lives) {
      if (&other == &life) break;
      if (life.meets(other) && other.offset(given) < offset + life.bytes &&
          offset < other.offset(given) + other.bytes)
        return other.name(program) + " and " + name + " overlap, and are alive at the same step " +
               std::to_string(std::max(life.first, other.first));
    }
    life.offset(own) = offset;
  }
  if (own.offsets != given.offsets || own.workspaces != given.workspaces)
    return "something is placed that needs no place";
  return "";
}

}  // namespace pto
