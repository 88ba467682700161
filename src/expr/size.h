#pragma once
// Sizes are i64 expressions over symbols; these helpers keep them in canonical form: a sum of
// products, sorted, so that equal sizes are usually the same expression.
#include <map>
#include <optional>

#include "expr/expr.h"

namespace pto {

using Size = Expr;
using Shape = std::vector<Size>;
// Values of size symbols.
using Sizes = std::map<Symbol, int64_t>;

// Canonical form of an integer expression; exact for all values that do not overflow, under the
// assumption that every size symbol is >= 0. Other expressions are returned with their integer
// parts simplified and constants folded exactly.
Expr simplify(const Expr& e);

// Is it proved that they are equal (true), differ (false), or neither?
std::optional<bool> prove_equal(const Size& a, const Size& b);
std::optional<bool> prove_less(const Expr& a, const Expr& b);
// Bounds of an integer expression, given bounds of its variables (a symbol without one: [0, max]).
struct Interval {
  int64_t lo, hi;
};
Interval bounds(const Expr& e, const std::map<Symbol, Interval>& vars = {});

Size product(const Shape& shape);
// Row-major strides, in elements.
std::vector<Size> row_major_strides(const Shape& shape);
Size linear_index(const Exprs& indices, const Shape& shape);
Exprs delinearise(const Expr& index, const Shape& shape);
Size ceil_div(const Size& a, const Size& b);

int64_t eval_size(const Size& size, const Sizes& values);  // InternalError for an unbound symbol
bool is_bound(const Expr& e, const Sizes& values);         // has every symbol of it a value?
std::vector<int64_t> eval_shape(const Shape& shape, const Sizes& values);
bool is_static(const Size& size);

// A declared shape and the sizes that were met, of the same rank.
struct ShapeMatch {
  const Shape& declared;
  const std::vector<int64_t>& actual;
};
struct ShapeMismatch {
  size_t match, axis;
};
// Adds to `values` every symbol that the sizes determine, and tells the first axis that disagrees
// or stays unknown.
std::optional<ShapeMismatch> solve_sizes(const std::vector<ShapeMatch>& matches, Sizes& values);

std::string shape_text(const Shape& shape);  // "[B, 4*S, 64]"
Shape parse_shape(Lexer& in);                // the same, brackets included

}  // namespace pto
