#include "schedule/collapse.h"

#include <algorithm>
#include <map>
#include <set>

#include "expr/known_equal.h"

namespace pto {
namespace {

using Pair = std::pair<Symbol, Symbol>;   // outer axis, inner axis

// A place where axes may merge: dimensions d and d+1 of a parameter.
struct Place {
  Symbol param;
  size_t d;
  auto operator<=>(const Place&) const = default;
};

bool is_axis(const Kernel& k, const Expr& e) { return e.is_var() && k.axis(e.symbol()); }

// --- axes of one position ------------------------------------------------------------------------

// Free axes of extent 1 become the index 0; dimensions of size 1 that are always read there vanish.
Kernel drop_unit_axes(Kernel k) {
  std::set<Symbol> unit;
  for (const auto& a : k.axes)
    if (a.extent.is_const(1)) unit.insert(a.name);
  for (const auto& v : k.values)
    for (Symbol a : v.over) unit.erase(a);
  Substitution zero;
  for (Symbol a : unit) zero.emplace(a, Expr(0));
  // References to values keep exactly the axes that their values keep.
  std::map<Symbol, std::vector<size_t>> kept;
  for (auto& v : k.values) {
    std::vector<size_t> keep;
    for (size_t i = 0; i < v.axes.size(); i++)
      if (!unit.count(v.axes[i])) keep.push_back(i);
    for (Symbol n : v.names) kept[n] = keep;
    std::erase_if(v.axes, [&](Symbol a) { return unit.count(a); });
  }
  for (auto& c : k.checks) std::erase_if(c.axes, [&](Symbol a) { return unit.count(a); });
  std::erase_if(k.axes, [&](const Axis& a) { return unit.count(a.name); });
  for_each_expr(k, [&](Expr& e) { e = substitute(e, zero); });

  std::map<Place, bool> flat;
  for (const auto& p : k.params)
    for (size_t d = 0; d < p.shape.size(); d++)
      if (p.shape[d].is_const(1)) flat[{p.name, d}] = true;
  auto look = [&](Symbol param, const Exprs& index) {
    for (size_t d = 0; d < index.size(); d++)
      if (auto it = flat.find({param, d}); it != flat.end()) it->second &= index[d].is_const(0);
  };
  for_each_expr(k, [&](const Expr& root) {
    visit(root, [&](const Expr& e) {
      if (e.is_load()) look(e.symbol(), e.indices());
    });
  });
  for (const auto& s : k.stores) look(s.param, s.index);
  for (auto& p : k.params) {
    std::vector<size_t> keep;
    for (size_t d = 0; d < p.shape.size(); d++)
      if (auto it = flat.find({p.name, d}); it == flat.end() || !it->second) keep.push_back(d);
    Shape shape;
    for (size_t d : keep) shape.push_back(p.shape[d]);
    for (auto& s : k.stores) {
      if (s.param != p.name) continue;
      Exprs index;
      for (size_t d : keep) index.push_back(s.index[d]);
      s.index = index;
    }
    p.shape = shape;
    kept[p.name] = keep;
  }
  for_each_expr(k, [&](Expr& root) {
    root = rewrite(root, [&](const Expr& e) {
      if (!e.is_load()) return e;
      Exprs index;
      const Exprs old = e.indices();
      for (size_t d : kept.at(e.symbol())) index.push_back(old[d]);
      return e.op() == Op::Load ? load(e.symbol(), e.type(), index)
                                : load_if(e.symbol(), e.type(), e.arg(0), e.arg(1), index);
    });
  });
  return k;
}

// --- axes walked together ------------------------------------------------------------------------

class Collapser {
 public:
  explicit Collapser(Kernel& k) : k_(k) {}

  // Merges some pairs; false if there are none.
  bool round() {
    collect();
    std::erase_if(places_, [&](const auto& entry) { return !allowed(entry.first); });
    // A parameter's two dimensions merge only if all who access it merge there.
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [place, pairs] : accesses_) {
        const bool all =
            std::all_of(pairs.begin(), pairs.end(), [&](const Pair& p) { return places_.count(p); });
        if (all) continue;
        for (const auto& p : pairs) changed |= places_.erase(p) > 0;
      }
    }
    if (places_.empty()) return false;
    merge(chosen());
    return true;
  }

