#include "exec/executable.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "exec/compare.h"
#include "exec/listing.h"
#include "exec/reproducer.h"
#include "exec/run_plan.h"
#include "ops/control.h"
#include "ops/foreign.h"

namespace pto {
namespace {

constexpr size_t kMaxPlans = 64;

void add_symbols(const Expr& e, std::set<Symbol>& to) {
  visit(e, [&](const Expr& part) {
    if (part.is_var()) to.insert(part.symbol());
  });
}

// Symbols of a kernel on which its loops, its class or its memory depend.
std::set<Symbol> structural_symbols(const Kernel& k, const Target& target) {
  std::set<Symbol> symbols;
  for (const auto& p : k.params)
    for (const auto& size : p.shape) add_symbols(size, symbols);
  for (const auto& a : k.axes) add_symbols(a.extent, symbols);
  for (const auto& f : size_facts(k, target)) add_symbols(f.condition, symbols);
  return symbols;
}

// Symbols for which a plan is made. The others are numbers that kernels merely compute with: a
// learning rate, a step count, an offset.
class Structure {
 public:
  Structure(const Program& root, const Target& target) {
    for (const auto& [name, kernel] : root.kernels) kernels_[name] = structural_symbols(kernel, target);
    visit(root);
  }
  std::set<Symbol> symbols;

 private:
  void visit(const Program& p) {
    for (const auto& b : p.buffers)
      for (const auto& size : b.shape) add_symbols(size, symbols);
    for (const auto& s : p.steps) {
      const auto kernel = kernels_.find(s.kernel);
      for_each_size(s, [&](const Size& size, Symbol symbol) {
        if (kernel == kernels_.end() || kernel->second.count(symbol)) add_symbols(size, symbols);
      });
      for (const auto& inner : s.programs) visit(*inner);
    }
  }
  std::map<Symbol, std::set<Symbol>> kernels_;
};

using Key = std::vector<int64_t>;
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (int64_t k : key) h = hash_combine(h, static_cast<uint64_t>(k));
    return h;
  }
};

}  // namespace

Counters& counters() {
  static Counters all;
  return all;
}

struct Executable::Impl {
  Program program;
  CompileOptions options;
  std::optional<Graph> graph;   // that the program was made of, if levels are to be compared
  std::vector<Symbol> structural, dynamic;   // all of program.sizes
  // Where a structural symbol stands alone in an input's shape: input, axis; -1 if nowhere.
  std::vector<std::pair<int, int>> found;
  bool guards_change = false;   // some guard depends on a dynamic symbol

  struct Planned {
    std::shared_ptr<const RunPlan> plan;
    uint64_t used = 0;
  };
  std::mutex mutex;          // of what follows
  std::unordered_map<Key, Planned, KeyHash> plans;
  std::set<std::string> classes;   // those of all plans so far
  uint64_t clock = 0;
  Sizes last_sizes;
  std::mutex compiling;

  Impl(Program p, CompileOptions o) : program(std::move(p)), options(std::move(o)) {
    const Structure structure(program, options.target);
    for (Symbol s : program.sizes) (structure.symbols.count(s) ? structural : dynamic).push_back(s);
    for (const auto& g : program.guards)
      for (Symbol s : dynamic) guards_change = guards_change || uses_var(g, s);
    for (Symbol s : structural) {
      found.emplace_back(-1, -1);
      for (size_t i = 0; i < program.inputs.size() && found.back().first < 0; i++) {
        const auto& shape = program.buffers[program.inputs[i]].shape;
        for (size_t d = 0; d < shape.size() && found.back().first < 0; d++)
          if (shape[d].is_var() && shape[d].symbol() == s)
            found.back() = {static_cast<int>(i), static_cast<int>(d)};
      }
    }
  }

  // False if the key cannot be read off the shapes.
  bool quick_key(const std::vector<BufferPtr>& inputs, const Sizes& extra, Key& key) const {
    if (inputs.size() != program.inputs.size()) return false;
    for (size_t i = 0; i < structural.size(); i++) {
      if (const auto [input, axis] = found[i]; input >= 0) {
        const auto& shape = inputs[input]->shape;
        if (static_cast<size_t>(axis) >= shape.size()) return false;
        key.push_back(shape[axis]);
      } else {
        const auto it = extra.find(structural[i]);
        if (it == extra.end()) return false;
        key.push_back(it->second);
      }
    }
    for (Symbol s : dynamic)
      if (!extra.count(s)) return false;
    return true;
  }

  bool fits(const RunPlan& plan, const std::vector<BufferPtr>& inputs) const {
    for (size_t i = 0; i < inputs.size(); i++) {
      const int b = program.inputs[i];
      if (inputs[i]->dtype != program.buffers[b].dtype || inputs[i]->shape != plan.shape(b)) return false;
    }
    return true;
  }

