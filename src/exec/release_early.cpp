#include "exec/release_early.h"

#include <algorithm>
#include <queue>

#include "base/extents.h"

namespace pto {
namespace {

constexpr int64_t kLeastBytes = 1 << 16;   // of what a step frees

class Order {
 public:
  explicit Order(const Program& p)
      : p_(p),
        bytes_(guessed_bytes(p)),
        waits_(p.steps.size()),
        frees_(p.steps.size()),
        takes_(p.steps.size()),
        done_(p.steps.size()),
        readers_(p.buffers.size()),
        left_(p.buffers.size()),
        last_(p.buffers.size()) {
    std::vector<int> writer(p.buffers.size(), -1);
    int before = -1;   // the last step that keeps its place among others of its kind
    followers_.resize(p.steps.size());
    for (int s = 0; s < static_cast<int>(p.steps.size()); s++) {
      const Step& step = p.steps[s];
      for (const int b : operands(step)) {
        readers_[b].push_back(s);
        left_[b]++;
        last_[b] ^= s;
        if (writer[b] >= 0) waits_[s]++;
      }
      if (step.kind != StepKind::Launch && step.kind != StepKind::Copy) {
        if (before >= 0) {
          followers_[before].push_back(s);
          waits_[s]++;
        }
        before = s;
      }
      for (const int b : step.outputs) {
        writer[b] = s;
        takes_[s] += weight(b);
      }
    }
    for (int b = 0; b < static_cast<int>(p.buffers.size()); b++)
      if (left_[b] == 1) frees_[last_[b]] += weight(b);
  }

  std::vector<int> run() {
    for (int s = 0; s < static_cast<int>(p_.steps.size()); s++) {
      if (!done_[s]) take(s);
      while (!early_.empty()) {
        const int next = early_.top();
        early_.pop();
        if (!done_[next]) take(next);
      }
    }
    return std::move(order_);
  }

 private:
  static std::vector<int> operands(const Step& step) {
    std::vector<int> list = step.inputs;
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  int64_t weight(int b) const { return p_.buffers[b].kind == BufferKind::Temp ? bytes_[b] : 0; }

  void take(int s) {
    done_[s] = true;
    order_.push_back(s);
    for (const int b : operands(p_.steps[s])) {
      last_[b] ^= s;
      if (--left_[b] != 1) continue;
      frees_[last_[b]] += weight(b);
      look_at(last_[b]);
    }
    for (const int b : p_.steps[s].outputs)
      for (const int reader : readers_[b]) {
        waits_[reader]--;
        look_at(reader);
      }
    for (const int follower : followers_[s]) {
      waits_[follower]--;
      look_at(follower);
    }
  }

  void look_at(int s) {
    if (!done_[s] && waits_[s] == 0 && frees_[s] >= std::max(takes_[s], kLeastBytes)) early_.push(s);
  }

  const Program& p_;
  std::vector<int64_t> bytes_;
  std::vector<int> waits_;                     // per step: operands that are not there yet
  std::vector<int64_t> frees_, takes_;         // per step
  std::vector<bool> done_;
  std::vector<std::vector<int>> readers_, followers_;
  std::vector<int> left_, last_;  // per buffer: readers to come, and all of them by exclusive or
  std::priority_queue<int, std::vector<int>, std::greater<>> early_;
  std::vector<int> order_;
};

}  // namespace

std::vector<int64_t> guessed_bytes(const Program& program) {
  Sizes guess;
  for (Symbol s : program.sizes) guess[s] = 64;
  std::vector<int64_t> all;
  for (const auto& b : program.buffers) {
    auto shape = eval_shape(b.shape, guess);
    for (auto& n : shape) n = std::max<int64_t>(n, 0);
    all.push_back(std::min(bytes_of(b.dtype, shape), int64_t{1} << 40));
  }
  return all;
}

void release_early(Program& program) {
  std::vector<Step> steps;
  for (const int s : Order(program).run()) steps.push_back(std::move(program.steps[s]));
  program.steps = std::move(steps);
}

}  // namespace pto