 private:
  // Who accesses which place as which pair; (empty, empty) stands for any other access.
  void access(Symbol param, const Exprs& index) {
    for (size_t d = 0; d + 1 < index.size(); d++) {
      const bool pair = is_axis(k_, index[d]) && is_axis(k_, index[d + 1]) && !(index[d] == index[d + 1]);
      const Pair p = pair ? Pair{index[d].symbol(), index[d + 1].symbol()} : Pair{};
      accesses_[{param, d}].insert(p);
      if (pair) places_[p].insert({param, d});
    }
  }

  void collect() {
    for_each_expr(k_, [&](const Expr& root) {
      visit(root, [&](const Expr& e) {
        if (e.is_load() && k_.param(e.symbol())) access(e.symbol(), e.indices());
      });
    });
    for (const auto& s : k_.stores) access(s.param, s.index);
  }

  static bool adjacent(const std::vector<Symbol>& axes, const Pair& p, bool& any) {
    const auto a = std::find(axes.begin(), axes.end(), p.first);
    const auto b = std::find(axes.begin(), axes.end(), p.second);
    any |= a != axes.end();
    if (a == axes.end() || b == axes.end()) return a == b;
    return b == a + 1;
  }

  bool covers(const Place& place, const Pair& p) const {
    const Shape& shape = k_.param(place.param)->shape;
    return known_equal(shape[place.d], k_.axis(p.first)->extent) &&
           known_equal(shape[place.d + 1], k_.axis(p.second)->extent);
  }

  bool allowed(const Pair& p) const {
    for (const auto& place : places_.at(p))
      if (!covers(place, p)) return false;
    bool any = false;
    for (const auto& v : k_.values) {
      if (!adjacent(v.axes, p, any)) return false;
      if (v.kind == ValueKind::Scan) {
        if (v.over[0] == p.first || v.over[0] == p.second) return false;
      } else if (!adjacent(v.over, p, any)) {
        return false;
      }
    }
    for (const auto& c : k_.checks)
      if (!adjacent(c.axes, p, any)) return false;
    bool ok = true;
    auto whole = [&](const Expr& e) {
      ok &= !e || (!is_var_of(e, p.first) && !is_var_of(e, p.second) && only_together(e, p));
    };
    for (const auto& v : k_.values)
      for (const auto& e : v.body) whole(e);
    for (const auto& c : k_.checks) whole(c.condition);
    for (const auto& s : k_.stores) {
      whole(s.value);
      whole(s.predicate);
      for (size_t d = 0; d < s.index.size(); d++) {
        ok &= only_together(s.index[d], p);
        if (is_var_of(s.index[d], p.first))
          ok &= d + 1 < s.index.size() && is_var_of(s.index[d + 1], p.second);
        if (is_var_of(s.index[d], p.second)) ok &= d > 0 && is_var_of(s.index[d - 1], p.first);
      }
    }
    return ok;
  }

  static bool is_var_of(const Expr& e, Symbol name) { return e.is_var() && e.symbol() == name; }

  // Do both axes occur below `root` only side by side, as indices?
  bool only_together(const Expr& root, const Pair& p) const {
    bool ok = true;
    visit(root, [&](const Expr& e) {
      const bool reads_value = e.is_load() && !k_.param(e.symbol());
      const size_t first = e.op() == Op::LoadIf ? 2 : 0;
      for (size_t i = 0; i < e.args().size(); i++) {
        const bool a = is_var_of(e.arg(i), p.first), b = is_var_of(e.arg(i), p.second);
        if (!a && !b) continue;
        if (!e.is_load() || i < first) {
          ok = false;
        } else if (!reads_value) {
          if (a) ok &= i + 1 < e.args().size() && is_var_of(e.arg(i + 1), p.second);
          if (b) ok &= i > first && is_var_of(e.arg(i - 1), p.first);
        }
      }
    });
    return ok;
  }

