// sort and topk: lines in parallel. A line is sorted in runs by counting ranks, then runs are merged
// pairwise, from one half of the scratch to the other. A short list of the best is kept by insertion.
#include "loop/opaque_build.h"

namespace pto::templates {
namespace {

constexpr int kRun = 16;
constexpr int64_t kPasses = 44;        // runs of 16 become lines of 2^48
constexpr int64_t kInsertAtMost = 128;

struct Sorted {
  Symbol keys{"keys"}, order{"order"}, passes{"passes"}, at{"at"};
  DType type;
  bool descending, with_order;
  Symbol x;

  Expr before(const Expr& a, const Expr& b) const { return sorts_before(a, b, descending); }
  Expr key(const Expr& half, const Expr& i) const { return load(keys, type, {half, i}); }
  Expr position(const Expr& half, const Expr& i) const { return load(order, DType::I64, {half, i}); }
  // The half of the scratch where the line is sorted in the end.
  Expr result_half() const { return mod(load(passes, DType::I64, {}), Expr(2)); }

  Stmts put(const Expr& half, const Expr& i, const Expr& value, const Expr& from) const {
    Stmts out{store(keys, {half, i}, value)};
    if (with_order) out.push_back(store(order, {half, i}, from));
    return out;
  }

  Stmts allocate(const Size& n) const {
    Stmts out{alloc(keys, type, {Expr(2), n}, Scope::Private)};
    if (with_order) out.push_back(alloc(order, DType::I64, {Expr(2), n}, Scope::Private));
    out.push_back(alloc(passes, DType::I64, {}, Scope::Register));
    return out;
  }

  // An element's rank is the number of those in its run that go ahead of it.
  StmtPtr sort_runs(const Size& n, const Expr& outer, const Expr& inner) const {
    return loop(ForKind::Serial, "run", ceil_div(n, Expr(kRun)), [&](const Expr& run) {
      Stmts out;
      const Expr lane = ramp(Expr(0), Expr(1), kRun);
      const Expr base = named(out, "base", run * Expr(kRun));
      const Expr left = named(out, "left", min(Expr(kRun), n - base));
      const Expr exists = named(out, "exists", lane < left);
      const Expr others = named(
          out, "others", load_lanes(x, type, {outer, ramp(run * Expr(kRun), Expr(1), kRun), inner}, exists));
      out.push_back(loop(ForKind::Serial, "e", left, [&](const Expr& e) {
        Stmts body;
        const Expr mine = named(body, "mine", load(x, type, {outer, base + e, inner}));
        const Expr not_behind = make(Op::Not, {before(mine, others)});
        const Expr ahead = named(body, "ahead", exists & (before(others, mine) | (not_behind & (lane < e))));
        const Expr one = Expr(Scalar::from_int(DType::I32, 1)), zero = Expr(Scalar::from_int(DType::I32, 0));
        const Expr rank = named(
            body, "rank", cast(DType::I64, hreduce(Op::Add, select(ahead, broadcast(one, kRun), zero))));
        return body + put(Expr(0), base + rank, mine, base + e);
      }));
      return out;
    });
  }

  // Of equal elements, those of the left run come first.
  Stmts merge(const Size& n, const Expr& pass, const Expr& lo, const Expr& mid, const Expr& hi) const {
    const Expr from = mod(pass, Expr(2)), to = Expr(1) - mod(pass, Expr(2));
    Stmts out{alloc(at, DType::I64, {Expr(2)}, Scope::Register), store(at, {Expr(0)}, lo),
              store(at, {Expr(1)}, mid)};
    out.push_back(for_loop(ForKind::Serial, Symbol("k"), lo, hi, Expr(1), [&] {
      Stmts body;
      const Expr a = named(body, "a", load(at, DType::I64, {Expr(0)}));
      const Expr b = named(body, "b", load(at, DType::I64, {Expr(1)}));
      const Expr last = n - Expr(1);
      const Expr key_a = named(body, "key_a", key(from, min(a, last)));
      const Expr key_b = named(body, "key_b", key(from, min(b, last)));
      const Expr right = named(body, "right", (b < hi) & ((mid <= a) | before(key_b, key_a)));
      const Expr source = select(right, b, a);
      body = std::move(body) +
             put(to, var("k"), select(right, key_b, key_a), with_order ? position(from, source) : Expr());
      body.push_back(store(at, {Expr(0)}, select(right, a, a + Expr(1))));
      body.push_back(store(at, {Expr(1)}, select(right, b + Expr(1), b)));
      return body;
    }()));
    return out;
  }

