// Nests for sums of products. One factor (the panel) has an axis along which the output is
// contiguous: its lanes. The other (the rows) has an axis of which some rows at a time are multiplied
// with each vector of the panel, so that a tile of the output stays in registers. Both are copied
// ("packed") into the order in which the innermost loop reads them, where that pays.
#include <algorithm>

#include "base/error.h"
#include "schedule/heuristic.h"
#include "schedule/placement.h"

namespace pto::heuristic {
namespace {

constexpr int64_t kRowBlock = 84;       // rows of a cache block, about
constexpr int64_t kPanelBlock = 256;    // lanes of a cache block, about
constexpr int64_t kLine = 16;           // positions of a folded axis that are packed side by side
constexpr int64_t kOne = 1, kFew = 8;   // rows served by streaming the panel once
constexpr int64_t kSome = 64;           // rows for which packing the panel costs more than it saves

struct Product {
  Expr panel, rows;              // the factors
  bool swapped = false;          // the panel is the left-hand side
  std::vector<Symbol> batch;     // axes of both
  std::vector<Symbol> others;    // of one of them, neither lanes nor the row axis
  Symbol lane, row;              // row: empty if there is none
  std::vector<Symbol> over;
  bool panel_has_unit_lanes = false, panel_has_unit_fold = false, rows_have_unit_fold = false;
  bool window = false;           // the panel's elements overlap (a convolution's do)
};

bool all_unit(const Kernel& k, const Expr& factor, Symbol axis) {
  bool unit = true;
  for (const auto& a : accesses({factor})) {
    const Stride s = stride_along(k, a.array, a.index, axis);
    unit &= s == Stride::Unit || s == Stride::Same;
  }
  return unit;
}

// Does an index mix an axis of `free` with a folded one?
bool has_window(const Expr& factor, const std::vector<Symbol>& free, const std::vector<Symbol>& over) {
  bool mixed = false;
  auto uses_any = [](const Expr& e, const std::vector<Symbol>& axes) {
    return std::any_of(axes.begin(), axes.end(), [&](Symbol a) { return uses_axis(e, a); });
  };
  for (const auto& a : accesses({factor}))
    for (const auto& i : a.index) mixed |= uses_any(i, free) && uses_any(i, over);
  return mixed;
}

// The axis along which the result is written contiguously.
Symbol contiguous_axis(const Kernel& k, const TileValue& v) {
  for (const auto& s : k.stores)
    for (Symbol a : v.axes)
      if (stride_along(k, s.param, s.index, a) == Stride::Unit) return a;
  return v.axes.back();
}

std::optional<Product> analyse(const Kernel& k, const TileValue& v) {
  if (v.kind != ValueKind::Contract || v.axes.empty() || v.over.empty()) return {};
  const Expr lhs = v.body[0].arg(0), rhs = v.body[0].arg(1);
  std::vector<Symbol> left, right;
  Product p;
  for (Symbol a : v.axes) {
    const bool l = uses_axis(lhs, a), r = uses_axis(rhs, a);
    (l == r ? p.batch : l ? left : right).push_back(a);
  }
  if (left.empty() || right.empty()) return {};
  p.lane = contiguous_axis(k, v);
  if (contains(p.batch, p.lane)) {
    p.lane = right.back();
  }
  p.swapped = contains(left, p.lane);
  if (p.swapped) std::swap(left, right);
  p.rows = p.swapped ? rhs : lhs;
  p.panel = p.swapped ? lhs : rhs;
  // The longest axis of the rows; a symbolic one counts as long.
  auto length = [&](Symbol a) {
    const Size& e = k.axis(a)->extent;
    return e.is_const() ? e.as_int() : INT64_MAX;
  };
  p.row =
      *std::max_element(left.begin(), left.end(), [&](Symbol a, Symbol b) { return length(a) < length(b); });
  p.others = without(left, {p.row});
  for (Symbol a : without(right, {p.lane})) p.others.push_back(a);
  p.over = v.over;
  p.panel_has_unit_lanes = all_unit(k, p.panel, p.lane);
  p.panel_has_unit_fold = all_unit(k, p.panel, p.over.back());
  p.rows_have_unit_fold = all_unit(k, p.rows, p.over.back());
  p.window = has_window(p.panel, v.axes, v.over);
  return p;
}

SizeFact rows_at_most(const Kernel& k, const TileValue& v, const Product& p, int64_t n) {
  return {v.names[0].str() + " rows<=" + std::to_string(n), k.axis(p.row)->extent <= Expr(n)};
}

// The forms that few rows may take, given the memory's layout.
bool can_be_dot_products(const Product& p) {
  return p.panel_has_unit_fold && !p.panel_has_unit_lanes && p.rows_have_unit_fold;
}
bool can_be_streamed(const Product& p) { return p.panel_has_unit_lanes; }
// Can the panel be read where it is?
bool can_be_unpacked(const Product& p) { return p.panel_has_unit_lanes && !is_costly({p.panel}); }

class ContractNest {
 public:
  ContractNest(Planner& plan, const Group& group)
      : plan_(plan),
        group_(group),
        name_(plan.items[group.items[0]].name),
        p_(*analyse(plan.kernel, value())) {
    few_ = holds(kFew);
    most_ = holds(kOne) ? kOne : kFew;
    some_ = few_ || (p_.batch.empty() && holds(kSome));
  }

