#pragma once
// What the loop templates share: parameters seen as [outer, axis, inner], and loops that write
// themselves.
#include <functional>

#include "loop/loop.h"
#include "schedule/target.h"
#include "tile/opaque.h"

namespace pto::templates {

using Stmts = std::vector<StmtPtr>;

// A program with the kernel's parameters, all shapes as given.
LoopProgram program_of(const Kernel& kernel, std::vector<Shape> shapes);

// The product of the sizes before an axis, its own, and that of those behind it.
struct Lines {
  Size outer, axis, inner;
  Shape shape() const { return {outer, axis, inner}; }
};
Lines lines_along(const Shape& shape, int64_t axis);

Stmts operator+(Stmts a, const Stmts& b);
StmtPtr loop(ForKind kind, const char* var, const Expr& count, const std::function<Stmts(const Expr&)>& body);
// Parallel over outer x inner: body(outer, inner).
StmtPtr for_lines(const Lines& lines, const std::function<Stmts(const Expr&, const Expr&)>& body);
// All positions in vectors of `lanes`; body(first position, mask), an empty mask where all lanes exist.
Stmts in_lanes(const char* var, const Size& count, int lanes,
               const std::function<Stmts(const Expr&, const Expr&)>& body);
// Adds `let name = value` and gives the variable.
Expr named(Stmts& out, const char* name, const Expr& value);
// A load of lanes of which some may not exist.
Expr load_lanes(Symbol buffer, DType type, const Exprs& index, const Expr& mask);

// Does `a` stand before `b` in ascending (descending) order, from their values alone? NaN counts as
// the greatest.
Expr sorts_before(const Expr& a, const Expr& b, bool descending);

// One file each.
LoopProgram sort_program(const Kernel& kernel, const Target& target);
LoopProgram topk_program(const Kernel& kernel, const Target& target);
LoopProgram scatter_program(const Kernel& kernel, const Target& target);

}  // namespace pto::templates