  StmtPtr merge_runs(const Size& n) const {
    return loop(ForKind::Serial, "pass", Expr(kPasses), [&](const Expr& pass) -> Stmts {
      Stmts out;
      const Expr width = named(out, "width", make(Op::Shl, {Expr(kRun), pass}));
      Stmts merging;
      merging.push_back(loop(ForKind::Serial, "pair",
                             floordiv(n + width * Expr(2) - Expr(1), width * Expr(2)), [&](const Expr& pair) {
                               Stmts body;
                               const Expr lo = named(body, "lo", pair * width * Expr(2));
                               const Expr mid = named(body, "mid", min(lo + width, n));
                               const Expr hi = named(body, "hi", min(lo + width * Expr(2), n));
                               return body + merge(n, pass, lo, mid, hi);
                             }));
      merging.push_back(store(passes, {}, pass + Expr(1)));
      out.push_back(if_then(width < n, std::move(merging)));
      return out;
    });
  }

  Stmts sort_line(const Size& n, const Expr& outer, const Expr& inner) const {
    Stmts out = allocate(n);
    out.push_back(sort_runs(n, outer, inner));
    out.push_back(store(passes, {}, Expr(0)));
    out.push_back(merge_runs(n));
    return out;
  }
};

// The first `count` of a sorted line, to the outputs that there are.
StmtPtr copy_out(const Sorted& s, const Size& count, const Expr& outer, const Expr& inner, Symbol values,
                 Symbol positions) {
  return loop(ForKind::Serial, "e", count, [&](const Expr& e) {
    Stmts out;
    const Expr half = named(out, "half", s.result_half());
    if (!values.empty()) out.push_back(store(values, {outer, e, inner}, s.key(half, e)));
    if (!positions.empty()) out.push_back(store(positions, {outer, e, inner}, s.position(half, e)));
    return out;
  });
}

// The best k of a line so far, in order: an element that stands before the last of them is inserted.
struct Best {
  Symbol best{"best"}, where{"where"}, filled{"filled"};
  DType type;
  bool descending;
  int64_t k;
  Symbol x;

  Expr before(const Expr& a, const Expr& b) const { return sorts_before(a, b, descending); }
  Expr count() const { return load(filled, DType::I64, {}); }
  Expr at(const Expr& i) const { return load(best, type, {i}); }

  Stmts insert(const Expr& value, const Expr& position) const {
    Stmts out;
    const Expr n = named(out, "n", count());
    const Expr end = named(out, "end", min(n, Expr(k - 1)));
    out.push_back(loop(ForKind::Serial, "step", end + Expr(1), [&](const Expr& step) {
      Stmts body;
      const Expr j = named(body, "j", end - step);
      const Expr above = named(body, "above", max(j - Expr(1), Expr(0)));
      const Expr moves = named(body, "moves", (Expr(0) < j) & before(value, at(above)));
      const Expr lands = named(body, "lands", (n <= j) | before(value, at(j)));
      const Expr from = named(body, "from", load(where, DType::I64, {above}));
      body.push_back(if_then(moves | lands, {store(best, {j}, select(moves, at(above), value)),
                                             store(where, {j}, select(moves, from, position))}));
      return body;
    }));
    out.push_back(store(filled, {}, min(n + Expr(1), Expr(k))));
    return out;
  }