  void run() {
    if (few_ && can_be_dot_products(p_)) {
      dot_product_form();
    } else if (few_ && can_be_streamed(p_)) {
      streaming_form();
    } else {
      blocked_form();
    }
  }

 private:
  const TileValue& value() const { return *plan_.kernel.value(name_); }
  bool holds(int64_t rows) const {
    const SizeFact f = rows_at_most(plan_.kernel, value(), p_, rows);
    return plan_.holds(f.name, f.condition);
  }

  void root(const std::vector<Symbol>& parallel, ScheduleNodes body) {
    for (auto& n : around(LoopKind::Parallel, parallel, std::move(body)))
      plan_.schedule.roots.push_back(std::move(n));
  }

  std::vector<Symbol> batch_and_others() const {
    std::vector<Symbol> axes = p_.batch;
    axes.insert(axes.end(), p_.others.begin(), p_.others.end());
    return plan_.in_kernel_order(axes);
  }

  int64_t lanes() const { return plan_.target.lanes(std::max(4, size_of(value().types[0]))); }

  // --- what follows the product --------------------------------------------------------------------

  std::vector<Placed> stores() const {
    std::vector<Placed> out;
    for (size_t i = 1; i < group_.items.size(); i++) out.push_back({plan_.items[group_.items[i]].name, true});
    return out;
  }

  // The stores of this group are all that reads the product, and they are short enough to be repeated
  // for every vector of the tile.
  bool stores_from_registers() const {
    size_t nodes = 0;
    for (size_t i = 1; i < group_.items.size(); i++)
      for (const auto& e : plan_.items[group_.items[i]].exprs) {
        nodes += count_nodes(e);
        if (is_costly({e})) return false;
      }
    int users = 0;
    for (const auto& item : plan_.items)
      for (int n : item.needs) users += plan_.items[n].name == name_;
    return group_.items.size() > 1 && users == static_cast<int>(group_.items.size()) - 1 && nodes <= 64;
  }

  // The product leaves the registers as a value of its own, which everything else reads.
  void keep_result() {
    auto& values = plan_.kernel.values;
    auto at =
        std::find_if(values.begin(), values.end(), [&](const TileValue& v) { return v.names[0] == name_; });
    TileValue result = *at;
    at->names = {fresh_name(plan_.kernel, name_.str() + "_acc")};
    const Symbol product = at->names[0];
    result.kind = ValueKind::Map;
    result.over.clear();
    result.body = {at->ref()};
    values.insert(at + 1, std::move(result));
    result_ = name_;
    name_ = product;
  }

