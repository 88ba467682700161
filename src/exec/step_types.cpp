// What steps say about sizes and buffers.
#include "exec/program.h"
#include "ops/control.h"
#include "ops/foreign.h"

namespace pto {
namespace {

class Types {
 public:
  Types(const Program& program, const Step& step) : p_(program), s_(step) {}

  template <class Params>
  void launch(const Params& params) {
    const Substitution actual(s_.sizes.begin(), s_.sizes.end());
    for (size_t i = 0; i < params.size(); i++) {
      TensorType type{params[i].dtype, {}};
      for (const auto& size : params[i].shape) type.shape.push_back(substitute(size, actual));
      add(i < s_.inputs.size() ? s_.inputs[i] : s_.outputs[i - s_.inputs.size()], std::move(type));
    }
  }

  void copy() { add(s_.inputs[0], type_of(p_, s_.outputs[0])); }

  void foreign() {
    const auto types = static_cast<const ForeignAttrs&>(*s_.attrs).result_types();
    for (size_t i = 0; i < types.size(); i++) add(s_.outputs[i], types[i]);
  }

  void cond() {
    add(s_.inputs[0], {DType::Bool, {}});
    for (const auto& inner : s_.programs) {
      for (size_t i = 1; i < s_.inputs.size(); i++) add(s_.inputs[i], type_of(*inner, inner->inputs[i - 1]));
      for (size_t i = 0; i < s_.outputs.size(); i++) add(s_.outputs[i], type_of(*inner, inner->outputs[i]));
    }
  }

  // The state stands in the results' buffers too.
  void while_loop() {
    for (const auto& inner : s_.programs)
      for (size_t i = 0; i < s_.inputs.size(); i++) {
        add(s_.inputs[i], type_of(*inner, inner->inputs[i]));
        if (i < s_.outputs.size()) add(s_.outputs[i], type_of(*inner, inner->inputs[i]));
      }
    const Program& body = *s_.programs[1];
    for (size_t i = 0; i < s_.outputs.size(); i++) add(s_.outputs[i], type_of(body, body.outputs[i]));
  }

  void scan() {
    const auto& a = static_cast<const ScanLoopAttrs&>(*s_.attrs);
    const Program& body = *s_.programs[0];
    const auto carries = static_cast<size_t>(a.carries), sequences = static_cast<size_t>(a.sequences);
    auto stacked = [&](TensorType type) {
      type.shape.insert(type.shape.begin(), a.length[0]);
      return type;
    };
    for (size_t i = 0; i < s_.inputs.size(); i++) {
      const TensorType type = type_of(body, body.inputs[i]);
      add(s_.inputs[i], i >= carries && i < carries + sequences ? stacked(type) : type);
      if (i < carries) add(s_.outputs[i], type);
    }
    for (size_t i = 0; i < s_.outputs.size(); i++) {
      const TensorType type = type_of(body, body.outputs[i]);
      add(s_.outputs[i], i < carries ? type : stacked(type));
    }
  }

  std::vector<Taken> out;

 private:
  static TensorType type_of(const Program& p, int buffer) {
    return {p.buffers[buffer].dtype, p.buffers[buffer].shape};
  }
  void add(int buffer, TensorType type) { out.push_back({buffer, std::move(type)}); }

  const Program& p_;
  const Step& s_;
};

}  // namespace

std::vector<Taken> taken_types(const Program& root, const Program& program, const Step& step) {
  Types types(program, step);
  switch (step.kind) {
    case StepKind::Launch:
      if (const auto it = root.kernels.find(step.kernel); it != root.kernels.end())
        types.launch(it->second.params);
      else
        types.launch(root.loops.at(step.kernel).params);
      break;
    case StepKind::Copy: types.copy(); break;
    case StepKind::Foreign: types.foreign(); break;
    case StepKind::Cond: types.cond(); break;
    case StepKind::While: types.while_loop(); break;
    case StepKind::Scan: types.scan(); break;
  }
  return std::move(types.out);
}

void for_each_size(const Step& step, const std::function<void(const Size&, Symbol)>& f) {
  for (const auto& [symbol, size] : step.sizes) f(size, symbol);
  if (step.kind == StepKind::Scan) f(static_cast<const ScanLoopAttrs&>(*step.attrs).length.at(0), Symbol());
  if (step.kind == StepKind::Foreign)
    for (const auto& size : static_cast<const ForeignAttrs&>(*step.attrs).sizes) f(size, Symbol());
}

}  // namespace pto
