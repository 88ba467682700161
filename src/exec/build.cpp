// From a tensor graph to a program: graph passes, fusion, one kernel a group. Equal kernels become
// one, and a reshape becomes another name for its operand's buffer.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "exec/executable.h"
#include "exec/recompute.h"
#include "exec/release_early.h"
#include "exec/reproducer.h"
#include "graph/value_hash.h"
#include "graph_passes/fuse.h"
#include "graph_passes/pipeline.h"
#include "loop_passes/pipeline.h"
#include "ops/control.h"
#include "ops/foreign.h"
#include "ops/leaf_attrs.h"
#include "ops/row.h"
#include "tile/form_kernels.h"

namespace pto {
namespace {

// The elements of a value that no kernel computes; nothing if there are none.
BufferPtr known_data(const Value& v) {
  if (v.node->has_data()) return v.node->data(v.index);
  return v.node->row()->name == "constant" ? attrs_of<ConstantAttrs>(*v.node).value : nullptr;
}

bool is_reshape(const NodePtr& node) { return node->row()->name == "reshape"; }

// The kernels of a program and of the programs nested in it.
class Kernels {
 public:
  explicit Kernels(Program& root) : root_(root) {}

  Symbol add(Kernel kernel) {
    static const Symbol kPlain("k");
    kernel.name = kPlain;
    auto because = std::move(kernel.because);
    kernel.because.clear();
    const auto [it, added] = names_.emplace(to_text(kernel), Symbol());
    if (added) {
      it->second = Symbol("k" + std::to_string(names_.size() - 1));
      kernel.name = it->second;
      kernel.because = std::move(because);
      root_.kernels.emplace(it->second, std::move(kernel));
    }
    return it->second;
  }

 private:
  Program& root_;
  std::unordered_map<std::string, Symbol> names_;
};

class Builder {
 public:
  Builder(Kernels& kernels, const std::set<std::string>& off, std::vector<std::string>& because)
      : kernels_(kernels), off_(off), because_(because) {}

  void build(const Graph& given, Program& program, Places* places = nullptr) {
    p_ = &program;
    const Graph graph = run_graph_passes(given, off_);
    program.name = graph.name;
    program.sizes = graph.size_symbols();
    program.guards = graph.guards;
    for (const auto& input : graph.inputs) {
      const std::string name = attrs_of<InputAttrs>(*input).name;
      const int b = add_buffer(name.empty() ? "x" : name, BufferKind::Input, input->outputs()[0]);
      program.inputs.push_back(b);
      places_[{input, 0}] = b;
    }
    Fusion fusion = fuse(graph, !off_.count("fuse"));
    because_.insert(because_.end(), fusion.because.begin(), fusion.because.end());
    for (const auto& group : fusion.groups) add_group(group);
    for (size_t i = 0; i < graph.outputs.size(); i++)
      add_output(graph.outputs[i], graph.outputs.size() == 1 ? "out" : "out" + std::to_string(i));
    add_sizes();
    if (places) *places = {graph, {places_.begin(), places_.end()}};
  }

 private:
  int add_buffer(std::string name, BufferKind kind, const TensorType& type, BufferPtr constant = nullptr) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
    if (std::isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
    std::string unique = name;
    for (int n = 1; !names_.insert(unique).second; n++) unique = name + "_" + std::to_string(n);
    p_->buffers.push_back({Symbol(unique), kind, type.dtype, type.shape, std::move(constant)});
    return static_cast<int>(p_->buffers.size()) - 1;
  }

  int add_temp(const TensorType& type) {
    return add_buffer("t" + std::to_string(temps_++), BufferKind::Temp, type);
  }

  int place_of(const Value& v) {
    if (const auto it = places_.find(v); it != places_.end()) return it->second;
    BufferPtr data = known_data(v);
    PTO_CHECK(data, "exec/build", v.node->row()->name + " is used before it is computed");
    return places_[v] = add_buffer("c" + std::to_string(constants_++), BufferKind::Constant, v.type(), data);
  }

  void add_group(const FusionGroup& group) {
    const NodePtr& first = group.nodes.at(0);
    if (std::all_of(group.nodes.begin(), group.nodes.end(), is_reshape)) {
      // Operands come before what reads them, so that chains resolve in order.
      for (const auto& node : group.nodes) places_[{node, 0}] = place_of(node->inputs()[0]);
    } else if (first->row()->family == Family::Control) {
      add_control(first);
    } else if (first->row()->family == Family::Foreign) {
      Step step{.kind = StepKind::Foreign, .attrs = first->attrs(), .loc = first->loc()};
      for (const auto& v : first->inputs()) step.inputs.push_back(in_own_shape(v));
      add_results(first, std::move(step));
      // A foreign call looks at the shapes of its results too.
      for (int b : p_->steps.back().outputs) foreign_.insert(b);
    } else {
      add_launch(group);
    }
  }

  void add_launch(const FusionGroup& group) {
    FormedKernel formed = form_kernel(group);
    Step step{.kind = StepKind::Launch, .sizes = std::move(formed.sizes)};
    for (const auto& check : formed.kernel.checks) step.check_locs.push_back(check.loc);
    for (const auto& v : formed.outputs)
      if (!step.loc.known()) step.loc = v.node->loc();
    step.kernel = kernels_.add(std::move(formed.kernel));
    for (const auto& v : formed.inputs) step.inputs.push_back(place_of(v));
    for (const auto& v : formed.outputs) step.outputs.push_back(places_[v] = add_temp(v.type()));
    p_->steps.push_back(std::move(step));
  }