  Stmts select_line(const Size& n, const Expr& outer, const Expr& inner) const {
    Stmts out{alloc(best, type, {Expr(k)}, Scope::Private),
              alloc(where, DType::I64, {Expr(k)}, Scope::Private),
              alloc(filled, DType::I64, {}, Scope::Register), store(filled, {}, Expr(0))};
    out.push_back(loop(ForKind::Serial, "e", Expr(k), [&](const Expr& e) -> Stmts {
      return {store(best, {e}, constant(type, 0)), store(where, {e}, Expr(0))};
    }));
    out.push_back(loop(ForKind::Serial, "run", ceil_div(n, Expr(kRun)), [&](const Expr& run) {
      Stmts body;
      const Expr lane = ramp(Expr(0), Expr(1), kRun);
      const Expr base = named(body, "base", run * Expr(kRun));
      const Expr left = named(body, "left", min(Expr(kRun), n - base));
      const Expr exists = named(body, "exists", lane < left);
      const Expr values = named(
          body, "values", load_lanes(x, type, {outer, ramp(run * Expr(kRun), Expr(1), kRun), inner}, exists));
      const Expr any = hreduce(Op::Or, exists & before(values, at(Expr(k - 1))));
      const StmtPtr each = loop(ForKind::Serial, "e", left, [&](const Expr& e) {
        Stmts one;
        const Expr value = named(one, "value", load(x, type, {outer, base + e, inner}));
        one.push_back(if_then((count() < Expr(k)) | before(value, at(Expr(k - 1))), insert(value, base + e)));
        return one;
      });
      body.push_back(if_then((count() < Expr(k)) | any, {each}));
      return body;
    }));
    return out;
  }
};

}  // namespace

LoopProgram sort_program(const Kernel& kernel, const Target&) {
  const auto& attrs = opaque_attrs<SortAttrs>(kernel);
  const Lines lines = lines_along(kernel.params[0].shape, attrs.axis);
  LoopProgram p = program_of(kernel, std::vector<Shape>(kernel.params.size(), lines.shape()));
  Sorted s;
  s.type = kernel.params[0].dtype;
  s.descending = attrs.descending;
  s.with_order = attrs.by_index || kernel.params.size() > 2;
  s.x = kernel.params[0].name;
  const Symbol values = attrs.by_index ? Symbol() : kernel.params[1].name;
  const Symbol positions = s.with_order ? kernel.params.back().name : Symbol();
  p.body.push_back(for_lines(lines, [&](const Expr& outer, const Expr& inner) {
    Stmts out = s.sort_line(lines.axis, outer, inner);
    out.push_back(copy_out(s, lines.axis, outer, inner, values, positions));
    return out;
  }));
  p.because.push_back("lines in parallel: runs of 16 by rank, then merged pairwise");
  return p;
}

LoopProgram topk_program(const Kernel& kernel, const Target&) {
  const auto& attrs = opaque_attrs<TopKAttrs>(kernel);
  const Lines lines = lines_along(kernel.params[0].shape, attrs.axis);
  const Lines kept = lines_along(kernel.params[1].shape, attrs.axis);
  LoopProgram p = program_of(kernel, {lines.shape(), kept.shape(), kept.shape()});
  const DType type = kernel.params[0].dtype;
  const Symbol x = kernel.params[0].name, values = kernel.params[1].name, positions = kernel.params[2].name;
  if (attrs.k == 0) return p;
  if (attrs.k > kInsertAtMost) {
    Sorted s;
    s.type = type;
    s.descending = attrs.largest;
    s.with_order = true;
    s.x = x;
    p.body.push_back(for_lines(lines, [&](const Expr& outer, const Expr& inner) {
      Stmts out = s.sort_line(lines.axis, outer, inner);
      out.push_back(copy_out(s, kept.axis, outer, inner, values, positions));
      return out;
    }));
    p.because.push_back("lines in parallel, sorted whole: " + std::to_string(attrs.k) + " are many");
    return p;
  }
  Best b;
  b.type = type;
  b.descending = attrs.largest;
  b.k = attrs.k;
  b.x = x;
  p.body.push_back(for_lines(lines, [&](const Expr& outer, const Expr& inner) {
    Stmts out = b.select_line(lines.axis, outer, inner);
    out.push_back(loop(ForKind::Serial, "e", Expr(attrs.k), [&](const Expr& e) -> Stmts {
      return {store(values, {outer, e, inner}, b.at(e)),
              store(positions, {outer, e, inner}, load(b.where, DType::I64, {e}))};
    }));
    return out;
  }));
  p.because.push_back("lines in parallel: the best " + std::to_string(attrs.k) +
                      " are kept in order, vectors without a better one are skipped");
  return p;
}

}  // namespace pto::templates