  // The leaves after the product's loop, given the loops that bind its row and lanes.
  ScheduleNodes finish(const std::function<ScheduleNodes(ScheduleNodes)>& unrolled,
                       const std::function<ScheduleNodes(ScheduleNodes)>& looped) const {
    if (result_.empty()) return unrolled({leaf(stores())});
    ScheduleNodes out = unrolled({leaf({{result_, false}})});
    if (group_.items.size() > 1)
      for (auto& n : looped({leaf(stores())})) out.push_back(std::move(n));
    return out;
  }

  static ScheduleNodes then(ScheduleNodes a, ScheduleNodes b) {
    for (auto& n : b) a.push_back(std::move(n));
    return a;
  }

  // --- few rows ------------------------------------------------------------------------------------

  int64_t few_rows() const { return std::max<int64_t>(plan_.extent_or(p_.row, most_), 1); }

  // Both factors are contiguous along the folded axis: lanes run along it, and each vector of the
  // rows meets some columns.
  void dot_product_form() {
    const int64_t w = lanes();
    const int64_t rows = few_rows(), columns = std::clamp<int64_t>(16 / rows, 1, 8);
    if (!stores_from_registers()) keep_result();
    const Symbol fold = p_.over.back();
    auto tile = [&](LoopKind kind, ScheduleNodes body) {
      return around(kind, {p_.lane, p_.row}, std::move(body));
    };
    ScheduleNodes product{vector_loop(fold, w, 1, {leaf({{name_, false}})})};
    product = {loop(LoopKind::Serial, fold, w, tile(LoopKind::Unrolled, std::move(product)))};
    product = around(LoopKind::Serial, without(p_.over, {fold}), std::move(product));
    ScheduleNodes body = then(std::move(product),
                              finish([&](ScheduleNodes b) { return tile(LoopKind::Unrolled, std::move(b)); },
                                     [&](ScheduleNodes b) { return tile(LoopKind::Serial, std::move(b)); }));
    body = row_tiles(rows, std::move(body));
    body = {tile_loop(LoopKind::Parallel, p_.lane, columns, std::move(body))};
    plan_.because(name_.str() + ": at most " + std::to_string(most_) +
                  " rows, both factors contiguous along " + fold.str() + ": dot products of " +
                  std::to_string(rows) + " x " + std::to_string(columns) + ", everything read once");
    root(batch_and_others(), std::move(body));
  }

  // The panel is read once, some vectors of a row of it at a time, and meets all rows.
  void streaming_form() {
    const int64_t w = lanes(), rows = few_rows();
    int64_t vectors = std::clamp<int64_t>((plan_.target.vector_registers - 6) / rows, 1, 8);
    const int64_t extent = plan_.extent_or(p_.lane, 0);
    if (extent > 0) vectors = std::min(vectors, (extent + w - 1) / w);
    if (!stores_from_registers()) keep_result();
    auto tile = [&](ScheduleNodes b) { return register_tile(w, vectors, std::move(b)); };
    ScheduleNodes product = around(LoopKind::Serial, p_.over, tile({leaf({{name_, false}})}));
    ScheduleNodes body =
        then(std::move(product), finish(tile, [&](ScheduleNodes b) { return looped_tile(w, std::move(b)); }));
    body = row_tiles(rows, std::move(body));
    body = {loop(LoopKind::Parallel, p_.lane, w * vectors, std::move(body))};
    plan_.because(name_.str() + ": at most " + std::to_string(most_) + " rows: the panel is read once, " +
                  std::to_string(vectors) + " vectors along " + p_.lane.str() + " at a time for all rows");
    root(batch_and_others(), std::move(body));
  }

  // A loop over an axis. Where it binds single positions, loops over the axis inside have nothing left
  // to walk.
  static NodePtr tile_loop(LoopKind kind, Symbol axis, int64_t step, ScheduleNodes body) {
    return loop(kind, axis, step, step == 1 ? without_loops(axis, body) : std::move(body));
  }

