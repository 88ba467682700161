// The steps of a program, run.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"
#include "exec/run_plan.h"
#include "exec/steps.h"
#include "ops/control.h"
#include "ops/foreign.h"
#include "runtime/cpu/pool.h"

namespace pto {
namespace {

void no_barrier(pto_worker*) {}

bool flag_at(const void* p) { return *static_cast<const uint8_t*>(p) != 0; }

void* offset(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }

}  // namespace

void RunPlan::run(Frame& frame, char* arena, const Sizes& sizes) const {
  if (!dynamic_.empty() || !nested_.empty()) update_sizes(frame, sizes);
  execute(frame, arena, sizes);
}

void RunPlan::update_sizes(Frame& frame, const Sizes& sizes) const {
  for (const auto& d : dynamic_) frame.sizes[d.position] = eval_size(d.size, sizes);
  for (size_t s = 0; s < nested_.size(); s++)
    for (size_t i = 0; i < nested_[s].size(); i++) nested_[s][i]->update_sizes(*frame.nested[s][i], sizes);
}

void RunPlan::prepare(Frame& frame, char* arena) const {
  for (size_t i = 0; i < memory_.offsets.size(); i++)
    if (memory_.offsets[i] >= 0) frame.buffers[i] = arena + memory_.offsets[i];
  for (const auto& l : launches_) {
    if (!l.kernel) continue;
    void** to = frame.arguments.data() + l.first_argument;
    for (const int b : l.operands) *to++ = frame.buffers[b];
  }
  std::fill(frame.errors.begin(), frame.errors.end(), 0);
}

void RunPlan::execute(Frame& frame, char* arena, const Sizes& sizes) const {
  prepare(frame, arena);
  for (const auto& item : items_) {
    if (item.segment) {
      run_segment(item, frame);
    } else if (program_.steps[item.step].kind == StepKind::Foreign) {
      run_foreign(program_.steps[item.step], frame, sizes);
    } else {
      run_control(item.step, frame, arena, sizes);
    }
  }
}

void RunPlan::run_segment(const Item& item, Frame& frame) const {
  const auto body = [&item, &frame, this](pto_worker& worker) {
    for (size_t i = item.first; i < item.last; i++) {
      const Launch& l = launches_[i];
      if (l.barrier && worker.count > 1) worker.barrier(&worker);
      pto_worker own = worker;
      if (!l.shared || !item.parallel) {
        if (worker.index != 0) continue;
        own.index = 0;
        own.count = 1;
        own.barrier = no_barrier;
      }
      if (l.kernel) {
        own.error = &frame.errors[l.error];
        l.kernel->run(frame.arguments.data() + l.first_argument, frame.sizes.data() + l.first_size, &own);
      } else {
        // In shares of whole lines of the cache.
        const int64_t lines = (l.bytes + 63) / 64;
        const int64_t lo = lines * own.index / own.count * 64;
        const int64_t hi = std::min(lines * (own.index + 1) / own.count * 64, l.bytes);
        if (hi > lo)
          std::memcpy(static_cast<char*>(frame.buffers[l.operands[1]]) + lo,
                      static_cast<const char*>(frame.buffers[l.operands[0]]) + lo,
                      static_cast<size_t>(hi - lo));
      }
    }
  };
  counters().launches += item.kernels;
  int32_t unused = 0;
  run_parallel(item.parallel ? num_threads() : 1, item.shared_bytes, item.private_bytes, &unused,
               [&body](pto_worker& worker) { body(worker); });
  for (size_t i = item.first; i < item.last; i++) {
    const Launch& l = launches_[i];
    const int32_t error = frame.errors[l.error];
    if (error == 0) continue;
    const auto number = static_cast<size_t>(error - 1);
    PTO_CHECK(number < l.kernel->messages.size(), "exec/run",
              "a kernel raised a check that it does not have");
    raise_check(l.kernel->messages[number], check_loc(program_.steps[l.step], number));
  }
}

void RunPlan::run_foreign(const Step& step, Frame& frame, const Sizes& sizes) const {
  std::vector<BufferPtr> inputs;   // the function may keep what it is given
  for (const int b : step.inputs) {
    inputs.push_back(make_buffer(program_.buffers[b].dtype, shapes_[b]));
    std::memcpy(inputs.back()->data, frame.buffers[b], static_cast<size_t>(bytes_[b]));
  }
  const auto results = call_foreign(static_cast<const ForeignAttrs&>(*step.attrs), inputs, sizes, step.loc);
  for (size_t i = 0; i < results.size(); i++)
    std::memcpy(frame.buffers[step.outputs[i]], results[i]->data,
                static_cast<size_t>(bytes_[step.outputs[i]]));
}

void RunPlan::call(size_t step, size_t which, Frame& frame, const std::vector<void*>& inputs,
                   const std::vector<void*>& outputs, char* arena, const Sizes& sizes) const {
  const RunPlan& plan = *nested_[step][which];
  Frame& inner = *frame.nested[step][which];
  const Program& p = plan.program_;
  for (size_t i = 0; i < inputs.size(); i++) inner.buffers[p.inputs[i]] = inputs[i];
  for (size_t i = 0; i < outputs.size(); i++) inner.buffers[p.outputs[i]] = outputs[i];
  plan.execute(inner, arena, sizes);
}

void RunPlan::run_control(size_t number, Frame& frame, char* arena, const Sizes& sizes) const {
  const Step& step = program_.steps[number];
  char* workspace = memory_.workspaces[number] >= 0 ? arena + memory_.workspaces[number] : nullptr;
  if (step.kind == StepKind::While) return run_while(number, frame, workspace, sizes);
  if (step.kind == StepKind::Scan) return run_scan(number, frame, workspace, sizes);
  std::vector<void*> inputs, outputs;
  for (size_t i = 1; i < step.inputs.size(); i++) inputs.push_back(frame.buffers[step.inputs[i]]);
  for (const int b : step.outputs) outputs.push_back(frame.buffers[b]);
  const size_t taken = flag_at(frame.buffers[step.inputs[0]]) ? 0 : 1;
  call(number, taken, frame, inputs, outputs, workspace ? workspace + workspaces_[number].arena : nullptr,
       sizes);
}

// State alternates between the results' buffers and the second places; the last must end in the former.
void RunPlan::run_while(size_t number, Frame& frame, char* workspace, const Sizes& sizes) const {
  const Step& step = program_.steps[number];
  const Workspace& w = workspaces_[number];
  const size_t state = step.outputs.size();
  std::vector<void*> now, places[2];
  for (const int b : step.inputs) now.push_back(frame.buffers[b]);
  for (size_t i = 0; i < state; i++) {
    places[0].push_back(frame.buffers[step.outputs[i]]);
    places[1].push_back(workspace + w.state[i]);
  }
  const std::vector<void*> condition{workspace + w.condition};
  for (size_t turn = 0;; turn ^= 1) {
    check_interrupt();
    call(number, 0, frame, now, condition, workspace + w.arena, sizes);
    if (!flag_at(condition[0])) break;
    call(number, 1, frame, now, places[turn], workspace + w.arena, sizes);
    std::copy(places[turn].begin(), places[turn].end(), now.begin());
  }
  for (size_t i = 0; i < state; i++)
    if (now[i] != places[0][i])
      std::memcpy(places[0][i], now[i], static_cast<size_t>(bytes_[step.outputs[i]]));
}

void RunPlan::run_scan(size_t number, Frame& frame, char* workspace, const Sizes& sizes) const {
  const Step& step = program_.steps[number];
  const auto& a = static_cast<const ScanLoopAttrs&>(*step.attrs);
  const Workspace& w = workspaces_[number];
  const RunPlan& body = *nested_[number][0];
  const int64_t length = eval_size(a.length[0], sizes);
  const auto carries = static_cast<size_t>(a.carries), sequences = static_cast<size_t>(a.sequences);
  std::vector<void*> inputs, outputs;
  for (const int b : step.inputs) inputs.push_back(frame.buffers[b]);
  for (const int b : step.outputs) outputs.push_back(frame.buffers[b]);
  const std::vector<void*> whole_inputs = inputs, whole_outputs = outputs;
  for (int64_t turn = 0; turn < length; turn++) {
    check_interrupt();
    const int64_t at = a.reverse ? length - 1 - turn : turn;
    for (size_t i = 0; i < carries; i++)
      outputs[i] = turn % 2 == 0 ? whole_outputs[i] : workspace + w.state[i];
    for (size_t i = carries; i < carries + sequences; i++)
      inputs[i] = offset(whole_inputs[i], at * body.bytes_[body.program_.inputs[i]]);
    for (size_t i = carries; i < outputs.size(); i++)
      outputs[i] = offset(whole_outputs[i], at * body.bytes_[body.program_.outputs[i]]);
    call(number, 0, frame, inputs, outputs, workspace ? workspace + w.arena : nullptr, sizes);
    std::copy(outputs.begin(), outputs.begin() + static_cast<int64_t>(carries), inputs.begin());
  }
  for (size_t i = 0; i < carries; i++)
    if (inputs[i] != whole_outputs[i])
      std::memcpy(whole_outputs[i], inputs[i], static_cast<size_t>(bytes_[step.outputs[i]]));
}

}  // namespace pto
