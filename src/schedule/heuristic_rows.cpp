// A nest for items that share their rows: parallel loops over the rows, and in them passes over what
// remains. Either each pass has its vector along an axis of its own (rows of a matrix are reduced
// lane by lane), or all lanes are rows (its columns are).
#include <algorithm>

#include "schedule/heuristic.h"

namespace pto::heuristic {
namespace {

constexpr int64_t kParallelChunk = 4096;   // elements of a map that a worker takes at once
constexpr int64_t kCrossing = 16;          // positions of an axis across the lanes that are done together
constexpr int64_t kWholeRow = 16384;       // rows up to this are not cut

struct Pass {
  std::vector<Symbol> inner;   // as a set
  std::vector<int> items;
  bool scan = false;
  Symbol vector;               // empty: none
};

class Nest {
 public:
  Nest(Planner& plan, const Group& group)
      : plan_(plan), group_(group), rows_(plan_.in_kernel_order(group.rows)) {}

  void run() {
    make_passes();
    choose_vectors();
    if (row_vector_.empty()) {
      emit_rows();
    } else {
      emit_lanes();
    }
  }

 private:
  const Item& item(int i) const { return plan_.items[i]; }

  std::vector<Symbol> inner_axes(const Item& it) const {
    std::vector<Symbol> axes = without(it.axes, rows_);
    axes.insert(axes.end(), it.inner.begin(), it.inner.end());
    return plan_.in_kernel_order(axes);
  }

  // The direction of a scan matters to those that share its loop.
  bool joins(const Pass& p, const Item& it) const {
    if (p.inner != inner_axes(it)) return false;
    if (!it.scan && !p.scan) return true;
    if (it.fold) return false;
    for (int i : p.items) {
      const Item& other = item(i);
      if (other.fold) return false;
      if (!it.scan || !other.scan) continue;
      const TileValue &a = plan_.value(it), &b = plan_.value(other);
      if (a.over != b.over || a.reverse != b.reverse) return false;
    }
    return true;
  }

  // A pass for each set of axes, after the passes that complete what it needs.
  void make_passes() {
    std::vector<std::pair<int, size_t>> pass_of;
    for (int i : group_.items) {
      const Item& it = item(i);
      size_t first = 0;
      for (int n : it.needs)
        for (const auto& [other, pass] : pass_of)
          if (other == n) first = std::max(first, pass + (item(n).fold && !item(n).inner.empty() ? 1 : 0));
      for (int n : it.after)
        for (const auto& [other, pass] : pass_of)
          if (other == n) first = std::max(first, pass);
      size_t p = first;
      while (p < passes_.size() && !joins(passes_[p], it)) p++;
      if (p == passes_.size()) passes_.push_back({inner_axes(it), {}, false, {}});
      passes_[p].items.push_back(i);
      passes_[p].scan |= it.scan;
      pass_of.emplace_back(i, p);
    }
  }

  // --- which axis is the vector ------------------------------------------------------------------

  // How well the lanes of an axis fit the accesses of an item.
  int score(const Item& it, Symbol axis) const {
    int total = 0;
    for (const auto& a : it.accesses) {
      const int weight = a.store ? 3 : 2;
      switch (stride_along(plan_.kernel, a.array, a.index, axis)) {
        case Stride::Unit: total += weight; break;
        case Stride::Same: total += a.store ? -weight : 0; break;
        case Stride::Constant: total -= weight; break;
        case Stride::Irregular: total -= weight; break;
      }
    }
    return total;
  }

  int score(const Pass& p, Symbol axis) const {
    int total = 0;
    for (int i : p.items) total += score(item(i), axis);
    return plan_.extent_or(axis, 64) < 4 ? std::min(total, 0) - 8 : total;
  }

  bool scanned(const Pass& p, Symbol axis) const {
    return std::any_of(p.items.begin(), p.items.end(),
                       [&](int i) { return item(i).scan && contains(item(i).inner, axis); });
  }

  void choose_vectors() {
    int own = 0;
    bool any_inner = false;
    for (auto& p : passes_) {
      int best = -1000;
      for (Symbol a : p.inner) {
        any_inner = true;
        if (scanned(p, a)) continue;
        // Of equal axes the last is the innermost in most layouts.
        if (const int s = score(p, a); s >= best) {
          best = s;
          p.vector = a;
        }
      }
      if (p.vector.empty()) continue;
      own += best;
    }
    int best = -1000;
    Symbol axis;
    for (Symbol a : rows_) {
      int total = 0;
      for (const auto& p : passes_)
        if (!p.inner.empty() || !any_inner) total += score(p, a);
      if (total >= best) {
        best = total;
        axis = a;
      }
    }
    const bool has_own =
        std::any_of(passes_.begin(), passes_.end(), [](const Pass& p) { return !p.vector.empty(); });
    if (!axis.empty() && (!has_own || best > own)) row_vector_ = axis;
  }

