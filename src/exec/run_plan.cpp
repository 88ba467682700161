// How a program for actual sizes is prepared; run_steps.cpp runs it.
#include "exec/run_plan.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/extents.h"
#include "exec/steps.h"

namespace pto {
namespace {

// Below this many element operations in all, a segment stays on the caller's thread: to wake the
// others takes longer. A loop program, of which that is not known, does not. Inside a parallel region
// only the barriers count.
constexpr double kParallelRegion = 200'000, kParallelLaunch = 20'000;

double points(const Kernel& kernel, const std::vector<Symbol>& axes, const Sizes& sizes) {
  double n = 1;
  for (Symbol a : axes) n *= static_cast<double>(eval_size(kernel.axis(a)->extent, sizes));
  return n;
}

double nodes(const Exprs& exprs) {
  double n = 1;
  for (const auto& e : exprs) n += static_cast<double>(count_nodes(e));
  return n;
}

bool uses_any(const Expr& e, const std::set<Symbol>& symbols) {
  bool found = false;
  visit(e, [&](const Expr& part) { found = found || (part.is_var() && symbols.count(part.symbol())); });
  return found;
}

}  // namespace

RunPlan::RunPlan(const Program& root, const Program& program, Sizes sizes, const std::vector<Symbol>& dynamic,
                 const CompileOptions& options)
    : root_(root), program_(program), sizes_(std::move(sizes)), memory_(plan_memory(program, sizes_)) {
  for (const auto& b : program_.buffers) {
    shapes_.push_back(eval_shape(b.shape, sizes_));
    bytes_.push_back(bytes_of(b.dtype, shapes_.back()));
    constants_.push_back(b.kind == BufferKind::Constant ? packed(b.constant) : nullptr);
  }
  for (const auto& s : program_.steps) {
    check_operands(s);
    workspaces_.push_back(plan_workspace(program_, s, sizes_));
    nested_.emplace_back();
    for (const auto& p : s.programs) {
      nested_.back().push_back(std::make_unique<RunPlan>(root_, *p, sizes_, dynamic, options));
      classes_ += nested_.back().back()->classes_;
    }
  }
  const std::set<Symbol> changing(dynamic.begin(), dynamic.end());
  for (const auto& s : program_.steps) {
    if (s.kind != StepKind::Launch) continue;
    for (const auto& [symbol, size] : s.sizes) {
      if (uses_any(size, changing)) dynamic_.push_back({launch_sizes_.size(), size});
      launch_sizes_.push_back(eval_shape({size}, sizes_)[0]);
    }
  }
  add_launches(options);
  add_items();
}

void RunPlan::check_operands(const Step& step) const {
  for (const auto& [buffer, type] : taken_types(root_, program_, step)) {
    const auto shape = eval_shape(type.shape, sizes_);
    if (bytes_of(type.dtype, shape) == bytes_[buffer]) continue;
    const auto& b = program_.buffers[buffer];
    throw Error({.op = program_.name,
                 .message = "for these sizes " + b.name.str() + " is taken as one of another size",
                 .expected = type_text(type.dtype, shape),
                 .got = type_text(b.dtype, shapes_[buffer]),
                 .loc = step.loc});
  }
}

double RunPlan::work_of(const Step& step, const Sizes& sizes) const {
  const auto it = root_.kernels.find(step.kernel);
  if (it == root_.kernels.end()) return kParallelRegion;
  const Kernel& k = it->second;
  double work = 0;
  for (const auto& v : k.values) {
    std::vector<Symbol> axes = v.axes;
    if (v.kind != ValueKind::Scan) axes.insert(axes.end(), v.over.begin(), v.over.end());
    work += points(k, axes, sizes) * nodes(v.body);
  }
  for (const auto& s : k.stores) {
    double elements = 1;
    for (const auto& extent : k.param(s.param)->shape)
      elements *= static_cast<double>(eval_size(extent, sizes));
    work += elements * nodes({s.value});
  }
  if (k.opaque.empty()) return work;
  for (const auto& p : k.params) {
    double elements = 30;   // a few passes over everything
    for (const auto& extent : p.shape) elements *= static_cast<double>(eval_size(extent, sizes));
    work += elements;
  }
  return work;
}

void RunPlan::add_launches(const CompileOptions& options) {
  std::vector<KernelSource> sources;
  std::map<std::pair<Symbol, std::string>, size_t> known;   // kernel and class
  std::map<Symbol, std::vector<SizeFact>> facts;
  std::vector<std::pair<size_t, size_t>> wanted;             // launch, source
  size_t sizes_before = 0;
  for (size_t i = 0; i < program_.steps.size(); i++) {
    const Step& s = program_.steps[i];
    if (s.kind != StepKind::Launch && s.kind != StepKind::Copy) continue;
    Launch launch{
        .step = i, .first_argument = arguments_, .first_size = sizes_before, .error = launches_.size()};
    launch.operands = s.inputs;
    launch.operands.insert(launch.operands.end(), s.outputs.begin(), s.outputs.end());
    if (s.kind == StepKind::Copy) {
      launch.bytes = bytes_[s.outputs[0]];
      launch.work = static_cast<double>(launch.bytes) / 2;
      launch.shared = launch.work > kParallelLaunch;
    } else {
      const Sizes sizes = pto::launch_sizes(s, sizes_);
      KernelSource source;
      if (const auto it = root_.kernels.find(s.kernel); it != root_.kernels.end()) {
        source.kernel = &it->second;
        auto [f, added] = facts.try_emplace(s.kernel);
        if (added) f->second = size_facts(it->second, options.target);
        source.size_class = size_class(f->second, sizes);
        source.schedule = fixed_schedule(root_, s.kernel, source.size_class);
      } else {
        source.loop = &root_.loops.at(s.kernel);
      }
      const auto [it, added] = known.try_emplace({s.kernel, source.size_class}, sources.size());
      if (added) {
        sources.push_back(source);
        classes_ += s.kernel.str() + ": " + source.size_class + "\n";
      }
      wanted.emplace_back(launches_.size(), it->second);
      launch.work = work_of(s, sizes);
      sizes_before += s.sizes.size();
      arguments_ += launch.operands.size();
    }
    launches_.push_back(std::move(launch));
  }
  const auto compiled = compile_kernels(sources, options);
  for (const auto& [launch, source] : wanted) {
    Launch& l = launches_[launch];
    l.kernel = compiled[source];
    l.shared = l.kernel->parallel && l.work > kParallelLaunch;
  }
}

void RunPlan::add_items() {
  size_t next = 0;   // launch
  for (size_t i = 0; i < program_.steps.size(); i++) {
    const StepKind kind = program_.steps[i].kind;
    if (kind != StepKind::Launch && kind != StepKind::Copy) {
      items_.push_back({.step = i});
      continue;
    }
    if (items_.empty() || !items_.back().segment)
      items_.push_back({.step = i, .first = next, .last = next, .segment = true});
    items_.back().last = ++next;
  }
  for (auto& item : items_) {
    if (!item.segment) continue;
    double work = 0;
    bool any_shared = false;
    for (size_t i = item.first; i < item.last; i++) {
      const Launch& l = launches_[i];
      work += l.shared ? l.work : 0;
      any_shared = any_shared || l.shared;
      if (!l.kernel) continue;
      item.kernels++;
      const Sizes sizes = pto::launch_sizes(program_.steps[l.step], sizes_);
      item.shared_bytes = std::max(item.shared_bytes, eval_size(l.kernel->shared_bytes, sizes));
      item.private_bytes = std::max(item.private_bytes, eval_size(l.kernel->private_bytes, sizes));
    }
    item.parallel = any_shared && work >= kParallelRegion;
    place_barriers(item);
  }
}

// What a launch touches, as ranges: temps in the arena, other buffers each for itself.
void RunPlan::place_barriers(const Item& item) {
  struct Range {
    int space;   // -1: the arena; -2: the workers' shared block
    int64_t lo, hi;
    bool write, shared;
  };
  std::vector<Range> touched;   // since the last barrier
  for (size_t i = item.first; i < item.last; i++) {
    Launch& l = launches_[i];
    std::vector<Range> now;
    const size_t inputs = program_.steps[l.step].inputs.size();
    for (size_t k = 0; k < l.operands.size(); k++) {
      const int b = l.operands[k];
      const int64_t at = memory_.offsets[b];
      now.push_back({at >= 0 ? -1 : b, std::max<int64_t>(at, 0), std::max<int64_t>(at, 0) + bytes_[b],
                     k >= inputs, l.shared});
    }
    if (l.kernel && !l.kernel->shared_bytes.is_const(0)) now.push_back({-2, 0, 1, true, l.shared});
    // The first worker does everything that is not shared, in order.
    l.barrier = std::any_of(now.begin(), now.end(), [&](const Range& a) {
      return std::any_of(touched.begin(), touched.end(), [&](const Range& b) {
        return a.space == b.space && a.lo < b.hi && b.lo < a.hi && (a.write || b.write) &&
               (a.shared || b.shared);
      });
    });
    if (l.barrier) touched.clear();
    touched.insert(touched.end(), now.begin(), now.end());
  }
}

bool RunPlan::parallel() const {
  return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.parallel; });
}

std::unique_ptr<Frame> RunPlan::new_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->plan = this;
  frame->buffers.resize(program_.buffers.size());
  for (size_t i = 0; i < constants_.size(); i++)
    if (constants_[i]) frame->buffers[i] = constants_[i]->data;
  frame->arguments.resize(arguments_);
  frame->sizes = launch_sizes_;
  frame->errors.resize(launches_.size());
  for (const auto& programs : nested_) {
    frame->nested.emplace_back();
    for (const auto& p : programs) frame->nested.back().push_back(p->new_frame());
  }
  return frame;
}

std::unique_ptr<Frame> RunPlan::take_frame() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
  }
  return new_frame();
}

void RunPlan::give_frame(std::unique_ptr<Frame> frame) const {
  const std::lock_guard lock(mutex_);
  if (free_.size() < 16) free_.push_back(std::move(frame));
}

}  // namespace pto