  static ScheduleNodes without_loops(Symbol axis, const ScheduleNodes& nodes) {
    ScheduleNodes out;
    for (const auto& n : nodes) {
      ScheduleNodes body = without_loops(axis, n->body);
      if (n->axis == axis) {
        out = then(std::move(out), std::move(body));
      } else {
        out.push_back(std::make_shared<ScheduleNode>(*n));
        out.back()->body = std::move(body);
      }
    }
    return out;
  }

  // A symbolic number of rows is walked in tiles of constant size; a constant one is unrolled whole.
  ScheduleNodes row_tiles(int64_t rows, ScheduleNodes body) const {
    if (plan_.extent(p_.row).is_const()) return body;
    auto n = tile_loop(LoopKind::Serial, p_.row, rows, std::move(body));
    n->clip = true;
    return {n};
  }

  ScheduleNodes register_tile(int64_t w, int64_t vectors, ScheduleNodes body) const {
    body = {vector_loop(p_.lane, w, 1, std::move(body))};
    if (vectors > 1) body = {loop(LoopKind::Unrolled, p_.lane, w, std::move(body))};
    return {loop(LoopKind::Unrolled, p_.row, 1, std::move(body))};
  }

  ScheduleNodes looped_tile(int64_t w, ScheduleNodes body) const {
    return {loop(LoopKind::Serial, p_.row, 1, {vector_loop(p_.lane, w, 1, std::move(body))})};
  }

  // --- blocks --------------------------------------------------------------------------------------

  struct Tile {
    int64_t rows, vectors;
  };

  // The largest tile of accumulators that leaves registers for a row of the panel and a broadcast;
  // of the numbers of vectors, the first that wastes the fewest lanes.
  Tile register_tile_size() const {
    const int64_t registers = plan_.target.vector_registers, w = lanes();
    const int64_t extent = plan_.extent_or(p_.lane, 0);
    Tile best{0, 0};
    int64_t least = 0;
    for (int64_t vectors : {2, 3, 4, 1}) {
      const int64_t rows = std::min<int64_t>((registers - vectors - 1) / vectors, 14);
      const int64_t padded = extent > 0 ? (extent + vectors * w - 1) / (vectors * w) * vectors * w : 0;
      if (best.rows == 0 || padded * 10 < least * 9) {
        best = {std::max<int64_t>(rows, 1), vectors};
        least = padded;
      }
    }
    const int64_t rows = plan_.extent_or(p_.row, 0);
    if (rows > 0) {
      const int64_t tiles = (rows + best.rows - 1) / best.rows;
      best.rows = (rows + tiles - 1) / tiles;
    }
    return best;
  }

  // A copy of a factor as a value of its own, which the product then reads.
  Symbol pack(bool panel) {
    auto& values = plan_.kernel.values;
    const Expr& factor = panel ? p_.panel : p_.rows;
    TileValue copy;
    copy.names = {fresh_name(plan_.kernel, name_.str() + (panel ? "_panel" : "_rows"))};
    copy.types = {factor.type()};
    for (const auto& a : plan_.kernel.axes)
      if (uses_axis(factor, a.name)) copy.axes.push_back(a.name);
    copy.body = {factor};
    auto at =
        std::find_if(values.begin(), values.end(), [&](const TileValue& v) { return v.names[0] == name_; });
    copy.loc = at->loc;
    const Expr lhs = at->body[0].arg(0), rhs = at->body[0].arg(1);
    at->body[0] = panel != p_.swapped ? lhs * copy.ref() : copy.ref() * rhs;
    const Symbol name = copy.names[0];
    values.insert(at, std::move(copy));
    return name;
  }

  std::vector<LayoutDim> layout(Symbol packed, Symbol tiled, int64_t tile, bool lines) const {
    const TileValue& v = *plan_.kernel.value(packed);
    std::vector<Symbol> fold, rest;
    for (Symbol a : v.axes)
      if (a != tiled) (contains(p_.over, a) ? fold : rest).push_back(a);
    std::vector<LayoutDim> dims;
    for (Symbol a : rest) dims.push_back({LayoutDim::Whole, a, 1});
    dims.push_back({LayoutDim::Outer, tiled, tile});
    for (Symbol a : fold) {
      const bool cut = lines && a == p_.over.back();
      dims.push_back({cut ? LayoutDim::Outer : LayoutDim::Whole, a, cut ? kLine : 1});
    }
    dims.push_back({LayoutDim::Inner, tiled, tile});
    if (lines && contains(fold, p_.over.back())) dims.push_back({LayoutDim::Inner, p_.over.back(), kLine});
    return dims;
  }