  std::shared_ptr<const RunPlan> find(const Key& key) {
    const std::lock_guard lock(mutex);
    const auto it = plans.find(key);
    if (it == plans.end()) return nullptr;
    it->second.used = ++clock;
    return it->second.plan;
  }

  std::shared_ptr<const RunPlan> plan_for(const Sizes& sizes) {
    Key key;
    for (Symbol s : structural) key.push_back(sizes.at(s));
    const std::lock_guard one(compiling);
    if (auto plan = find(key)) return plan;
    auto plan = make_plan(sizes);
    const std::lock_guard lock(mutex);
    if (classes.insert(plan->classes()).second) counters().size_classes++;
    if (plans.size() >= kMaxPlans)
      plans.erase(std::min_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
        return a.second.used < b.second.used;
      }));
    plans[key] = {plan, ++clock};
    return plan;
  }

  std::shared_ptr<const RunPlan> make_plan(const Sizes& sizes) const {
    try {
      return std::make_shared<const RunPlan>(program, program, sizes, dynamic, options);
    } catch (const InternalError& e) {
      raise_reproducible(e, to_text(program), run_option(sizes), options);
    }
  }

  Sizes guess() {
    const std::lock_guard lock(mutex);
    Sizes sizes = last_sizes;
    for (Symbol s : program.sizes) sizes.try_emplace(s, 64);
    return sizes;
  }
};

Executable::Executable(Program program, CompileOptions options)
    : impl_(std::make_unique<Impl>(std::move(program), std::move(options))) {}
Executable::Executable(const Graph& graph, CompileOptions options)
    : Executable(build_program(graph, options), options) {
  if (settings().compare) impl_->graph = graph;
}
Executable::~Executable() = default;
const Program& Executable::program() const { return impl_->program; }
const CompileOptions& Executable::options() const { return impl_->options; }

std::vector<BufferPtr> Executable::run(const std::vector<BufferPtr>& inputs, const Sizes& extra) {
  Impl& impl = *impl_;
  const Program& p = impl.program;
  if (settings().compare) {
    if (impl.graph)
      compare_levels(*impl.graph, inputs, extra, impl.options);
    else
      compare_levels(p, inputs, extra, impl.options);
  }
  Key key;
  std::shared_ptr<const RunPlan> plan;
  if (impl.quick_key(inputs, extra, key)) plan = impl.find(key);
  if (!plan || !impl.fits(*plan, inputs) || impl.guards_change) {
    const Sizes sizes = bind_sizes(p, inputs, extra);
    check_guards(p, sizes);
    plan = impl.plan_for(sizes);
    PTO_CHECK(impl.fits(*plan, inputs), "exec/run", "inputs that were checked do not fit");
    const std::lock_guard lock(impl.mutex);
    impl.last_sizes = sizes;
  }
  Sizes sizes;
  const Sizes* all = &plan->sizes();
  if (!impl.dynamic.empty()) {
    sizes = *all;
    for (Symbol s : impl.dynamic) sizes[s] = extra.at(s);
    all = &sizes;
  }
  struct Lease {
    const RunPlan& plan;
    std::unique_ptr<Frame> frame;
    ~Lease() { plan.give_frame(std::move(frame)); }
  } lease{*plan, plan->take_frame()};
  std::vector<BufferPtr> held, outputs;
  for (size_t i = 0; i < inputs.size(); i++) {
    const BufferPtr dense = packed(inputs[i]);
    lease.frame->buffers[p.inputs[i]] = dense->data;
    if (dense != inputs[i]) held.push_back(dense);
  }
  for (const int b : p.outputs) {
    outputs.push_back(make_buffer(p.buffers[b].dtype, plan->shape(b)));
    lease.frame->buffers[b] = outputs.back()->data;
  }
  const int64_t arena_bytes = plan->memory().arena_bytes;
  const std::shared_ptr<void> arena = arena_bytes > 0 ? allocate(arena_bytes) : nullptr;
  plan->run(*lease.frame, static_cast<char*>(arena.get()), *all);
  counters().runs++;
  return outputs;
}

std::string Executable::text(const std::string& level, const Sizes& sizes) {
  Sizes all = impl_->guess();
  for (const auto& [symbol, size] : sizes) all[symbol] = size;
  return listing(impl_->program, level, all, impl_->options);
}

MemoryPlan Executable::memory(const Sizes& sizes) {
  Sizes all = impl_->guess();
  for (const auto& [symbol, size] : sizes) all[symbol] = size;
  return plan_memory(impl_->program, all);
}

std::shared_ptr<Executable> compile(const Graph& graph, const CompileOptions& options) {
  counters().graphs_compiled++;
  return std::make_shared<Executable>(graph, options);
}

}  // namespace pto
