// What holds for every program.
#include <set>

#include "base/error.h"
#include "exec/program.h"
#include "ops/control.h"

namespace pto {
namespace {

class Verifier {
 public:
  Verifier(const Program& root, std::string_view where) : root_(root), where_(where) {}

  void program(const Program& p) {
    buffers(p);
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
  void require(bool condition, const std::string& message) const {
    PTO_CHECK(condition, where_, message);
  }

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
    require(&p == &root_ || (p.kernels.empty() && p.schedules.empty() && p.loops.empty()),
            "a nested program with kernels of its own");
  }

  static bool in_range(const Program& p, int b) {
    return b >= 0 && b < static_cast<int>(p.buffers.size());
  }

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
      require(!read.count(b) && outputs.insert(b).second, buffer.name.str() + " is written while it is in use");
      written[b] = true;
    }
    switch (s.kind) {
      case StepKind::Launch: return launch(p, s);
      case StepKind::Copy:
        require(s.inputs.size() == 1 && s.outputs.size() == 1, "a copy has one source and one destination");
        return same(p.buffers[s.inputs[0]], p.buffers[s.outputs[0]].dtype, p.buffers[s.outputs[0]].shape);
      case StepKind::Foreign: return require(s.attrs != nullptr, "a foreign call without attributes");
      case StepKind::Cond: return cond(p, s);
      case StepKind::While: return while_loop(p, s);
      case StepKind::Scan: return scan(p, s);
    }
  }

  // Operands are taken by another shape of as many elements.
  void same(const ProgramBuffer& b, DType dtype, const Shape& shape) const {
    require(b.dtype == dtype, b.name.str() + " is taken as " + std::string(name(dtype)));
    require(prove_equal(product(b.shape), product(shape)) != false,
            b.name.str() + shape_text(b.shape) + " is taken as " + shape_text(shape));
  }

  template <class Params>
  void params(const Program& p, const Step& s, const Params& params, const std::vector<Symbol>& sizes) const {
    require(s.sizes.size() == sizes.size(), "kernel " + s.kernel.str() + " takes other sizes");
    Substitution actual;
    for (size_t i = 0; i < sizes.size(); i++) {
      require(s.sizes[i].first == sizes[i], "kernel " + s.kernel.str() + " has no size there named " +
                                                s.sizes[i].first.str());
      actual.emplace(sizes[i], s.sizes[i].second);
    }
    std::vector<int> operands = s.inputs;
    operands.insert(operands.end(), s.outputs.begin(), s.outputs.end());
    require(operands.size() == params.size(), "kernel " + s.kernel.str() + " takes other operands");
    for (size_t i = 0; i < operands.size(); i++) {
      require(params[i].output == (i >= s.inputs.size()), "kernel " + s.kernel.str() + " takes other operands");
      Shape shape;
      for (const auto& size : params[i].shape) shape.push_back(simplify(substitute(size, actual)));
      same(p.buffers[operands[i]], params[i].dtype, shape);
    }
  }

  void launch(const Program& p, const Step& s) const {
    if (const auto it = root_.kernels.find(s.kernel); it != root_.kernels.end())
      return params(p, s, it->second.params, it->second.sizes);
    const auto it = root_.loops.find(s.kernel);
    require(it != root_.loops.end(), "there is no kernel " + s.kernel.str());
    params(p, s, it->second.params, it->second.sizes);
  }

  // The operands from `from` on are what the nested program takes.
  void nested(const Program& p, const Step& s, size_t from, const Program& inner, size_t results) {
    require(inner.inputs.size() == s.inputs.size() - from, "program " + inner.name + " takes other operands");
    for (size_t i = from; i < s.inputs.size(); i++)
      require(inner.buffers[inner.inputs[i - from]].dtype == p.buffers[s.inputs[i]].dtype,
              "program " + inner.name + " takes operands of other types");
    require(inner.outputs.size() == results, "program " + inner.name + " gives other results");
    program(inner);
  }

  void cond(const Program& p, const Step& s) {
    require(s.programs.size() == 2 && !s.inputs.empty(), "a cond needs a predicate and two programs");
    require(p.buffers[s.inputs[0]].dtype == DType::Bool, "the predicate is no bool");
    for (const auto& inner : s.programs) nested(p, s, 1, *inner, s.outputs.size());
  }

  void while_loop(const Program& p, const Step& s) {
    require(s.programs.size() == 2 && s.inputs.size() >= s.outputs.size(),
            "a while needs a condition, a body and a state");
    nested(p, s, 0, *s.programs[0], 1);
    nested(p, s, 0, *s.programs[1], s.outputs.size());
  }

  void scan(const Program& p, const Step& s) {
    require(s.programs.size() == 1 && s.attrs, "a scan needs a body and attributes");
    const auto& a = static_cast<const ScanLoopAttrs&>(*s.attrs);
    require(a.length.size() == 1 && a.carries >= 0 && a.sequences >= 0 &&
                a.carries + a.sequences <= static_cast<int64_t>(s.inputs.size()) &&
                a.carries <= static_cast<int64_t>(s.outputs.size()),
            "a scan with other carries and sequences");
    nested(p, s, 0, *s.programs[0], s.outputs.size());
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