  // Loops that copy a panel: vectors along the lanes. Where its memory is contiguous along a folded axis
  // instead, squares of both are turned in registers.
  ScheduleNodes pack_panel_loops(Symbol packed, int64_t tile) const {
    const int64_t w = lanes();
    ScheduleNodes copy{vector_loop(p_.lane, w, 1, {leaf({{packed, false}})})};
    std::vector<Symbol> fold;
    for (Symbol a : p_.over)
      if (uses_axis(p_.panel, a)) fold.push_back(a);
    if (p_.panel_has_unit_fold && !p_.panel_has_unit_lanes && !fold.empty() &&
        fold.back() == p_.over.back() && plan_.extent_or(fold.back(), w) >= w) {
      copy = {loop(LoopKind::Unrolled, fold.back(), 1, std::move(copy))};
      if (tile > w) copy = {loop(LoopKind::Serial, p_.lane, w, std::move(copy))};
      copy = {loop(LoopKind::Serial, fold.back(), w, std::move(copy))};
      fold.pop_back();
    }
    return {loop(LoopKind::Serial, p_.lane, tile, around(LoopKind::Serial, fold, std::move(copy)))};
  }

  ScheduleNodes pack_rows_loops(Symbol packed, int64_t tile, bool lines) const {
    std::vector<Symbol> fold;
    for (Symbol a : p_.over)
      if (uses_axis(p_.rows, a)) fold.push_back(a);
    ScheduleNodes copy{leaf({{packed, false}})};
    if (lines) {
      copy = {vector_loop(p_.over.back(), kLine, 1, std::move(copy))};
      copy = {loop(LoopKind::Serial, p_.row, 1, std::move(copy))};
      copy = {loop(LoopKind::Serial, p_.over.back(), kLine, std::move(copy))};
      fold = without(fold, {p_.over.back()});
    } else {
      copy = {vector_loop(p_.row, power_of_two_at_least(tile), 1, std::move(copy))};
    }
    return {tile_loop(LoopKind::Serial, p_.row, tile, around(LoopKind::Serial, fold, std::move(copy)))};
  }