  // --- loops ---------------------------------------------------------------------------------------

  Exprs exprs(const Pass& p) const {
    Exprs out;
    for (int i : p.items) out.insert(out.end(), item(i).exprs.begin(), item(i).exprs.end());
    return out;
  }

  NodePtr leaf_of(const Pass& p) const {
    std::vector<Placed> placed;
    for (int i : p.items) placed.push_back({item(i).name, item(i).store});
    return leaf(std::move(placed));
  }

  int folds(const Pass& p) const {
    int n = 0;
    for (int i : p.items)
      if (item(i).fold) n += static_cast<int>(plan_.value(item(i)).names.size());
    return n;
  }

  struct Shape {
    int64_t lanes;
    int unroll;
  };

  // Enough independent chains to hide an addition's latency, as registers and the extent allow.
  Shape vector_shape(const Pass& p, Symbol axis) const {
    const Exprs all = exprs(p);
    int64_t lanes = plan_.lanes(all);
    int unroll = folds(p) ? (folds(p) <= 2 ? 4 : 2) : is_costly(all) ? 1 : 4;
    const int64_t extent = plan_.extent_or(axis, 0);
    if (extent > 0) {
      lanes = std::min(lanes, power_of_two_at_least(extent));
      unroll =
          static_cast<int>(std::min<int64_t>(unroll, power_of_two_at_least((extent + lanes - 1) / lanes)));
    }
    return {std::max<int64_t>(lanes, 1), unroll};
  }

  // Loops over an item's own axes around a leaf; `vectors` are what binds the lanes.
  ScheduleNodes pass_loops(const Pass& p) const {
    if (p.inner.empty()) return {leaf_of(p)};
    if (p.vector.empty()) return around(LoopKind::Serial, p.inner, {leaf_of(p)});
    const Shape shape = vector_shape(p, p.vector);
    ScheduleNodes body{leaf_of(p)};
    if (shape.lanes > 1) {
      body = {vector_loop(p.vector, shape.lanes, shape.unroll, std::move(body))};
    } else {
      body = around(LoopKind::Serial, {p.vector}, std::move(body));
    }
    return around(LoopKind::Serial, without(p.inner, {p.vector}), std::move(body));
  }

  void emit_rows() {
    ScheduleNodes body;
    std::vector<std::string> said;
    for (const auto& p : passes_) {
      for (auto& n : pass_loops(p)) body.push_back(std::move(n));
      std::string sentence = names(p) + (p.inner.empty() ? " once a row" : " over " + list(p.inner));
      if (!p.vector.empty()) {
        const Shape s = vector_shape(p, p.vector);
        sentence += " with " + std::to_string(s.lanes) + " x" + std::to_string(s.unroll) + " lanes along " +
                    p.vector.str();
      }
      said.push_back(sentence);
    }
    const std::string rows =
        rows_.empty() ? "one row, on one worker" : "rows are " + list(rows_) + ", in parallel";
    plan_.because(rows + ": " + join(said, "; "));
    if (rows_.empty()) {
      for (auto& n : body) plan_.schedule.roots.push_back(std::move(n));
      return;
    }
    // Short rows are dealt out in bunches, so that finding a row costs little.
    const int64_t bunch = rows_in_a_bunch();
    std::vector<Symbol> outer = rows_;
    if (bunch > 1) {
      const Symbol last = rows_.back();
      outer.pop_back();
      body = {loop(LoopKind::Parallel, last, bunch, {loop(LoopKind::Serial, last, 1, std::move(body))})};
    }
    for (auto& n : around(LoopKind::Parallel, outer, std::move(body)))
      plan_.schedule.roots.push_back(std::move(n));
  }

  int64_t rows_in_a_bunch() const {
    int64_t elements = 1;
    for (const auto& p : passes_) elements = std::max(elements, plan_.points_or(p.inner, kParallelChunk));
    return std::clamp<int64_t>(kParallelChunk / 4 / elements, 1, 64);
  }

  std::string names(const Pass& p) const {
    std::vector<std::string> out;
    for (int i : p.items) out.push_back(item(i).name.str());
    return join(out, ", ");
  }

  // An axis other than the vector's along which some access is contiguous: the two are tiled, so that
  // whole cache lines are used.
  Symbol crossing_axis() const {
    for (Symbol a : rows_) {
      if (a == row_vector_) continue;
      for (const auto& p : passes_)
        for (int i : p.items)
          for (const auto& access : item(i).accesses)
            if (stride_along(plan_.kernel, access.array, access.index, a) == Stride::Unit &&
                stride_along(plan_.kernel, access.array, access.index, row_vector_) == Stride::Constant)
              return a;
    }
    return {};
  }

  void emit_lanes() {
    const bool any_inner =
        std::any_of(passes_.begin(), passes_.end(), [](const Pass& p) { return !p.inner.empty(); });
    if (any_inner) {
      emit_columns();
    } else {
      emit_map();
    }
  }

