// What holds for every program.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "exec/program.h"
#include "ops/control.h"
#include "ops/foreign.h"

namespace pto {
namespace {

class Verifier {
 public:
  Verifier(const Program& root, std::string_view where) : root_(root), where_(where) {}

  void program(const Program& p) {
    buffers(p);
    sizes(p);
    std::vector<bool> written(p.buffers.size());
    for (size_t i = 0; i < p.buffers.size(); i++)
      written[i] = p.buffers[i].kind == BufferKind::Input || p.buffers[i].kind == BufferKind::Constant;
    for (const auto& s : p.steps) step(p, s, written);
    for (int b : p.outputs) require(written[b], "output " + p.buffers[b].name.str() + " is never written");
    for (const auto& g : p.guards)
      require(g && g.type() == DType::Bool && g.lanes() == 1, "a guard that is not a bool");
    for (const auto& plan : p.plans) {
      const std::string fault = fault_of(p, plan);
      require(fault.empty(), "the memory plan: " + fault);
    }
  }

 private:
  void require(bool condition, const std::string& message) const { PTO_CHECK(condition, where_, message); }

  void buffers(const Program& p) const {
    std::set<Symbol> names;
    const std::set<int> inputs(p.inputs.begin(), p.inputs.end()), outputs(p.outputs.begin(), p.outputs.end());
    require(inputs.size() == p.inputs.size() && outputs.size() == p.outputs.size(), "a buffer listed twice");
    for (size_t i = 0; i < p.buffers.size(); i++) {
      const auto& b = p.buffers[i];
      const std::string what = "buffer " + b.name.str();
      require(names.insert(b.name).second, what + " is defined twice");
      require((b.kind == BufferKind::Input) == (inputs.count(static_cast<int>(i)) > 0),
              what + ": its kind and the list of inputs differ");
      require((b.kind == BufferKind::Output) == (outputs.count(static_cast<int>(i)) > 0),
              what + ": its kind and the list of outputs differ");
      if (b.kind != BufferKind::Constant) continue;
      require(b.constant && b.constant->dtype == b.dtype, what + " has no data of its type");
      for (size_t d = 0; d < b.shape.size(); d++)
        require(b.shape.size() == b.constant->shape.size() && b.shape[d].is_const(b.constant->shape[d]),
                what + " has data of another shape");
    }
    for (int b : p.inputs) require(in_range(p, b), "an input out of range");
    for (int b : p.outputs) require(in_range(p, b), "an output out of range");
    require(&p == &root_ || (p.kernels.empty() && p.schedules.empty() && p.loops.empty() && p.guards.empty()),
            "a nested program with kernels or guards of its own");
  }

  void declared(const Expr& e) const {
    visit(e, [&](const Expr& part) {
      if (part.is_var()) declared(part.symbol());
    });
  }

  void declared(Symbol size) const {
    require(std::find(root_.sizes.begin(), root_.sizes.end(), size) != root_.sizes.end(),
            "the size " + size.str() + " is not among those of program " + quote(root_.name));
  }

  void sizes(const Program& p) const {
    for (Symbol s : p.sizes) declared(s);
    for (const auto& b : p.buffers)
      for (const auto& size : b.shape) declared(size);
    for (const auto& g : p.guards)
      if (g) declared(g);
  }

  static bool in_range(const Program& p, int b) { return b >= 0 && b < static_cast<int>(p.buffers.size()); }

  void step(const Program& p, const Step& s, std::vector<bool>& written) {
    std::set<int> read;
    for (int b : s.inputs) {
      require(in_range(p, b), "an operand out of range");
      require(written[b], p.buffers[b].name.str() + " is read before it is written");
      read.insert(b);
    }
    std::set<int> outputs;
    for (int b : s.outputs) {
      require(in_range(p, b), "a result out of range");
      const auto& buffer = p.buffers[b];
      require(buffer.kind == BufferKind::Temp || buffer.kind == BufferKind::Output,
              "a step writes to " + buffer.name.str());
      require(!read.count(b) && outputs.insert(b).second,
              buffer.name.str() + " is written while it is in use");
      written[b] = true;
    }
    switch (s.kind) {
      case StepKind::Launch: launch(s); break;
      case StepKind::Copy:
        require(s.inputs.size() == 1 && s.outputs.size() == 1, "a copy has one source and one destination");
        break;
      case StepKind::Foreign: foreign(p, s); break;
      case StepKind::Cond: cond(s); break;
      case StepKind::While: while_loop(s); break;
      case StepKind::Scan: scan(s); break;
    }
    for_each_size(s, [&](const Size& size, Symbol) { declared(size); });
    for (const auto& [buffer, type] : taken_types(root_, p, s)) same(p.buffers[buffer], type);
  }