  // Pairs that share a place merge together or not at all; those chosen share no axis and no dimension.
  std::set<Pair> chosen() const {
    std::set<Pair> out, tried;
    std::set<Symbol> axes;
    std::set<Place> dims;
    for (const auto& [seed, unused] : places_) {
      if (!tried.insert(seed).second) continue;
      std::vector<Pair> group{seed};
      for (size_t i = 0; i < group.size(); i++)
        for (const auto& place : places_.at(group[i]))
          for (const auto& other : accesses_.at(place))
            if (tried.insert(other).second) group.push_back(other);
      std::set<Symbol> group_axes;
      std::set<Place> group_dims;
      bool free = true;
      for (const auto& p : group) {
        for (Symbol a : {p.first, p.second}) free &= group_axes.insert(a).second && !axes.count(a);
        for (const auto& place : places_.at(p)) {
          group_dims.insert(place);
          for (size_t d : {place.d, place.d + 1})
            free &=
                !dims.count({place.param, d}) && (d == place.d || !places_of_other(group, place.param, d));
        }
      }
      if (!free) continue;
      out.insert(group.begin(), group.end());
      axes.insert(group_axes.begin(), group_axes.end());
      for (const auto& place : group_dims) {
        dims.insert(place);
        dims.insert({place.param, place.d + 1});
      }
    }
    return out;
  }

  bool places_of_other(const std::vector<Pair>& group, Symbol param, size_t d) const {
    return std::any_of(group.begin(), group.end(),
                       [&](const Pair& p) { return places_.at(p).count({param, d}); });
  }

  // The outer axis of each pair takes the place of both.
  void merge(const std::set<Pair>& pairs) {
    std::set<Symbol> inner;
    for (const auto& p : pairs) {
      inner.insert(p.second);
      for (auto& a : k_.axes)
        if (a.name == p.first) a.extent = simplify(a.extent * k_.axis(p.second)->extent);
    }
    std::set<Place> merged;
    for (const auto& p : pairs)
      for (const auto& place : places_.at(p)) merged.insert(place);
    for (auto& p : k_.params)
      for (size_t d = p.shape.size(); d-- > 1;)
        if (merged.count({p.name, d - 1})) {
          p.shape[d - 1] = simplify(p.shape[d - 1] * p.shape[d]);
          p.shape.erase(p.shape.begin() + static_cast<std::ptrdiff_t>(d));
        }
    auto is_inner = [&](Symbol a) { return inner.count(a) > 0; };
    auto drop = [&](Exprs index) {
      std::erase_if(index, [&](const Expr& e) { return e.is_var() && is_inner(e.symbol()); });
      return index;
    };
    for_each_expr(k_, [&](Expr& root) {
      root = rewrite(root, [&](const Expr& e) {
        if (e.op() == Op::Load) return load(e.symbol(), e.type(), drop(e.indices()));
        if (e.op() == Op::LoadIf) return load_if(e.symbol(), e.type(), e.arg(0), e.arg(1), drop(e.indices()));
        return e;
      });
    });
    for (auto& s : k_.stores) s.index = drop(s.index);
    for (auto& v : k_.values) {
      std::erase_if(v.axes, is_inner);
      std::erase_if(v.over, is_inner);
    }
    for (auto& c : k_.checks) std::erase_if(c.axes, is_inner);
    std::erase_if(k_.axes, [&](const Axis& a) { return is_inner(a.name); });
  }

  Kernel& k_;
  std::map<Pair, std::set<Place>> places_;
  std::map<Place, std::set<Pair>> accesses_;
};

}  // namespace

Kernel collapse_axes(const Kernel& kernel) {
  if (!kernel.opaque.empty()) return kernel;
  Kernel k = drop_unit_axes(kernel);
  while (Collapser(k).round()) {
  }
  return k;
}

}  // namespace pto