  // The lanes of all passes are the same rows: few chunks, so that what is folded stays in registers.
  void emit_columns() {
    int64_t lanes = 1024;
    int n = 0;
    for (const auto& p : passes_) {
      lanes = std::min<int64_t>(lanes, vector_shape(p, row_vector_).lanes);
      n = std::max(n, folds(p));
    }
    // Scans along contiguous memory run row by row, some interleaved to hide their latency.
    const bool interleaved = std::any_of(passes_.begin(), passes_.end(),
                                         [&](const Pass& p) { return p.scan && score(p, row_vector_) < 0; });
    if (interleaved) lanes = 1;
    const int64_t extent = plan_.extent_or(row_vector_, 4 * lanes);
    const int64_t chunks =
        std::min<int64_t>(n > 2 ? 2 : 4, power_of_two_at_least((extent + lanes - 1) / lanes));
    ScheduleNodes body;
    for (const auto& p : passes_) {
      ScheduleNodes vector{leaf_of(p)};
      if (lanes > 1) vector = {vector_loop(row_vector_, lanes, 1, std::move(vector))};
      if (chunks > 1) vector = {loop(LoopKind::Unrolled, row_vector_, lanes, std::move(vector))};
      for (auto& node : around(LoopKind::Serial, p.inner, std::move(vector))) body.push_back(std::move(node));
    }
    body = {loop(LoopKind::Parallel, row_vector_, lanes * chunks, std::move(body))};
    std::vector<std::string> said;
    for (const auto& p : passes_)
      said.push_back(names(p) + (p.inner.empty() ? "" : " over " + list(p.inner)));
    plan_.because((interleaved ? "rows are " : "lanes along ") + row_vector_.str() + ", " +
                  std::to_string(lanes * chunks) + " at a time, in parallel: " + join(said, "; "));
    for (auto& node : around(LoopKind::Parallel, without(rows_, {row_vector_}), std::move(body)))
      plan_.schedule.roots.push_back(std::move(node));
  }

  void emit_map() {
    const Pass& p = passes_[0];
    Shape shape = vector_shape(p, row_vector_);
    const Symbol crossing = crossing_axis();
    if (!crossing.empty()) shape.unroll = 1;
    ScheduleNodes body{leaf_of(p)};
    body = shape.lanes == 1
               ? around(LoopKind::Serial, {row_vector_}, std::move(body))
               : ScheduleNodes{vector_loop(row_vector_, shape.lanes, shape.unroll, std::move(body))};
    std::vector<Symbol> outer = without(rows_, {row_vector_});
    std::string chunk;
    if (!crossing.empty()) {
      outer = without(outer, {crossing});
      const int64_t lanes = shape.lanes;
      const bool squares = lanes > 1 && lanes <= kCrossing;   // which are turned in registers
      body = {loop(squares ? LoopKind::Unrolled : LoopKind::Serial, crossing, 1, std::move(body))};
      if (squares) body = {loop(LoopKind::Serial, row_vector_, lanes, std::move(body))};
      if (squares && lanes < kCrossing) body = {loop(LoopKind::Serial, crossing, lanes, std::move(body))};
      body = {loop(LoopKind::Parallel, row_vector_, 4 * lanes, std::move(body))};
      body = {loop(LoopKind::Parallel, crossing, kCrossing, std::move(body))};
      chunk = ", in tiles of " + std::to_string(kCrossing) + " x " + std::to_string(4 * lanes) + " with " +
              crossing.str() + ", along which other memory is contiguous";
    } else {
      const int64_t others = plan_.points_or(outer, 64);
      const int64_t extent = plan_.extent_or(row_vector_, 0);
      const bool whole = extent > 0 && extent <= kWholeRow && others >= 16;
      if (whole && extent < kParallelChunk / 2) {
        const int64_t bunch = kParallelChunk / extent;
        body = {loop(LoopKind::Parallel, outer.back(), bunch,
                     around(LoopKind::Serial, {outer.back()}, std::move(body)))};
        chunk = ", " + std::to_string(bunch) + " rows at a time";
        outer.pop_back();
      } else if (!whole) {
        body = {loop(LoopKind::Parallel, row_vector_, kParallelChunk, std::move(body))};
        chunk = ", " + std::to_string(kParallelChunk) + " at a time";
      }
    }
    plan_.because(names(p) + ": lanes along " + row_vector_.str() + chunk + "; " +
                  (outer.empty() ? "in parallel" : "in parallel over " + list(outer)));
    for (auto& n : around(LoopKind::Parallel, outer, std::move(body)))
      plan_.schedule.roots.push_back(std::move(n));
  }

  Planner& plan_;
  const Group& group_;
  std::vector<Symbol> rows_;
  std::vector<Pass> passes_;
  Symbol row_vector_;
};

}  // namespace

void schedule_rows(Planner& plan, const Group& group) { Nest(plan, group).run(); }

}  // namespace pto::heuristic
