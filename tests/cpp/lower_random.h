#pragma once
// Random kernels and random schedules for them; most are valid, the verifier finds those that are not.
#include <algorithm>
#include <random>

#include "schedule/placement.h"
#include "schedule/schedule.h"

namespace pto::testing {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int>(from.size())))];
  }

 private:
  std::mt19937 engine_;
};

struct RandomKernel {
  Kernel kernel;
  Sizes sizes;
};

// Up to three axes of constant or symbolic extent; maps, folds, contractions and scans over them.
class KernelMaker {
 public:
  explicit KernelMaker(Random& random) : r_(random) {}

  RandomKernel make() {
    k_.name = Symbol("f");
    const int axes = 1 + r_.below(3);
    const std::vector<int64_t> lengths{0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 19, 33};
    for (int a = 0; a < axes; a++) {
      const int64_t length = r_.pick(axes > 2 ? std::vector<int64_t>{0, 1, 2, 3, 5, 8, 9} : lengths);
      const Symbol name(std::string(1, static_cast<char>('i' + a)));
      if (r_.chance(50)) {
        const Symbol size("N" + std::to_string(a));
        k_.sizes.push_back(size);
        sizes_[size] = length;
        k_.axes.push_back({name, var(size)});
      } else {
        k_.axes.push_back({name, Expr(length)});
      }
    }
    const int values = 1 + r_.below(5);
    for (int v = 0; v < values; v++) add_value(v);
    const int stores = 1 + r_.below(2);
    for (int s = 0; s < stores; s++) add_store(s);
    std::stable_partition(k_.params.begin(), k_.params.end(), [](const Param& p) { return !p.output; });
    verify(k_, "test");
    return {k_, sizes_};
  }

 private:
  const Size& extent(Symbol axis) const { return k_.axis(axis)->extent; }

  std::vector<Symbol> some_axes(int percent) {
    std::vector<Symbol> out;
    for (const auto& a : k_.axes)
      if (r_.chance(percent)) out.push_back(a.name);
    return out;
  }

  // An element of a new parameter, by some of the axes in some order and in some affine way.
  Expr parameter(const std::vector<Symbol>& axes, DType type) {
    Param p;
    p.name = Symbol("p" + std::to_string(k_.params.size()));
    p.dtype = type;
    Exprs index;
    Expr guard;
    std::vector<Symbol> order = axes;
    if (r_.chance(30)) std::reverse(order.begin(), order.end());
    for (Symbol a : order) {
      if (r_.chance(10)) continue;
      Expr e = var(a);
      Size size = extent(a);
      switch (r_.below(10)) {
        case 0: e = e + Expr(2), size = size + Expr(2); break;
        case 1: e = e * Expr(2) + Expr(1), size = size * Expr(2); break;
        case 2: e = size - Expr(1) - e; break;
        case 3: e = floordiv(e, Expr(4)), size = ceil_div(size, Expr(4)); break;
        case 4: e = mod(e, Expr(8)), size = Expr(8); break;
        case 5:
          guard = guard ? guard & (Expr(1) <= e) : Expr(1) <= e;
          e = e - Expr(1);
          break;
        case 6: {
          const Symbol other = r_.pick(axes);
          if (other == a) break;
          e = e + var(other);
          size = size + extent(other);
          break;
        }
        default: break;
      }
      index.push_back(e);
      p.shape.push_back(simplify(size));
    }
    k_.params.push_back(p);
    if (guard) return load_if(p.name, type, guard, constant(type, 1), index);
    return load(p.name, type, index);
  }

  // An earlier value of this type whose axes are among these.
  Expr earlier(const std::vector<Symbol>& axes, DType type) {
    std::vector<Expr> found;
    for (const auto& v : k_.values)
      for (size_t c = 0; c < v.names.size(); c++)
        if (v.types[c] == type && std::all_of(v.axes.begin(), v.axes.end(), [&](Symbol a) {
              return std::find(axes.begin(), axes.end(), a) != axes.end();
            }))
          found.push_back(v.ref(static_cast<int>(c)));
    return found.empty() ? Expr() : r_.pick(found);
  }

  Expr operand(const std::vector<Symbol>& axes, DType type) {
    if (r_.chance(60))
      if (Expr e = earlier(axes, type)) return e;
    if (!axes.empty() && r_.chance(10)) return cast(type, var(r_.pick(axes)));
    return parameter(axes, type);
  }

