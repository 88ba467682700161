// Programs, slowly: every step by the interpreter of its kernel's level.
#include <cstring>

#include "base/error.h"
#include "base/points.h"
#include "exec/steps.h"
#include "ops/builder.h"
#include "ops/control.h"
#include "ops/foreign.h"

namespace pto {

void raise_check(const std::string& message, Loc loc) {
  const size_t close = message.find("] ");
  if (!message.starts_with("[") || close == message.npos) throw Error("check", message, loc);
  const auto called = innermost(loc.info());
  ErrorInfo info{.op = called.empty() ? message.substr(1, close - 1) : std::string(called),
                 .message = message.substr(close + 2),
                 .loc = loc};
  constexpr std::string_view kAxis = " for axis ";
  if (const size_t at = message.find(kAxis); at != message.npos) {
    const size_t digits = at + kAxis.size();
    info.label = message.substr(digits, message.find_first_not_of("0123456789", digits) - digits);
  }
  throw Error(std::move(info));
}

Loc check_loc(const Step& step, size_t number) {
  return number < step.check_locs.size() && step.check_locs[number].known() ? step.check_locs[number]
                                                                            : step.loc;
}

const Schedule* fixed_schedule(const Program& root, Symbol kernel, const std::string& size_class) {
  const auto it = root.schedules.find(kernel);
  if (it == root.schedules.end()) return nullptr;
  const Schedule* any = nullptr;
  for (const auto& s : it->second) {
    if (s.size_class == size_class) return &s;
    if (s.size_class.empty()) any = &s;
  }
  return any;
}

namespace {

// The same memory under another shape.
BufferPtr view(const BufferPtr& buffer, std::vector<int64_t> shape) {
  auto result = std::make_shared<Buffer>(*buffer);
  result->shape = std::move(shape);
  result->strides.clear();
  PTO_CHECK(result->elements() == buffer->elements(), "interpret",
            "a buffer is taken as one of another size");
  return result;
}

BufferPtr copy_of(const BufferPtr& buffer) {
  const auto result = make_buffer(buffer->dtype, buffer->shape);
  std::memcpy(result->data, buffer->data, static_cast<size_t>(buffer->bytes()));
  return result;
}

// Element `at` of the leading axis.
BufferPtr slice(const BufferPtr& buffer, int64_t at) {
  auto result = std::make_shared<Buffer>(*buffer);
  result->shape.erase(result->shape.begin());
  result->data = static_cast<char*>(buffer->data) + at * result->bytes();
  return result;
}

class Interpreter {
 public:
  Interpreter(const Program& root, const Sizes& sizes, Watcher* watcher)
      : root_(root), sizes_(sizes), watcher_(watcher) {}

  std::vector<BufferPtr> run(const Program& p, const std::vector<BufferPtr>& inputs) {
    std::vector<BufferPtr> values(p.buffers.size());
    for (size_t i = 0; i < values.size(); i++)
      if (p.buffers[i].kind == BufferKind::Constant) values[i] = packed(p.buffers[i].constant);
    for (size_t i = 0; i < inputs.size(); i++) {
      const auto& b = p.buffers[p.inputs[i]];
      values[p.inputs[i]] = view(packed(inputs[i]), eval_shape(b.shape, sizes_));
    }
    for (const auto& s : p.steps) {
      std::vector<BufferPtr> operands;
      for (int b : s.inputs) operands.push_back(values[b]);
      auto results = step(p, s, operands);
      if (watcher_ && &p == &root_) watcher_->done(s, results);
      for (size_t i = 0; i < results.size(); i++) {
        const auto& b = p.buffers[s.outputs[i]];
        values[s.outputs[i]] = view(results[i], eval_shape(b.shape, sizes_));
      }
    }
    std::vector<BufferPtr> outputs;
    for (int b : p.outputs) outputs.push_back(values[b]);
    return outputs;
  }

 private:
  std::vector<BufferPtr> step(const Program& p, const Step& s, const std::vector<BufferPtr>& operands) {
    switch (s.kind) {
      case StepKind::Launch: return launch(p, s, operands);
      case StepKind::Copy: return {copy_of(operands[0])};
      case StepKind::Foreign: {
        std::vector<BufferPtr> own;   // the function may keep what it is given
        for (const auto& b : operands) own.push_back(copy_of(b));
        return call_foreign(static_cast<const ForeignAttrs&>(*s.attrs), own, sizes_, s.loc);
      }
      case StepKind::Cond: {
        const bool taken = Elements(operands[0]).get(0).to_bool();
        return run(*s.programs[taken ? 0 : 1], {operands.begin() + 1, operands.end()});
      }
      case StepKind::While: {
        auto now = operands;
        while (Elements(run(*s.programs[0], now)[0]).get(0).to_bool()) {
          const auto next = run(*s.programs[1], now);
          std::copy(next.begin(), next.end(), now.begin());
        }
        now.resize(s.outputs.size());
        return now;
      }
      case StepKind::Scan: return scan(p, s, operands);
    }
    return {};
  }

