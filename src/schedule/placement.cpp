#include "schedule/placement.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/symbols.h"

namespace pto {
namespace {

class Placer {
 public:
  Placer(const Kernel& kernel, const Schedule& schedule) : k_(kernel), s_(schedule) {}

  Placement run() {
    if (s_.kernel != k_.name) fail("is for kernel " + s_.kernel.str() + ", not " + k_.name.str());
    p_.store_leaf.assign(k_.stores.size(), -1);
    for (Symbol name : s_.inlined) {
      const int v = value_number(name);
      if (k_.values[v].kind != ValueKind::Map) fail("inlines " + name.str() + ", which is not a map");
      if (!p_.inlined.emplace(name, v).second) fail("inlines " + name.str() + " twice");
    }
    for (const auto& n : s_.roots) add(*n, -1, 0);
    for (const auto& v : k_.values)
      if (!p_.leaf.count(v.names[0]) && !p_.inlined.count(v.names[0]))
        fail("neither places nor inlines " + v.names[0].str());
    for (size_t i = 0; i < k_.stores.size(); i++)
      if (p_.store_leaf[i] < 0) fail("does not place the store to " + k_.stores[i].param.str());
    return std::move(p_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error("schedule", "the schedule of " + k_.name.str() + " " + reason);
  }

  int value_number(Symbol name) const {
    for (size_t i = 0; i < k_.values.size(); i++)
      if (k_.values[i].names[0] == name) return static_cast<int>(i);
    fail("names " + name.str() + ", which is no value (or not the first component of one)");
  }

  void add(const ScheduleNode& node, int parent, int depth) {
    if (depth > 64) fail("nests loops deeper than 64");
    const int number = static_cast<int>(p_.nodes.size());
    p_.nodes.push_back({&node, parent, 0});
    for (const auto& placed : node.leaf) place(placed, number);
    for (const auto& child : node.body) add(*child, number, depth + 1);
    p_.nodes[number].end = static_cast<int>(p_.nodes.size());
  }

  void place(const Placed& placed, int leaf) {
    if (!placed.store) {
      value_number(placed.name);
      if (p_.inlined.count(placed.name)) fail("places " + placed.name.str() + ", which it inlines");
      if (!p_.leaf.emplace(placed.name, leaf).second) fail("places " + placed.name.str() + " twice");
      return;
    }
    for (size_t i = 0; i < k_.stores.size(); i++) {
      if (k_.stores[i].param != placed.name || p_.store_leaf[i] >= 0) continue;
      p_.store_leaf[i] = leaf;
      return;
    }
    fail("places a store to " + placed.name.str() + " that the kernel does not have");
  }

  const Kernel& k_;
  const Schedule& s_;
  Placement p_;
};

}  // namespace

std::vector<int> Placement::path(int n) const {
  std::vector<int> out;
  for (n = nodes[n].parent; n >= 0; n = nodes[n].parent) out.push_back(n);
  std::reverse(out.begin(), out.end());
  return out;
}

bool Placement::encloses(int outer, int inner) const {
  return outer < 0 || (outer <= inner && inner < nodes[outer].end);
}

int Placement::outermost(int n, const std::vector<Symbol>& axes) const {
  for (int loop : path(n))
    if (contains(axes, nodes[loop].node->axis)) return loop;
  return -1;
}

Placement place(const Kernel& kernel, const Schedule& schedule) { return Placer(kernel, schedule).run(); }

std::vector<int> values_read(const Kernel& kernel, const Exprs& exprs) {
  std::set<int> found;
  for (const auto& root : exprs)
    visit(root, [&](const Expr& e) {
      if (!e.is_load()) return;
      for (size_t i = 0; i < kernel.values.size(); i++)
        if (contains(kernel.values[i].names, e.symbol())) found.insert(static_cast<int>(i));
    });
  return {found.begin(), found.end()};
}

Exprs expressions(const TileStore& store) {
  Exprs out = store.index;
  out.push_back(store.value);
  if (store.predicate) out.push_back(store.predicate);
  return out;
}

Needs needs(const Kernel& kernel, const Placement& placement, const Exprs& exprs) {
  std::set<int> inlined, placed;
  std::vector<int> open = values_read(kernel, exprs);
  while (!open.empty()) {
    const int v = open.back();
    open.pop_back();
    if (!placement.inlined.count(kernel.values[v].names[0])) {
      placed.insert(v);
    } else if (inlined.insert(v).second) {
      for (int w : values_read(kernel, kernel.values[v].body)) open.push_back(w);
    }
  }
  return {{inlined.begin(), inlined.end()}, {placed.begin(), placed.end()}};
}

int64_t unrolled_chunks(const Kernel& kernel, const Placement& placement, int loop) {
  const ScheduleNode& n = *placement.nodes[loop].node;
  const Axis* axis = kernel.axis(n.axis);
  int64_t tile = axis && axis->extent.is_const() ? axis->extent.as_int() : -1;
  for (int outer : placement.path(loop)) {
    const ScheduleNode& o = *placement.nodes[outer].node;
    if (o.axis != n.axis) continue;
    tile = tile < 0 ? o.step : std::min(tile, o.step);
  }
  return tile < 0 ? -1 : std::max<int64_t>((tile + n.step - 1) / n.step, 1);
}

}  // namespace pto
