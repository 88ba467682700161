#include "tile/point_eval.h"

#include "base/buffer.h"
#include "base/error.h"

namespace pto {

PointArray PointArray::make(DType dtype, std::vector<int64_t> shape) {
  PointArray a{dtype, std::move(shape)};
  a.owner = allocate(a.elements() * size_of(dtype));
  a.data = static_cast<char*>(a.owner.get());
  return a;
}

int64_t PointArray::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

int64_t PointArray::offset(const std::vector<int64_t>& index) const {
  if (single) return 0;
  PTO_CHECK(index.size() == shape.size(), "tile/interpret", "an index of the wrong rank");
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); d++) {
    PTO_CHECK(index[d] >= 0 && index[d] < shape[d], "tile/interpret",
              "index " + std::to_string(index[d]) + " of dimension " + std::to_string(d) +
                  " is outside its size " + std::to_string(shape[d]));
    at = at * shape[d] + index[d];
  }
  return at;
}

PointExpr::PointExpr(const Expr& e, const PointScope& scope, MathMode mode) : mode_(mode) {
  std::unordered_map<const ExprNode*, int> slot;
  visit(e, [&](const Expr& n) {
    Step step{n.op(), n.type(), 0, nullptr, {}};
    PTO_CHECK(n.lanes() == 1, "tile/interpret", "a vector in a body: " + n.str());
    for (const auto& a : n.args()) step.args.push_back(slot.at(a.get()));
    Scalar initial;
    if (n.is_const()) initial = n.value();
    if (n.is_var()) {
      auto it = scope.vars.find(n.symbol());
      PTO_CHECK(it != scope.vars.end(), "tile/interpret", "unbound variable " + n.symbol().str());
      step.var = it->second;
    }
    if (n.is_load()) {
      auto it = scope.arrays.find(n.symbol());
      PTO_CHECK(it != scope.arrays.end(), "tile/interpret", "unknown array " + n.symbol().str());
      step.array = it->second;
    }
    slot.emplace(n.get(), static_cast<int>(steps_.size()));
    steps_.push_back(std::move(step));
    slots_.push_back(initial);
  });
}

Scalar PointExpr::operator()(const std::vector<Scalar>& vars) const {
  std::vector<int64_t> index;
  for (size_t s = 0; s < steps_.size(); s++) {
    const Step& step = steps_[s];
    switch (step.op) {
      case Op::Const: break;
      case Op::Var: slots_[s] = vars[step.var]; break;
      case Op::LoadIf:
        if (!slots_[step.args[0]].to_bool()) {
          slots_[s] = slots_[step.args[1]];
          break;
        }
        [[fallthrough]];
      case Op::Load: {
        index.clear();
        for (size_t i = step.op == Op::LoadIf ? 2 : 0; i < step.args.size(); i++)
          index.push_back(slots_[step.args[i]].to_int());
        slots_[s] = step.array->read(step.array->offset(index));
        break;
      }
      case Op::Select: slots_[s] = slots_[step.args[slots_[step.args[0]].to_bool() ? 1 : 2]]; break;
      case Op::Cast: slots_[s] = convert(slots_[step.args[0]], step.type); break;
      case Op::Bitcast: slots_[s] = {step.type, slots_[step.args[0]].bits}; break;
      default: {
        Scalar args[3];
        for (size_t i = 0; i < step.args.size(); i++) args[i] = slots_[step.args[i]];
        slots_[s] = eval_op(step.op, args, mode_);
      }
    }
  }
  return slots_.back();
}

}  // namespace pto
