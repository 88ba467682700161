#pragma once
// How a row describes its result to the kernel that is being formed: "the element at this index is
// this expression". Implemented by tile/form_kernels; rows only call it.
#include <functional>
#include <vector>

#include "expr/size.h"
#include "graph/node.h"
#include "expr/monoid.h"

namespace pto {

class Emit {
 public:
  virtual ~Emit() = default;

  // Element of an operand. Indices must be within bounds for all index values that occur.
  virtual Expr element(const Value& operand, const Exprs& index) = 0;
  // Element where `predicate` holds, `other` where it does not (the operand is not read there).
  virtual Expr element_if(const Expr& predicate, const Value& operand, const Exprs& index,
                          const Expr& other) = 0;
  // A reduction over new axes of the given extents: `body` gets their index variables and gives
  // one expression per component of the monoid. Gives the components at the current point.
  virtual Exprs reduce(const Monoid& monoid, const Shape& extents,
                       const std::function<Exprs(const Exprs&)>& body) = 0;
  // A sum of products over new axes; `lhs` and `rhs` are the factors. The result has type `accum`.
  virtual Expr contract(const Shape& extents, DType accum,
                        const std::function<std::pair<Expr, Expr>(const Exprs&)>& factors) = 0;
  // An inclusive scan along one axis of extent `extent`, read at `at`: body(i) is the element.
  virtual Exprs scan(const Monoid& monoid, const Size& extent, const Expr& at, bool reverse,
                     const std::function<Exprs(const Expr&)>& body) = 0;
  // `index` if 0 <= index < extent (negative indices must be wrapped before); else the error flag
  // is raised with the node's operator and line, and some index within bounds is used.
  virtual Expr checked_index(const Expr& index, const Size& extent, int64_t axis, const Node& node) = 0;
};

}  // namespace pto
