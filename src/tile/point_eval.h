#pragma once
// Expressions compiled to a list of operations and evaluated point by point over arrays: what the
// interpreters of definitions and of schedules run on.
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/points.h"
#include "expr/eval.h"

namespace pto {

// Dense row-major elements: a parameter's buffer, or a value over its axes.
struct PointArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  char* data = nullptr;
  std::shared_ptr<void> owner;
  bool single = false;            // one element, the same at every index

  static PointArray make(DType dtype, std::vector<int64_t> shape);
  int64_t elements() const;
  int64_t offset(const std::vector<int64_t>& index) const;  // InternalError outside the shape
  Scalar read(int64_t offset) const { return Scalar::from_bytes(dtype, data + offset * size_of(dtype)); }
  void write(int64_t offset, Scalar value) { value.to_bytes(data + offset * size_of(dtype)); }
};

// What names mean: variables by position in the list that is given at each point, arrays for loads.
struct PointScope {
  std::unordered_map<Symbol, int> vars;
  std::unordered_map<Symbol, PointArray*> arrays;
};

class PointExpr {
 public:
  PointExpr() = default;
  PointExpr(const Expr& e, const PointScope& scope, MathMode mode);
  Scalar operator()(const std::vector<Scalar>& vars) const;

 private:
  struct Step {
    Op op;
    DType type;
    int var = 0;
    PointArray* array = nullptr;
    std::vector<int> args;
  };
  std::vector<Step> steps_;             // one per slot, operands first
  mutable std::vector<Scalar> slots_;
  MathMode mode_ = MathMode::Reference;
};

}  // namespace pto