  template <class Params>
  std::vector<BufferPtr> arguments(const Program& p, const Step& s, const std::vector<BufferPtr>& operands,
                                   const Params& params, const Sizes& sizes) {
    std::vector<BufferPtr> all;
    for (size_t i = 0; i < operands.size(); i++)
      all.push_back(view(operands[i], eval_shape(params[i].shape, sizes)));
    for (size_t i = 0; i < s.outputs.size(); i++) {
      const auto& param = params[operands.size() + i];
      all.push_back(make_buffer(p.buffers[s.outputs[i]].dtype, eval_shape(param.shape, sizes)));
    }
    return all;
  }

  std::vector<BufferPtr> launch(const Program& p, const Step& s, const std::vector<BufferPtr>& operands) {
    const Sizes sizes = launch_sizes(s, sizes_);
    std::vector<BufferPtr> all;
    std::string error;
    size_t number = 0;
    if (const auto it = root_.kernels.find(s.kernel); it != root_.kernels.end()) {
      const Kernel& k = it->second;
      all = arguments(p, s, operands, k.params, sizes);
      if (watcher_) watcher_->launch(s, all, sizes);
      if (const Schedule* schedule = fixed_schedule(root_, s.kernel, ""))
        interpret(k, *schedule, all, sizes, &error);
      else
        interpret(k, all, sizes, &error);
      while (number < k.checks.size() && k.checks[number].message != error) number++;
    } else {
      const LoopProgram& l = root_.loops.at(s.kernel);
      all = arguments(p, s, operands, l.params, sizes);
      if (watcher_) watcher_->launch(s, all, sizes);
      interpret(l, all, sizes, &error);
      while (number < l.messages.size() && l.messages[number] != error) number++;
    }
    if (!error.empty()) raise_check(error, check_loc(s, number));
    return {all.begin() + static_cast<int64_t>(operands.size()), all.end()};
  }

  std::vector<BufferPtr> scan(const Program& p, const Step& s, const std::vector<BufferPtr>& operands) {
    const auto& a = static_cast<const ScanLoopAttrs&>(*s.attrs);
    const int64_t length = eval_size(a.length[0], sizes_);
    std::vector<BufferPtr> results(operands.begin(), operands.begin() + a.carries);
    for (size_t i = results.size(); i < s.outputs.size(); i++) {
      const Program& body = *s.programs[0];
      auto shape = eval_shape(body.buffers[body.outputs[i]].shape, sizes_);
      shape.insert(shape.begin(), length);
      results.push_back(make_buffer(p.buffers[s.outputs[i]].dtype, std::move(shape)));
    }
    for (int64_t step = 0; step < length; step++) {
      const int64_t at = a.reverse ? length - 1 - step : step;
      auto given = operands;
      std::copy(results.begin(), results.begin() + a.carries, given.begin());
      for (int64_t i = a.carries; i < a.carries + a.sequences; i++) {
        auto whole = eval_shape(s.programs[0]->buffers[s.programs[0]->inputs[i]].shape, sizes_);
        whole.insert(whole.begin(), length);
        given[i] = slice(view(operands[i], whole), at);
      }
      const auto next = run(*s.programs[0], given);
      for (size_t i = 0; i < next.size(); i++) {
        if (static_cast<int64_t>(i) < a.carries) {
          results[i] = next[i];
        } else if (next[i]->bytes() > 0) {
          std::memcpy(slice(results[i], at)->data, next[i]->data, static_cast<size_t>(next[i]->bytes()));
        }
      }
    }
    return results;
  }

  const Program& root_;
  const Sizes& sizes_;
  Watcher* watcher_;
};

}  // namespace

std::vector<BufferPtr> interpret(const Program& program, const std::vector<BufferPtr>& inputs,
                                 const Sizes& extra, Watcher* watcher) {
  const Sizes sizes = bind_sizes(program, inputs, extra);
  check_guards(program, sizes);
  return Interpreter(program, sizes, watcher).run(program, inputs);
}

std::vector<BufferPtr> interpret(const Program& program, const std::vector<BufferPtr>& inputs,
                                 const Sizes& extra) {
  return interpret(program, inputs, extra, nullptr);
}

}  // namespace pto