  Expr expression(const std::vector<Symbol>& axes, DType type) {
    Expr e = operand(axes, type);
    const int operations = r_.below(3);
    for (int i = 0; i < operations; i++) {
      switch (r_.below(4)) {
        case 0: e = e + operand(axes, type); break;
        case 1: e = e * operand(axes, type); break;
        case 2: e = max(e, operand(axes, type)); break;
        default: e = select(operand(axes, type) < e, e, constant(type, 2)); break;
      }
    }
    return e;
  }

  void add_value(int number) {
    TileValue v;
    const std::string name = "v" + std::to_string(number);
    v.names = {Symbol(name)};
    const DType type = r_.chance(75) ? DType::F32 : DType::I64;
    v.types = {type};
    v.axes = some_axes(65);
    std::vector<Symbol> rest;
    for (const auto& a : k_.axes)
      if (std::find(v.axes.begin(), v.axes.end(), a.name) == v.axes.end()) rest.push_back(a.name);
    std::vector<Symbol> all = v.axes;
    const int kind = r_.below(10);
    if (kind < 4 && !rest.empty()) {
      v.over = rest;
      if (v.over.size() > 1 && r_.chance(50)) v.over.pop_back();
      all.insert(all.end(), v.over.begin(), v.over.end());
      if (kind == 0) {
        v.kind = ValueKind::Contract;
        v.body = {operand(all, type) * operand(all, type)};
      } else if (kind == 1) {
        v.kind = ValueKind::Reduce;
        v.monoid = make_monoid("argmax", type);
        v.names.push_back(Symbol(name + "_at"));
        v.types.push_back(DType::I64);
        v.body = {expression(all, type), var(v.over[0])};
      } else {
        v.kind = ValueKind::Reduce;
        v.monoid = make_monoid(r_.chance(50) ? "add" : "max", type);
        v.body = {expression(all, type)};
      }
    } else if (kind < 6 && !v.axes.empty()) {
      v.kind = ValueKind::Scan;
      v.over = {r_.pick(v.axes)};
      v.reverse = r_.chance(40);
      v.monoid = make_monoid(r_.chance(50) ? "add" : "max", type);
      v.body = {expression(v.axes, type)};
    } else {
      v.body = {expression(v.axes, type)};
    }
    k_.values.push_back(std::move(v));
  }

  void add_store(int number) {
    const TileValue& v = number == 0 ? k_.values.back() : r_.pick(k_.values);
    Param p;
    p.name = Symbol("y" + std::to_string(number));
    p.dtype = v.types[0];
    p.output = true;
    Exprs index;
    std::vector<Symbol> order = v.axes;
    if (r_.chance(30)) std::reverse(order.begin(), order.end());
    for (Symbol a : order) {
      index.push_back(var(a));
      p.shape.push_back(extent(a));
    }
    Expr value = v.ref();
    if (r_.chance(50)) value = value + operand(v.axes, p.dtype);
    TileStore s{p.name, index, value, {}, {}};
    if (!v.axes.empty() && r_.chance(15)) s.predicate = equal(mod(var(v.axes[0]), Expr(3)), Expr(1));
    k_.params.push_back(p);
    k_.stores.push_back(s);
  }

  Random& r_;
  Kernel k_;
  Sizes sizes_;
};

class ScheduleMaker {
 public:
  ScheduleMaker(Random& random, const Kernel& kernel) : r_(random), k_(kernel) {}

  Schedule make() {
    Schedule s;
    s.kernel = k_.name;
    s.target = "x86.avx512";
    std::vector<Item> items;
    for (const auto& v : k_.values) {
      if (v.kind == ValueKind::Map && r_.chance(40)) {
        s.inlined.push_back(v.names[0]);
        continue;
      }
      Item item{{v.names[0], false}, v.axes, {}, v.kind == ValueKind::Scan ? v.over : std::vector<Symbol>{}};
      if (v.kind != ValueKind::Scan) item.folded = v.over;
      items.push_back(item);
      if (v.axes.size() > 0 && r_.chance(40)) s.layouts.emplace_back(v.names[0], layout(v.axes));
    }
    for (const auto& st : k_.stores) {
      Item item{{st.param, true}, {}, {}, {}};
      for (const auto& e : st.index) item.free.push_back(e.symbol());
      items.push_back(item);
    }
    s.roots = nests(items, {}, true);
    return s;
  }

 private:
  struct Item {
    Placed placed;
    std::vector<Symbol> free, folded, scanned;
    bool has(Symbol a) const {
      return std::find(free.begin(), free.end(), a) != free.end() ||
             std::find(folded.begin(), folded.end(), a) != folded.end();
    }
  };
  using Items = std::vector<Item>;
  // What is left to be bound: axis -> the width of its tile, 0 if it is not constant; 1: bound.
  using Tiles = std::map<Symbol, int64_t>;

