#pragma once
// The tile level, first half: what a kernel computes. Named axes with symbolic sizes, and values
// over subsets of the axes. Target-independent. The second half, how, is schedule/schedule.h.
//
//   kernel mlp_up[M, K, N](x: f32[M, K], w: f32[K, N], b: f32[N]) -> (y: f32[M, N]) {
//     axis i: M
//     axis j: N
//     axis k: K
//     t[i, j]: f32 = contract(k) x[i, k] * w[k, j]
//     u[i, j]: f32 = map t[i, j] + b[j]
//     m, a[i]: f32, i64 = reduce(argmax, j) u[i, j], j
//     store y[i, j] = max(u[i, j], f32(0))
//     because "..."                       # reasons of decisions, kept for the tools
//   }
//   kernel sorted[M, N](x: f32[M, N]) -> (y: f32[M, N], p: i64[M, N]) {
//     opaque sort {axis = 1, descending = false, by_index = false}
//   }
//
// The text leaves out locations, so that equal kernels have equal texts; `scan(add, j, reverse)` and
// `store y[i] = v if p` are the other forms, and a check is `check[i, j] condition, "message"`.
//
// Meaning. A value is a function of its axes. `map` is its expression; `reduce(monoid, axes)` and
// `contract(axes)` fold their bodies over all values of the axes in some order (the schedule's;
// without a schedule, row-major ascending from the identity); `scan(monoid, axis)` at position p
// folds over positions 0..p of its (free) axis (p..last with `reverse`). Contract multiplies in the
// accumulator type and adds with a fused multiply-add where that type is floating. Bodies name
// parameters with any index expression, and earlier values at exactly their own axes in their
// order. An axis bound by reduce or contract is local to that value: the same name may be free
// elsewhere. Axes that are free in a store's index are looped over. `check` sets the error flag where
// its condition is false, over all values of the axes it names.
#include <string>
#include <vector>

#include "base/loc.h"
#include "expr/size.h"
#include "graph/attrs.h"
#include "expr/monoid.h"

namespace pto {

struct Axis {
  Symbol name;
  Size extent;
};

struct Param {
  Symbol name;
  DType dtype;
  Shape shape;        // row-major, dense
  bool output = false;
};

enum class ValueKind : uint8_t { Map, Reduce, Contract, Scan };

struct TileValue {
  std::vector<Symbol> names;   // one, or the components of a tuple
  std::vector<DType> types;    // one per name
  ValueKind kind = ValueKind::Map;
  std::vector<Symbol> axes;    // the free axes; for Scan these include the scanned one
  std::vector<Symbol> over;    // Reduce, Contract: the folded axes; Scan: the scanned axis
  Monoid monoid;               // Reduce, Scan
  bool reverse = false;        // Scan
  Exprs body;                  // one per name; Contract: a product Mul(lhs, rhs)
  Loc loc;

  Expr ref(int component = 0) const;  // the value at its own axes
};

struct TileStore {
  Symbol param;
  Exprs index;
  Expr value;
  Expr predicate;              // empty: always
  Loc loc;
};

struct TileCheck {
  Expr condition;              // over axis variables, parameters and values
  std::vector<Symbol> axes;
  std::string message;         // "[take] index out of range for axis 0 of size N"
  Loc loc;
};

struct Kernel {
  Symbol name;
  std::vector<Symbol> sizes;   // size symbols, in the order in which they are passed
  std::vector<Param> params;   // inputs first, then outputs
  std::vector<Axis> axes;
  std::vector<TileValue> values;   // in dependence order
  std::vector<TileCheck> checks;
  std::vector<TileStore> stores;
  std::string opaque;              // a loop template's name (tile/opaque.h), or empty
  AttrsPtr opaque_attrs;
  std::vector<std::string> because;

  const Param* param(Symbol name) const;
  const TileValue* value(Symbol name) const;   // the value that has this component
  const Axis* axis(Symbol name) const;
};

// Calls f with every expression of what a kernel computes, in the order of the text; to read or to
// rewrite. Shapes and extents are not among them.
template <class K, class F>
void for_each_expr(K& k, F f) {
  for (auto& v : k.values)
    for (auto& e : v.body) f(e);
  for (auto& c : k.checks) f(c.condition);
  for (auto& s : k.stores) {
    for (auto& e : s.index) f(e);
    f(s.value);
    if (s.predicate) f(s.predicate);
  }
}

std::string to_text(const Kernel& kernel);
Kernel parse_kernel(Lexer& in);
// The definition alone; throws InternalError naming `where`.
void verify(const Kernel& kernel, std::string_view where);
// Runs the definition, slowly. `buffers` are the params in order, outputs allocated by the caller.
// `error` receives the first failed check's message.
void interpret(const Kernel& kernel, const std::vector<BufferPtr>& buffers, const Sizes& sizes,
               std::string* error = nullptr);

}  // namespace pto
