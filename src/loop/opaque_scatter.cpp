// scatter: a copy of x, then the updates. Updates to different lines never meet, so lines run in
// parallel; within one, updates are applied in their order.
#include "loop/opaque_build.h"

namespace pto::templates {
namespace {

constexpr int64_t kChunk = 64;   // inner positions that one worker takes at a time

struct Scatter {
  Symbol x, index, updates, y;
  DType type, index_type;
  Size extent;                   // of the axis
  std::string combine;

  Expr within(const Expr& at) const { return (Expr(0) <= at) & (at < extent); }

  Expr combined(const Expr& old, const Expr& update) const {
    Op op;
    return scatter_op(combine, op) ? make(op, {old, update}) : update;
  }

  StmtPtr update(const Exprs& place, const Expr& value, const Expr& mask) const {
    const Expr old = load_lanes(y, type, place, mask);
    return store(y, place, combined(old, value), mask);
  }
};

StmtPtr copy(const Scatter& s, const Shape& shape, int lanes) {
  const Size rows = product({shape.begin(), shape.end() - 1});
  return loop(ForKind::Parallel, "row", rows, [&](const Expr& row) {
    Exprs at = delinearise(row, {shape.begin(), shape.end() - 1});
    return in_lanes("e", shape.back(), lanes, [&](const Expr& e, const Expr& mask) -> Stmts {
      Exprs index = at;
      index.push_back(ramp(e, Expr(1), lanes));
      return {store(s.y, index, load_lanes(s.x, s.type, index, mask), mask)};
    });
  });
}

// One index for whole rows: y[outer, index[t], inner] with updates[outer, t, inner].
void rows_by_index(const Scatter& s, const Lines& to, const Lines& from, int lanes, LoopProgram& p) {
  p.params[0].shape = p.params[3].shape = to.shape();
  p.params[2].shape = from.shape();
  p.body.push_back(copy(s, to.shape(), lanes));
  p.body.push_back(barrier());
  const Size chunks = ceil_div(to.inner, Expr(kChunk));
  p.body.push_back(loop(ForKind::Parallel, "part", simplify(to.outer * chunks), [&](const Expr& part) {
    Stmts out;
    const Expr outer = named(out, "outer", floordiv(part, chunks));
    const Expr begin = named(out, "begin", mod(part, chunks) * Expr(kChunk));
    const Expr count = named(out, "count", min(Expr(kChunk), to.inner - begin));
    out.push_back(loop(ForKind::Serial, "t", from.axis, [&](const Expr& t) {
      Stmts body;
      const Expr at = named(body, "at", cast(DType::I64, load(s.index, s.index_type, {t})));
      body.push_back(check(s.within(at), 0));
      const Stmts row = in_lanes("e", count, lanes, [&](const Expr& e, const Expr& mask) -> Stmts {
        const Expr inner = ramp(begin + e, Expr(1), lanes);
        return {s.update({outer, at, inner}, load_lanes(s.updates, s.type, {outer, t, inner}, mask), mask)};
      });
      body.push_back(if_then(s.within(at), row));
      return body;
    }));
    return out;
  }));
  p.because.push_back("rows are updated in order, outer positions and parts of rows in parallel");
}

// One index for each element; the other coordinates of an update are those of its place.
void elements_by_index(const Scatter& s, const Kernel& k, int64_t axis, int lanes, LoopProgram& p) {
  const Shape &from = k.params[2].shape, &to = k.params[3].shape;
  p.body.push_back(copy(s, to, lanes));
  p.body.push_back(barrier());
  Shape others = from;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
  p.body.push_back(loop(ForKind::Parallel, "line", product(others), [&](const Expr& line) {
    Stmts out;
    Exprs at = delinearise(line, others);
    for (size_t d = 0; d < at.size(); d++) at[d] = named(out, ("at" + std::to_string(d)).c_str(), at[d]);
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), Expr());
    out.push_back(loop(ForKind::Serial, "t", from[axis], [&](const Expr& t) {
      Stmts body;
      Exprs here = at, there = at;
      here[axis] = t;
      there[axis] = named(body, "to", cast(DType::I64, load(s.index, s.index_type, here)));
      body.push_back(check(s.within(there[axis]), 0));
      body.push_back(
          if_then(s.within(there[axis]), {s.update(there, load(s.updates, s.type, here), Expr())}));
      return body;
    }));
    return out;
  }));
  p.because.push_back("lines along the axis in parallel, the updates of a line in order");
}

}  // namespace

LoopProgram scatter_program(const Kernel& kernel, const Target& target) {
  const auto& attrs = opaque_attrs<ScatterAttrs>(kernel);
  const Param &x = kernel.params[0], &index = kernel.params[1], &updates = kernel.params[2],
              &y = kernel.params[3];
  const Scatter s{x.name,  index.name,  updates.name,        y.name,
                  x.dtype, index.dtype, x.shape[attrs.axis], attrs.combine};
  std::vector<Shape> shapes;
  for (const auto& p : kernel.params) shapes.push_back(p.shape);
  LoopProgram p = program_of(kernel, std::move(shapes));
  p.messages = {scatter_message(attrs, s.extent)};
  const int lanes = target.lanes(size_of(x.dtype));
  if (index.shape.size() == x.shape.size()) {
    elements_by_index(s, kernel, attrs.axis, lanes, p);
  } else {
    const Lines to = lines_along(x.shape, attrs.axis), from = lines_along(updates.shape, attrs.axis);
    rows_by_index(s, to, from, to.inner.is_const(1) ? 1 : lanes, p);
  }
  return p;
}

}  // namespace pto::templates