  std::vector<LayoutDim> layout(const std::vector<Symbol>& axes) {
    std::vector<LayoutDim> outer, inner;
    for (Symbol a : axes) {
      if (r_.chance(40)) {
        outer.push_back({LayoutDim::Whole, a, 1});
        continue;
      }
      const int64_t block = r_.pick(std::vector<int64_t>{2, 3, 4, 8, 14});
      outer.push_back({LayoutDim::Outer, a, block});
      inner.push_back({LayoutDim::Inner, a, block});
    }
    if (r_.chance(30)) std::reverse(outer.begin(), outer.end());
    outer.insert(outer.end(), inner.begin(), inner.end());
    return outer;
  }

  std::vector<Symbol> open_axes(const Item& item, const Tiles& tiles) const {
    std::vector<Symbol> out;
    for (const auto& a : k_.axes) {
      auto t = tiles.find(a.name);
      if (item.has(a.name) && (t == tiles.end() || t->second != 1)) out.push_back(a.name);
    }
    return out;
  }

  ScheduleNodes nests(const Items& items, const Tiles& tiles, bool at_root) {
    ScheduleNodes out;
    for (size_t i = 0; i < items.size();) {
      size_t end = i + 1;
      while (end < items.size() && r_.chance(50)) end++;
      const Items group(items.begin() + static_cast<std::ptrdiff_t>(i),
                        items.begin() + static_cast<std::ptrdiff_t>(end));
      if (auto n = loop(group, tiles, at_root)) {
        out.push_back(n);
      } else if (group.size() > 1) {
        for (const auto& item : group) out.push_back(loop({item}, tiles, at_root));
      }
      i = end;
    }
    return out;
  }

  // A loop around all of the group, or its leaf; nothing if they share no axis.
  std::shared_ptr<ScheduleNode> loop(const Items& group, const Tiles& tiles, bool parallel_allowed) {
    auto n = std::make_shared<ScheduleNode>();
    std::vector<Symbol> common = open_axes(group[0], tiles);
    size_t most_open = 0;
    for (const auto& item : group) {
      const auto open = open_axes(item, tiles);
      most_open = std::max(most_open, open.size());
      common.erase(
          std::remove_if(common.begin(), common.end(),
                         [&](Symbol a) { return std::find(open.begin(), open.end(), a) == open.end(); }),
          common.end());
    }
    if (most_open == 0) {
      for (const auto& item : group) n->leaf.push_back(item.placed);
      return n;
    }
    if (common.empty()) return nullptr;
    const Symbol a = r_.pick(common);
    n->axis = a;
    const Size& extent = k_.axis(a)->extent;
    auto t = tiles.find(a);
    const int64_t width = t != tiles.end() ? t->second : extent.is_const() ? extent.as_int() : 0;
    bool folded = false, scanned = false;
    for (const auto& item : group) {
      folded |= std::find(item.folded.begin(), item.folded.end(), a) != item.folded.end();
      scanned |= std::find(item.scanned.begin(), item.scanned.end(), a) != item.scanned.end();
    }
    n->step = r_.pick(std::vector<int64_t>{1, 1, 1, 2, 3, 4, 5, 8, 14});
    n->clip = r_.chance(25);
    if (most_open == 1 && !scanned && r_.chance(60)) {
      n->kind = LoopKind::Vector;
      n->step = r_.pick(std::vector<int64_t>{2, 4, 8, 16});
      n->unroll = r_.pick(std::vector<int>{1, 1, 2, 3, 4});
    } else if (parallel_allowed && !folded && !scanned && r_.chance(60)) {
      n->kind = LoopKind::Parallel;
    } else if (width > 0 && width / n->step < 12 && !scanned && r_.chance(50)) {
      n->kind = LoopKind::Unrolled;
    }
    Tiles inside = tiles;
    inside[a] = n->kind == LoopKind::Vector ? 1 : width > 0 ? std::min(width, n->step) : n->step;
    if (n->step != 1 && n->kind != LoopKind::Vector && inside[a] == 1) inside[a] = 2;   // still open
    const bool more = n->kind == LoopKind::Parallel && r_.chance(50);
    if (auto only = more ? loop(group, inside, true) : nullptr) {
      n->body = {only};
    } else {
      n->body = nests(group, inside, false);
    }
    return n;
  }

  Random& r_;
  const Kernel& k_;
};

}  // namespace pto::testing
