// Loops and their short chunks. Where the size of a tile is constant, full chunks and the rest are
// known; else full chunks run in a loop of their own, and what is left in a copy of the body whose
// positions may lie beyond the axis's end, or (`one_code`) all chunks run such a body.
#include "base/error.h"
#include "loop/lower_emit.h"

namespace pto::lowering {
namespace {

constexpr const char* kWhere = "loop/lower";

Expr ceil_of(const Expr& n, int64_t step) { return step == 1 ? n : ceil_div(n, Expr(step)); }

Expr floor_of(const Expr& n, int64_t step) { return step == 1 ? n : simplify(floordiv(n, Expr(step))); }

Expr times(const Expr& e, int64_t factor) { return factor == 1 ? e : e * Expr(factor); }

// The most chunks, if they are known.
int64_t most_chunks(const Tile& t, int64_t chunk) {
  return t.width > 0 ? (t.width + chunk - 1) / chunk : kNotNegative;
}

// Chunk `index` of a tile, all of whose positions exist.
Tile full_chunk(const Tile& t, int64_t step, const Expr& index, int64_t count) {
  Tile c;
  c.at = plus(t.at, step, index, count);
  c.bound = step == 1 ? Tile::Point : Tile::Range;
  c.width = step;
  c.extent = Expr(step);
  return c;
}

Tile short_chunk(const Tile& t, int64_t step, const Expr& index, int64_t count, const Expr& extent) {
  Tile c;
  c.at = plus(t.at, step, index, count);
  c.width = step;
  c.extent = extent;
  if (extent.is_const()) return c;
  // Does the axis end where the chunk is cut, or just the tile?
  const bool ends_with_axis =
      t.width == 0 || (t.width % step == 0 && t.cut_width == t.width && relative(t.at, t.cut).max() == 0);
  c.cut = ends_with_axis ? c.at : t.cut;
  c.cut_width = ends_with_axis ? step : t.cut_width;
  return c;
}

Expr lane_mask(int lanes, const Expr& extent) {
  const bool bounded = extent.op() == Op::Min && extent.arg(0).is_const() && extent.arg(0).as_int() >= lanes;
  return ramp(Expr(0), Expr(1), lanes) < (bounded ? extent.arg(1) : extent);
}

}  // namespace

LoopForm Emitter::form(int loop) const {
  const ScheduleNode& n = plan.node(loop);
  LoopForm f;
  f.kind = n.kind;
  f.axis = n.axis;
  f.step = n.step;
  f.unroll = n.unroll;
  f.one_code = n.clip || (n.kind != LoopKind::Vector && !plan.splits_off_short_chunk(loop));
  f.constant_trips = plan.constant_trips(loop);
  f.beyond_end = plan.runs_beyond_end(loop);
  f.backwards = plan.walks_backwards(loop);
  if (n.kind == LoopKind::Unrolled) f.parts = unrolled_chunks(plan.kernel, plan.placement, loop);
  return f;
}

Stmts Emitter::loops(const std::vector<LoopForm>& chain, const Env& env, const Body& body, size_t from) {
  if (from == chain.size()) return body(env);
  const LoopForm& f = chain[from];
  size_t next = from + 1;
  if (f.kind == LoopKind::Parallel) {
    std::set<Symbol> axes{f.axis};
    while (next < chain.size() && chain[next].kind == LoopKind::Parallel &&
           axes.insert(chain[next].axis).second)
      next++;
  }
  const Body inner = [&](const Env& e) {
    std::vector<LoopForm> rest(chain.begin() + static_cast<std::ptrdiff_t>(next), chain.end());
    // A further loop over the same axis takes its turn within a worker's iteration.
    for (auto& r : rest)
      if (r.kind == LoopKind::Parallel) r.kind = LoopKind::Serial;
    return loops(rest, e, body);
  };
  switch (f.kind) {
    case LoopKind::Serial: return serial(f, env, inner);
    case LoopKind::Unrolled: return unrolled(f, env, inner);
    case LoopKind::Vector: return vector(f, env, inner);
    case LoopKind::Parallel: return parallel(chain, from, next, env, inner);
  }
  return {};
}

Stmts Emitter::serial(const LoopForm& f, const Env& env, const Body& inner) {
  const Tile& t = env.tile(f.axis);
  const std::string name = f.axis.str() + (f.step > 1 ? "o" : "");
  auto loop = [&](const Expr& count, int64_t most, const std::function<Tile(const Expr&)>& tile) {
    const Symbol v = fresh(name);
    const Expr index = f.backwards ? count - Expr(1) - var(v) : var(v);
    return for_loop(ForKind::Serial, v, Expr(0), count, Expr(1),
                    inner(env.with(f.axis, tile(most == 1 ? Expr(0) : index))));
  };
  Stmts out;
  if (t.extent.is_const()) {
    const int64_t whole = t.extent.as_int() / f.step, rest = t.extent.as_int() % f.step;
    Stmts full, last;
    if (whole == 1) full = inner(env.with(f.axis, full_chunk(t, f.step, Expr(0), 1)));
    if (whole > 1)
      full.push_back(
          loop(Expr(whole), whole, [&](const Expr& i) { return full_chunk(t, f.step, i, whole); }));
    if (rest > 0) last = inner(env.with(f.axis, short_chunk(t, f.step, Expr(whole), 0, Expr(rest))));
    append(out, f.backwards ? std::move(last) : std::move(full));
    append(out, f.backwards ? std::move(full) : std::move(last));
    return out;
  }
  if (f.step == 1) {
    const int64_t most = most_chunks(t, 1);
    out.push_back(loop(t.extent, most, [&](const Expr& i) { return full_chunk(t, 1, i, most); }));
    return out;
  }
  if (t.width > 0 && t.width <= f.step) return inner(env);
  const int64_t most = most_chunks(t, f.step);
  if (f.one_code) {
    const Expr count = named(out, name + "_count", ceil_of(t.extent, f.step));
    const Symbol v = fresh(name);
    const Expr index = f.backwards ? count - Expr(1) - var(v) : var(v);
    Stmts body;
    const Expr extent =
        named(body, f.axis.str() + "_left", min(Expr(f.step), t.extent - index * Expr(f.step)));
    append(body, inner(env.with(f.axis, short_chunk(t, f.step, index, most, extent))));
    out.push_back(for_loop(ForKind::Serial, v, Expr(0), count, Expr(1), std::move(body)));
    return out;
  }
  const Expr full_count = named(out, name + "_full", floor_of(t.extent, f.step));
  const StmtPtr full = loop(full_count, most, [&](const Expr& i) { return full_chunk(t, f.step, i, most); });
  Stmts body;
  const Expr extent = named(body, f.axis.str() + "_left", simplify(t.extent - full_count * Expr(f.step)));
  append(body, inner(env.with(f.axis, short_chunk(t, f.step, full_count, most, extent))));
  const StmtPtr last = if_then(full_count * Expr(f.step) < t.extent, std::move(body));
  out.push_back(f.backwards ? last : full);
  out.push_back(f.backwards ? full : last);
  return out;
}

// One loop over the product of all chunks; the last axis varies fastest.
Stmts Emitter::parallel(const std::vector<LoopForm>& chain, size_t from, size_t to, const Env& env,
                        const Body& inner) {
  Stmts out;
  Exprs counts;
  Expr total;
  for (size_t i = from; i < to; i++) {
    const Tile& t = env.tile(chain[i].axis);
    const Expr count = named(out, chain[i].axis.str() + "_count", ceil_of(t.extent, chain[i].step));
    counts.push_back(count);
    total = total ? simplify(total * count) : count;
  }
  const std::string name = chain[from].axis.str() + (chain[from].step > 1 ? "o" : "");
  const Symbol v = fresh(to - from == 1 ? name : "p");
  Stmts body;
  Exprs indices(to - from, Expr(0));
  std::vector<size_t> loops_left;   // of more than one iteration
  for (size_t i = 0; i < to - from; i++)
    if (!counts[i].is_const(1)) loops_left.push_back(i);
  Expr left = var(v);
  for (; !loops_left.empty(); loops_left.pop_back()) {
    const size_t i = loops_left.back();
    auto index_name = [&](size_t of) {
      return chain[from + of].axis.str() + (chain[from + of].step > 1 ? "o" : "");
    };
    if (loops_left.size() == 1) {
      indices[i] = left;
      continue;
    }
    indices[i] = named(body, index_name(i), mod(left, counts[i]));
    left = named(body, loops_left.size() == 2 ? index_name(loops_left[0]) : "p", floordiv(left, counts[i]));
  }
  const std::function<Stmts(size_t, const Env&)> level = [&](size_t i, const Env& e) -> Stmts {
    if (i == to - from) return inner(e);
    const LoopForm& f = chain[from + i];
    const Tile& t = env.tile(f.axis);
    const Expr& index = indices[i];
    const int64_t most = counts[i].is_const() ? counts[i].as_int() : most_chunks(t, f.step);
    auto next = [&](Tile tile) { return level(i + 1, e.with(f.axis, std::move(tile))); };
    const Tile full = full_chunk(t, f.step, index, most);
    if (f.step == 1) return next(full);
    Expr rest;   // of the last chunk
    if (t.extent.is_const()) {
      const int64_t whole = t.extent.as_int() / f.step, left_over = t.extent.as_int() % f.step;
      if (left_over == 0) return next(full);
      if (whole == 0) return next(short_chunk(t, f.step, index, most, Expr(left_over)));
      return {if_then(index < Expr(whole), next(full),
                      next(short_chunk(t, f.step, Expr(whole), most, Expr(left_over))))};
    }
    Stmts stmts;
    const Expr left_here = t.extent - index * Expr(f.step);
    if (f.one_code) {
      const Expr extent = named(stmts, f.axis.str() + "_left", min(Expr(f.step), left_here));
      append(stmts, next(short_chunk(t, f.step, index, most, extent)));
      return stmts;
    }
    const Expr extent = named(stmts, f.axis.str() + "_left", left_here);
    stmts.push_back(
        if_then(Expr(f.step) <= extent, next(full), next(short_chunk(t, f.step, index, most, extent))));
    return stmts;
  };
  append(body, level(0, env));
  out.push_back(for_loop(ForKind::Parallel, v, Expr(0), total, Expr(1), std::move(body)));
  return out;
}

Stmts Emitter::unrolled(const LoopForm& f, const Env& env, const Body& inner) {
  const Tile& t = env.tile(f.axis);
  PTO_CHECK(t.width > 0 || t.extent.is_const(), kWhere,
            "an unrolled loop over " + f.axis.str() + ", whose size is not constant");
  auto copy = [&](Tile tile, const Expr& index) {
    return inner(env.with(f.axis, std::move(tile)).with(Part{f.axis, index, f.parts}));
  };
  auto loop = [&](int64_t count, const std::function<Stmts(const Expr&)>& body) -> Stmts {
    if (count == 1) return body(Expr(0));
    const Symbol v = fresh(f.axis.str());
    return {for_loop(ForKind::Unrolled, v, Expr(0), Expr(count), Expr(1), body(var(v)))};
  };
  Stmts out;
  if (t.extent.is_const()) {
    const int64_t whole = t.extent.as_int() / f.step, rest = t.extent.as_int() % f.step;
    if (whole > 0)
      append(out, loop(whole, [&](const Expr& i) { return copy(full_chunk(t, f.step, i, whole), i); }));
    if (rest > 0) append(out, copy(short_chunk(t, f.step, Expr(whole), 0, Expr(rest)), Expr(whole)));
    return out;
  }
  const int64_t count = most_chunks(t, f.step);
  return loop(count, [&](const Expr& i) -> Stmts {
    Tile c = full_chunk(t, f.step, i, count);
    c.cut = t.cut;
    c.cut_width = t.cut_width;
    const Expr left = i.is_const(0) ? t.extent : t.extent - times(i, f.step);
    if (f.step > 1) c.extent = min(Expr(f.step), left);
    if (f.beyond_end) {
      if (f.step == 1) c.exists = i < t.extent;
      return copy(std::move(c), i);
    }
    Stmts body = copy(std::move(c), i);
    if (i.is_const(0)) return body;
    return {if_then(times(i, f.step) < t.extent, std::move(body))};
  });
}

Stmts Emitter::vector(const LoopForm& f, const Env& env, const Body& inner) {
  const Tile& t = env.tile(f.axis);
  const int lanes = static_cast<int>(f.step);
  const int64_t chunk = f.step * f.unroll;
  auto loop = [&](ForKind kind, const Expr& count, const std::function<Stmts(const Expr&)>& body) -> Stmts {
    if (count.is_const(1)) return body(Expr(0));
    const Symbol v = fresh(f.axis.str() + (kind == ForKind::Serial ? "o" : ""));
    return {for_loop(kind, v, Expr(0), count, Expr(1), body(var(v)))};
  };
  // All lanes of a vector exist, or only the first `extent` ones.
  auto vector_at = [&](const Tile& from, const Expr& u, int64_t count, const Expr& extent) {
    Stmts out;
    Tile v = full_chunk(from, f.step, u, count);
    v.bound = lanes == 1 ? Tile::Point : Tile::Lanes;
    v.at = lanes_of(v.at, lanes);
    v.cut = from.cut;
    v.cut_width = from.cut_width;
    if (extent) {
      const Expr exists = named(out, f.axis.str() + "_mask", lane_mask(lanes, extent));
      if (lanes == 1) {   // a position that may not exist is passed over
        out.push_back(if_then(exists, inner(env.with(f.axis, std::move(v)).with(Part{f.axis, u, f.unroll}))));
        return out;
      }
      v.extent = extent;
      v.exists = exists;
    }
    append(out, inner(env.with(f.axis, std::move(v)).with(Part{f.axis, u, f.unroll})));
    return out;
  };
  auto vectors = [&](const Tile& from, int64_t count, bool masked) -> Stmts {
    if (count == 0) return {};
    return loop(ForKind::Unrolled, Expr(count), [&](const Expr& u) {
      const Expr extent = u.is_const(0) ? from.extent : from.extent - u * Expr(f.step);
      return vector_at(from, u, count, masked ? extent : Expr());
    });
  };
  const ForKind kind = f.constant_trips ? ForKind::Unrolled : ForKind::Serial;
  Stmts out;
  if (t.extent.is_const()) {
    const int64_t whole = t.extent.as_int() / chunk, rest = t.extent.as_int() % chunk;
    if (whole > 0)
      append(out, loop(kind, Expr(whole), [&](const Expr& i) {
               return vectors(full_chunk(t, chunk, i, whole), f.unroll, false);
             }));
    if (rest > 0) {
      Tile last = full_chunk(t, chunk, Expr(whole), 0);
      append(out, vectors(last, rest / lanes, false));
      if (rest % lanes > 0) append(out, vector_at(last, Expr(rest / lanes), 0, Expr(rest % lanes)));
    }
    return out;
  }
  const int64_t most = most_chunks(t, chunk);
  auto short_one = [&](const Expr& index, const Expr& extent) {
    Tile last = short_chunk(t, chunk, index, most, extent);
    if (f.constant_trips) {   // the tile's own end counts
      last.cut = t.cut;
      last.cut_width = t.cut_width;
    }
    return vectors(last, f.unroll, true);
  };
  auto left = [&](const Expr& index) {
    return index.is_const(0) ? t.extent : t.extent - index * Expr(chunk);
  };
  if (f.constant_trips) return loop(kind, Expr(most), [&](const Expr& i) { return short_one(i, left(i)); });
  if (f.one_code) {
    const Expr count = named(out, f.axis.str() + "_count", ceil_of(t.extent, chunk));
    append(out, loop(kind, count, [&](const Expr& i) { return short_one(i, left(i)); }));
    return out;
  }
  const Expr full_count = named(out, f.axis.str() + "_full", floor_of(t.extent, chunk));
  append(out, loop(kind, full_count,
                   [&](const Expr& i) { return vectors(full_chunk(t, chunk, i, most), f.unroll, false); }));
  Stmts body;
  const Expr extent = named(body, f.axis.str() + "_left", left(full_count));
  append(body, short_one(full_count, extent));
  out.push_back(if_then(full_count * Expr(chunk) < t.extent, std::move(body)));
  return out;
}

}  // namespace pto::lowering