  void add_results(const NodePtr& node, Step step) {
    for (size_t i = 0; i < node->outputs().size(); i++)
      step.outputs.push_back(places_[{node, static_cast<int>(i)}] = add_temp(node->outputs()[i]));
    p_->steps.push_back(std::move(step));
  }

  int copy(int from, int to) {
    p_->steps.push_back({.kind = StepKind::Copy, .inputs = {from}, .outputs = {to}});
    return to;
  }

  // The buffer of a value for one who looks at the buffer's shape.
  int in_own_shape(const Value& v) {
    const int b = place_of(v);
    foreign_.insert(b);
    return p_->buffers[b].shape == v.shape() ? b : copy(b, add_temp(v.type()));
  }

  void add_control(const NodePtr& node) {
    Step step{.kind = StepKind::Cond, .loc = node->loc()};
    for (const auto& v : node->inputs()) step.inputs.push_back(place_of(v));
    const std::string& row = node->row()->name;
    if (row == "cond") {
      const auto& attrs = attrs_of<CondAttrs>(*node);
      step.programs = {nested(*attrs.then, "then"), nested(*attrs.orelse, "else")};
    } else if (row == "while_loop") {
      step.kind = StepKind::While;
      const auto& attrs = attrs_of<WhileAttrs>(*node);
      step.programs = {nested(*attrs.condition, "condition"), nested(*attrs.body, "body")};
    } else {
      PTO_CHECK(row == "scan_loop", "exec/build", "no step does what " + row + " does");
      step.kind = StepKind::Scan;
      auto attrs = std::make_shared<ScanLoopAttrs>(attrs_of<ScanLoopAttrs>(*node));
      step.programs = {nested(*attrs->body, "body")};
      attrs->body = nullptr;
      step.attrs = std::move(attrs);
    }
    add_results(node, std::move(step));
  }

  ProgramPtr nested(const Graph& graph, const std::string& name) {
    auto program = std::make_shared<Program>();
    Builder(kernels_, off_, because_).build(graph, *program);
    program->name = name;
    // What one program was made for is asked of the sizes once, for all.
    for (const auto& g : program->guards)
      if (std::find(p_->guards.begin(), p_->guards.end(), g) == p_->guards.end()) p_->guards.push_back(g);
    program->guards.clear();
    return program;
  }

  // A temp becomes the output; what must stay something else as well is copied.
  void add_output(const Value& v, const std::string& name) {
    const int b = place_of(v);
    ProgramBuffer& buffer = p_->buffers[b];
    if (buffer.kind != BufferKind::Temp || (foreign_.count(b) && buffer.shape != v.shape())) {
      p_->outputs.push_back(copy(b, add_buffer(name, BufferKind::Output, v.type())));
      return;
    }
    buffer.kind = BufferKind::Output;
    buffer.shape = v.shape();
    std::string unique = name;
    for (int n = 1; !names_.insert(unique).second; n++) unique = name + "_" + std::to_string(n);
    buffer.name = Symbol(unique);
    p_->outputs.push_back(b);
  }

  // Sizes that occur in steps and guards alone are the caller's too.
  void add_sizes() {
    std::set<Symbol> known(p_->sizes.begin(), p_->sizes.end());
    auto add = [&](const Expr& e) {
      visit(e, [&](const Expr& part) {
        if (part.is_var() && known.insert(part.symbol()).second) p_->sizes.push_back(part.symbol());
      });
    };
    for (const auto& g : p_->guards) add(g);
    for (const auto& b : p_->buffers)
      for (const auto& size : b.shape) add(size);
    for (const auto& s : p_->steps) {
      for_each_size(s, [&](const Size& size, Symbol) { add(size); });
      for (const auto& inner : s.programs)
        for (Symbol size : inner->sizes) add(var(size));
    }
  }

  Kernels& kernels_;
  const std::set<std::string>& off_;
  std::vector<std::string>& because_;
  Program* p_ = nullptr;
  std::unordered_map<Value, int> places_;
  std::set<std::string> names_;
  std::set<int> foreign_;
  int temps_ = 0, constants_ = 0;
};

}  // namespace

std::set<std::string> passes_off(const CompileOptions& options, PassLevel level) {
  std::set<std::string> graph{"fuse", "recompute", "release_early"}, loop, chosen;
  for (const auto& pass : graph_passes()) graph.insert(pass.name);
  for (const auto& pass : loop_passes()) loop.insert(pass.name);
  for (const auto& name : options.passes_off) {
    if (!graph.count(name) && !loop.count(name)) {
      std::vector<std::string> all(graph.begin(), graph.end());
      all.insert(all.end(), loop.begin(), loop.end());
      throw Error({.op = "passes_off",
                   .message = "there is no pass named " + quote(name),
                   .expected = "one of " + join(all, ", ")});
    }
    if ((level == PassLevel::Graph ? graph : loop).count(name)) chosen.insert(name);
  }
  return chosen;
}

Program build_program(const Graph& graph, const CompileOptions& options, Places* places) {
  const auto off = passes_off(options, PassLevel::Graph);
  try {
    Program program;
    Kernels kernels(program);
    std::vector<std::string> because;
    Builder(kernels, off, because).build(graph, program, places);
    program.because = std::move(because);
    if (!off.count("release_early")) release_early(program);
    if (!off.count("recompute")) recompute_cheap(program);
    if (settings().debug) verify(program, "build_program");
    return program;
  } catch (const InternalError& e) {
    raise_reproducible(e, to_text(graph), "--to=tile", options);
  }
}

}  // namespace pto