  void blocked_form() {
    const int64_t w = lanes();
    const Tile tile = register_tile_size();
    const int64_t width = tile.vectors * w;
    const bool pack_panel = !can_be_unpacked(p_) || (!some_ && !p_.window);
    const bool own_panel = pack_panel && (p_.window || many_batches());   // each batch packs its own
    const bool lines = p_.rows_have_unit_fold && uses_axis(p_.rows, p_.over.back());
    if (!stores_from_registers()) keep_result();
    const Symbol panel = pack_panel ? pack(true) : Symbol();
    const Symbol rows = pack(false);
    plan_.schedule.layouts.emplace_back(rows, layout(rows, p_.row, tile.rows, lines));
    if (pack_panel) plan_.schedule.layouts.emplace_back(panel, layout(panel, p_.lane, width, false));

    auto registers = [&](ScheduleNodes b) { return register_tile(w, tile.vectors, std::move(b)); };
    ScheduleNodes product = registers({leaf({{name_, false}})});
    std::vector<Symbol> fold = p_.over;
    if (lines) {
      product = {loop(LoopKind::Serial, fold.back(), kLine,
                      {loop(LoopKind::Serial, fold.back(), 1, std::move(product))})};
      fold.pop_back();
    }
    product = around(LoopKind::Serial, fold, std::move(product));
    ScheduleNodes body = then(
        std::move(product), finish(registers, [&](ScheduleNodes b) { return looped_tile(w, std::move(b)); }));
    body = tiles(p_.row, tile.rows, std::move(body));
    body = tiles(p_.lane, width, std::move(body));
    body = then(pack_rows_loops(rows, tile.rows, lines), std::move(body));

    const int64_t row_block = block(p_.row, kRowBlock, tile.rows),
                  lane_block = block(p_.lane, kPanelBlock, width);
    std::string sentence = name_.str() + ": tiles of " + std::to_string(tile.rows) + " x " +
                           std::to_string(width) + " in registers (" +
                           std::to_string(tile.rows * tile.vectors) + " of " +
                           std::to_string(plan_.target.vector_registers) + ")";
    if (own_panel) {
      // Inside the parallel loops over the batch, the rows' blocks are walked one after the other.
      body = {loop(LoopKind::Serial, p_.row, row_block, std::move(body))};
      std::vector<Symbol> outer = plan_.in_kernel_order(p_.batch), inner;
      for (Symbol a : plan_.in_kernel_order(p_.others)) (uses_axis(p_.panel, a) ? outer : inner).push_back(a);
      body = around(LoopKind::Serial, inner, std::move(body));
      body = then(pack_panel_loops(panel, width), std::move(body));
      plan_.because(sentence + "; each " + list(outer) + " packs its own panel, and is one worker's");
      root(outer, std::move(body));
      return;
    }
    if (pack_panel) {
      std::vector<Symbol> outer;
      for (Symbol a : batch_and_others())
        if (uses_axis(p_.panel, a)) outer.push_back(a);
      ScheduleNodes copies = pack_panel_loops(panel, width);
      copies[0]->kind = LoopKind::Parallel;
      root(outer, std::move(copies));
      sentence += "; the panel is packed once for all rows";
    } else {
      sentence += "; the panel is read where it is: too few rows to pay for packing";
    }
    plan_.because(sentence + "; blocks of " + std::to_string(row_block) + " x " + std::to_string(lane_block) +
                  " in parallel, rows packed for each");
    body = {loop(LoopKind::Parallel, p_.lane, lane_block, std::move(body))};
    body = {loop(LoopKind::Parallel, p_.row, row_block, std::move(body))};
    root(batch_and_others(), std::move(body));
  }

  // Register tiles of an axis; the last is computed whole and stored in part.
  ScheduleNodes tiles(Symbol axis, int64_t size, ScheduleNodes body) const {
    auto n = tile_loop(LoopKind::Serial, axis, size, std::move(body));
    n->clip = true;
    return {n};
  }

  // A whole number of tiles of about `size`; equal blocks where the extent is known.
  int64_t block(Symbol axis, int64_t size, int64_t tile) const {
    int64_t n = std::max<int64_t>(size / tile, 1);
    if (const int64_t extent = plan_.extent_or(axis, 0); extent > 0) {
      const int64_t tiles = (extent + tile - 1) / tile, blocks = (tiles + n - 1) / n;
      n = (tiles + blocks - 1) / blocks;
    }
    return n * tile;
  }

  bool many_batches() const { return plan_.points_or(p_.batch, 8) >= 8; }

  Planner& plan_;
  const Group& group_;
  Symbol name_;       // of the product
  Symbol result_;     // of its copy, if it has one
  Product p_;
  bool few_ = false, some_ = false;
  int64_t most_ = kFew;   // rows, if they are few
};

}  // namespace

bool is_matrix_product(const Kernel& kernel, const TileValue& value) {
  return analyse(kernel, value).has_value();
}

std::vector<SizeFact> contract_facts(const Kernel& k) {
  std::vector<SizeFact> out;
  for (const auto& v : k.values) {
    const auto p = analyse(k, v);
    if (!p) continue;
    if (can_be_dot_products(*p) || can_be_streamed(*p))
      for (int64_t n : {kOne, kFew}) out.push_back(rows_at_most(k, v, *p, n));
    if (can_be_unpacked(*p) && !p->window && p->batch.empty()) out.push_back(rows_at_most(k, v, *p, kSome));
  }
  return out;
}

void schedule_contraction(Planner& plan, const Group& group) { ContractNest(plan, group).run(); }

}  // namespace pto::heuristic
