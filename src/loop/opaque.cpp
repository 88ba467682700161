#include "loop/opaque.h"

#include "base/error.h"
#include "loop/opaque_build.h"

namespace pto {
namespace templates {

LoopProgram program_of(const Kernel& kernel, std::vector<Shape> shapes) {
  LoopProgram p;
  p.name = kernel.name;
  p.sizes = kernel.sizes;
  for (size_t i = 0; i < kernel.params.size(); i++) {
    const Param& param = kernel.params[i];
    p.params.push_back({param.name, param.dtype, std::move(shapes[i]), param.output});
  }
  p.because = kernel.because;
  return p;
}

Lines lines_along(const Shape& shape, int64_t axis) {
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {product({shape.begin(), at}), *at, product({at + 1, shape.end()})};
}

Stmts operator+(Stmts a, const Stmts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

StmtPtr loop(ForKind kind, const char* name, const Expr& count,
             const std::function<Stmts(const Expr&)>& body) {
  return for_loop(kind, Symbol(name), Expr(0), count, Expr(1), body(var(name)));
}

StmtPtr for_lines(const Lines& lines, const std::function<Stmts(const Expr&, const Expr&)>& body) {
  return loop(ForKind::Parallel, "line", simplify(lines.outer * lines.inner), [&](const Expr& line) {
    if (lines.inner.is_const(1)) return body(line, Expr(0));
    Stmts out;
    const Expr outer = named(out, "outer", floordiv(line, lines.inner));
    const Expr inner = named(out, "inner", mod(line, lines.inner));
    return out + body(outer, inner);
  });
}

Stmts in_lanes(const char* name, const Size& count, int lanes,
               const std::function<Stmts(const Expr&, const Expr&)>& body) {
  const Expr width(lanes);
  Stmts out;
  const Expr full = lanes == 1 ? count : simplify(floordiv(count, width));
  out.push_back(loop(ForKind::Serial, name, full,
                     [&](const Expr& i) { return body(lanes == 1 ? i : i * width, Expr()); }));
  if (lanes == 1) return out;
  const Expr mask = ramp(Expr(0), Expr(1), lanes) < count - full * width;
  out.push_back(if_then(full * width < count, body(full * width, mask)));
  return out;
}

Expr named(Stmts& out, const char* name, const Expr& value) {
  out.push_back(let(Symbol(name), value));
  return var(name, value.type(), value.lanes());
}

Expr load_lanes(Symbol buffer, DType type, const Exprs& index, const Expr& mask) {
  return mask ? load_if(buffer, type, mask, constant(type, 0), index) : load(buffer, type, index);
}

Expr sorts_before(const Expr& a, const Expr& b, bool descending) {
  if (descending) return sorts_before(b, a, false);
  if (!is_float(a.type())) return a < b;
  const Expr a_is_number = equal(a, a), b_is_nan = make(Op::Ne, {b, b});
  return (a < b) | (b_is_nan & a_is_number);
}

}  // namespace templates

LoopProgram lower_opaque(const Kernel& kernel, const Target& target) {
  if (kernel.opaque == "sort") return templates::sort_program(kernel, target);
  if (kernel.opaque == "topk") return templates::topk_program(kernel, target);
  if (kernel.opaque == "scatter") return templates::scatter_program(kernel, target);
  throw InternalError("loop/lower", "unknown template " + kernel.opaque);
}

}  // namespace pto
