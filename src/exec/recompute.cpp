#include "exec/recompute.h"

#include <algorithm>
#include <unordered_set>

#include "exec/release_early.h"

namespace pto {
namespace {

// Below these nothing is gained that is worth a launch: bytes of a value, a share of what is in use, steps between
// its uses.
constexpr int64_t kLeastBytes = 1 << 20, kLeastShare = 512, kLeastGap = 12;
constexpr int kRounds = 4;

// One result a launch, each element of it from elements of the operands, without a fold and without a check.
bool pointwise(const Program& p, const Step& s) {
  if (s.kind != StepKind::Launch || s.outputs.size() != 1) return false;
  const auto it = p.kernels.find(s.kernel);
  if (it == p.kernels.end()) return false;
  const Kernel& k = it->second;
  return k.opaque.empty() && k.checks.empty() &&
         std::all_of(k.values.begin(), k.values.end(),
                     [](const TileValue& v) { return v.kind == ValueKind::Map; });
}

// Lives of the temporaries, by step, and what they add up to.
struct Lives {
  std::vector<int64_t> bytes, first, last;  // per buffer; first is -1 if it is no temporary
  std::vector<std::vector<int64_t>> uses;  // per buffer: the steps that read it, ascending
  int64_t peak = 0, peak_step = 0;

  explicit Lives(const Program& p)
      : bytes(guessed_bytes(p)), first(p.buffers.size(), -1), last(first), uses(p.buffers.size()) {
    std::vector<int64_t> change(p.steps.size() + 1);
    for (size_t i = 0; i < p.steps.size(); i++) {
      const auto now = static_cast<int64_t>(i);
      for (const int b : p.steps[i].inputs) {
        if (uses[b].empty() || uses[b].back() != now) uses[b].push_back(now);
        last[b] = now;
      }
      for (const int b : p.steps[i].outputs) {
        if (p.buffers[b].kind == BufferKind::Temp && first[b] < 0) first[b] = now;
        last[b] = std::max(last[b], now);
      }
    }
    for (size_t b = 0; b < p.buffers.size(); b++) {
      if (first[b] < 0) continue;
      change[first[b]] += bytes[b];
      change[last[b] + 1] -= bytes[b];
    }
    int64_t now = 0;
    for (size_t i = 0; i < p.steps.size(); i++) {
      now += change[i];
      if (now > peak) peak = now, peak_step = static_cast<int64_t>(i);
    }
  }
};

class Round {
 public:
  Round(const Program& program, const Lives& lives) : p_(program), l_(lives) {}

  // False if there is nothing to do.
  bool decide() {
    const int64_t peak = l_.peak_step;
    for (int64_t s = 0; s < peak; s++) {
      const Step& step = p_.steps[s];
      if (!pointwise(p_, step)) continue;
      const int b = step.outputs[0];
      if (l_.first[b] != s || l_.last[b] <= peak || l_.bytes[b] < kLeastBytes ||
          l_.bytes[b] < l_.peak / kLeastShare)
        continue;
      const auto next = std::lower_bound(l_.uses[b].begin(), l_.uses[b].end(), peak);
      const int64_t before = next == l_.uses[b].begin() ? s : *(next - 1);
      if (*next == peak || *next - before < kLeastGap) continue;
      again_.push_back({s, *next, b});
    }
    while (drop_what_costs_more()) {
    }
    return !again_.empty();
  }

  Program done() {
    // A value is there again when the first of those that are computed of it is.
    for (auto a = again_.rbegin(); a != again_.rend(); ++a)
      for (const int b : p_.steps[a->step].inputs)
        if (Again* of = find(b)) of->at = std::min(of->at, a->at);
    Program p = p_;
    std::unordered_set<Symbol> names;
    for (const auto& b : p.buffers) names.insert(b.name);
    for (auto& a : again_) {
      ProgramBuffer copy = p.buffers[a.buffer];
      const std::string name = copy.name.str() + "_again";
      copy.name = Symbol(name);
      for (int n = 1; !names.insert(copy.name).second; n++) copy.name = Symbol(name + std::to_string(n));
      a.copy = static_cast<int>(p.buffers.size());
      p.because.push_back(copy.name.str() + ": " + p.buffers[a.buffer].name.str() +
                          " computed again, so that it is not kept until then");
      p.buffers.push_back(std::move(copy));
    }
    std::stable_sort(again_.begin(), again_.end(),
                     [](const Again& a, const Again& b) { return a.at < b.at; });
    index();
    p.steps.clear();
    auto next = again_.begin();
    for (int64_t s = 0; s < static_cast<int64_t>(p_.steps.size()); s++) {
      for (; next != again_.end() && next->at == s; ++next) {
        Step step = p_.steps[next->step];
        replace(step.inputs, s);
        step.outputs = {next->copy};
        p.steps.push_back(std::move(step));
      }
      p.steps.push_back(p_.steps[s]);
      replace(p.steps.back().inputs, s);
    }
    return p;
  }

 private:
  struct Again {
    int64_t step, at;  // which launch, before which step once more
    int buffer, copy = -1;
  };

  void index() {
    of_buffer_.assign(p_.buffers.size(), -1);
    for (size_t i = 0; i < again_.size(); i++) of_buffer_[again_[i].buffer] = static_cast<int>(i);
  }
  Again* find(int buffer) { return of_buffer_[buffer] < 0 ? nullptr : &again_[of_buffer_[buffer]]; }

  void replace(std::vector<int>& operands, int64_t step) {
    for (int& b : operands)
      if (const Again* a = find(b); a && step >= a->at) b = a->copy;
  }

  // A buffer that would have to live longer for those computed of it: is it less than they are?
  bool drop_what_costs_more() {
    index();
    std::vector<int64_t> gained(p_.buffers.size());  // by what has to live on
    auto lives_on = [&](int b, const Again& a) {
      return l_.first[b] >= 0 && l_.last[b] < a.at && !find(b) && l_.last[b] < l_.peak_step;
    };
    auto waits = [&](int b, const Again& a) { return l_.first[b] >= 0 && !find(b) && l_.last[b] < a.at; };
    for (const auto& a : again_)
      for (const int b : p_.steps[a.step].inputs)
        if (lives_on(b, a)) gained[b] += l_.bytes[a.buffer];
    const size_t before = again_.size();
    std::erase_if(again_, [&](const Again& a) {
      const auto& inputs = p_.steps[a.step].inputs;
      int64_t longer = 0;  // of what is alive at the peak, but not until the use
      for (const int b : inputs) {
        if (lives_on(b, a) && gained[b] <= l_.bytes[b]) return true;
        if (waits(b, a) && !lives_on(b, a)) longer += l_.bytes[b];
      }
      return longer > l_.bytes[a.buffer];
    });
    return again_.size() < before;
  }

  const Program& p_;
  const Lives& l_;
  std::vector<Again> again_;  // in the order of the steps
  std::vector<int> of_buffer_;  // per buffer: which of them, or -1
};

}  // namespace

void recompute_cheap(Program& program) {
  for (int i = 0; i < kRounds; i++) {
    const Lives lives(program);
    Round round(program, lives);
    if (lives.peak < kLeastBytes || !round.decide()) return;
    Program next = round.done();
    if (Lives(next).peak >= lives.peak) return;
    program = std::move(next);
  }
}

}  // namespace pto
