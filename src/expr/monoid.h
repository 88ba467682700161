#pragma once
// An associative combination of tuples with its identity: what reductions and scans fold with.
#include <string>

#include "expr/expr.h"

namespace pto {

struct Monoid {
  std::string name;         // "add", "max", "argmax", ...; "" for one written out
  std::vector<DType> types; // of the components
  Exprs init;               // constants: the identity
  // Of the components a0, a1, ... (earlier elements) and b0, b1, ... (later): see component().
  Exprs combine;

  int size() const { return static_cast<int>(types.size()); }
  Exprs apply(const Exprs& a, const Exprs& b) const;  // substitutes into `combine`
  bool operator==(const Monoid&) const = default;
};

Expr component(char side, int index, DType type);  // the variable a0, b1, ...

// "add", "mul", "max", "min", "and", "or" on one component; "argmax" and "argmin" on (value: type,
// index: i64): the first index of the extreme, NaN counting as the extreme; "welford" on (mean, m2,
// count). InternalError for another name.
Monoid make_monoid(std::string_view name, DType type);

// "max", or, written out: {f32(0), f32(0) | a0 + b0, a1 * b1}.
std::string to_text(const Monoid& monoid);

}  // namespace pto