  // Operands are taken by another shape of as many elements. What the symbols leave open is compared when
  // their values are known.
  void same(const ProgramBuffer& b, const TensorType& type) const {
    require(b.dtype == type.dtype && prove_equal(product(b.shape), product(type.shape)) != false,
            b.name.str() + ": " + TensorType{b.dtype, b.shape}.str() + " is taken as " + type.str());
  }

  template <class Params>
  void params(const Step& s, const Params& params, const std::vector<Symbol>& sizes) const {
    const std::string kernel = "kernel " + s.kernel.str();
    require(s.sizes.size() == sizes.size(), kernel + " takes other sizes");
    for (size_t i = 0; i < sizes.size(); i++)
      require(s.sizes[i].first == sizes[i], kernel + " has no size there named " + s.sizes[i].first.str());
    require(s.inputs.size() + s.outputs.size() == params.size(), kernel + " takes other operands");
    for (size_t i = 0; i < params.size(); i++)
      require(params[i].output == (i >= s.inputs.size()), kernel + " takes other operands");
  }

  void launch(const Step& s) const {
    if (const auto it = root_.kernels.find(s.kernel); it != root_.kernels.end())
      return params(s, it->second.params, it->second.sizes);
    const auto it = root_.loops.find(s.kernel);
    require(it != root_.loops.end(), "there is no kernel " + s.kernel.str());
    params(s, it->second.params, it->second.sizes);
  }

  // Results of foreign calls have the shapes that are declared.
  void foreign(const Program& p, const Step& s) const {
    require(s.attrs != nullptr, "a foreign call without attributes");
    const auto types = static_cast<const ForeignAttrs&>(*s.attrs).result_types();
    require(types.size() == s.outputs.size(), "a foreign call gives other results");
    for (size_t i = 0; i < types.size(); i++)
      require(types[i].shape.size() == p.buffers[s.outputs[i]].shape.size(),
              p.buffers[s.outputs[i]].name.str() + " is a foreign call's result of another rank");
  }

  void nested(size_t operands, const Program& inner, size_t results) {
    require(inner.inputs.size() == operands, "program " + inner.name + " takes other operands");
    require(inner.outputs.size() == results, "program " + inner.name + " gives other results");
    program(inner);
  }

  void cond(const Step& s) {
    require(s.programs.size() == 2 && !s.inputs.empty(), "a cond needs a predicate and two programs");
    for (const auto& inner : s.programs) nested(s.inputs.size() - 1, *inner, s.outputs.size());
  }

  void while_loop(const Step& s) {
    require(s.programs.size() == 2 && s.inputs.size() >= s.outputs.size(),
            "a while needs a condition, a body and a state");
    const Program& condition = *s.programs[0];
    nested(s.inputs.size(), condition, 1);
    nested(s.inputs.size(), *s.programs[1], s.outputs.size());
    const auto& flag = condition.buffers[condition.outputs[0]];
    require(flag.dtype == DType::Bool && prove_equal(product(flag.shape), Size(1)) == true,
            "the condition gives " + TensorType{flag.dtype, flag.shape}.str() + ", not one bool");
  }

  void scan(const Step& s) {
    require(s.programs.size() == 1 && s.attrs, "a scan needs a body and attributes");
    const auto& a = static_cast<const ScanLoopAttrs&>(*s.attrs);
    const auto operands = static_cast<int64_t>(s.inputs.size());
    require(a.length.size() == 1 && a.carries >= 0 && a.sequences >= 0 && a.carries <= operands &&
                a.sequences <= operands - a.carries && a.carries <= static_cast<int64_t>(s.outputs.size()),
            "a scan with other carries and sequences");
    nested(s.inputs.size(), *s.programs[0], s.outputs.size());
  }

  const Program& root_;
  std::string where_;
};

}  // namespace

void verify(const Program& program, std::string_view where) {
  Verifier(program, where).program(program);
  for (const auto& [name, kernel] : program.kernels) {
    PTO_CHECK(kernel.name == name, std::string(where), "kernel " + name.str() + " has another name");
    verify(kernel, where);
  }
  for (const auto& [name, loop] : program.loops) verify(loop, where);
}

}  // namespace pto
