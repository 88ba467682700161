#include "loop/lower_plan.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "loop/lower_index.h"

namespace pto::lowering {
namespace {

constexpr const char* kWhere = "loop/lower";
constexpr int64_t kMostPadding = 512;

}  // namespace

Plan::Plan(const Kernel& kernel, const Schedule& schedule, const Target& target)
    : kernel(kernel), schedule(schedule), target(target), placement(place(kernel, schedule)) {
  for (const auto& n : placement.nodes)
    parallel |= n.node->leaf.empty() && n.node->kind == LoopKind::Parallel;
  place_values();
  place_checks();
  for (auto& v : values) {
    if (v.inlined) continue;
    place_storage(v);
    place_accumulators(v);
  }
}

// --- loops ---------------------------------------------------------------------------------------

std::vector<int> Plan::children(int n) const {
  const int end = n < 0 ? static_cast<int>(placement.nodes.size()) : placement.nodes[n].end;
  std::vector<int> out;
  for (int m = n + 1; m < end; m = placement.nodes[m].end) out.push_back(m);
  return out;
}

int Plan::first_leaf(int leaf) const {
  int first = leaf;
  for (int m : children(parent(leaf))) {
    if (m > leaf) break;
    if (!is_leaf(m))
      first = leaf;
    else if (first == leaf)
      first = m;
  }
  return first;
}

std::vector<int> Plan::leaves_beside(int first) const {
  std::vector<int> out;
  for (int m : children(parent(first))) {
    if (m < first) continue;
    if (!is_leaf(m)) break;
    out.push_back(m);
  }
  return out;
}

int64_t Plan::width(int n, Symbol axis) const {
  const Size& extent = kernel.axis(axis)->extent;
  int64_t width = extent.is_const() ? extent.as_int() : 0;
  for (int m = n; m >= 0; m = parent(m))
    if (!is_leaf(m) && node(m).axis == axis) width = width ? std::min(width, node(m).step) : node(m).step;
  return width;
}

int64_t Plan::chunk(int loop) const { return node(loop).step * node(loop).unroll; }

bool Plan::constant_trips(int loop) const {
  const ScheduleNode& n = node(loop);
  if (n.kind == LoopKind::Unrolled) return true;
  if (n.kind != LoopKind::Vector) return false;
  const int64_t w = width(parent(loop), n.axis);
  return w > 0 && w <= kFewTrips * chunk(loop);
}

bool Plan::splits_off_short_chunk(int loop) const {
  const ScheduleNode& n = node(loop);
  if (n.step == 1) return false;
  bool whole = false;
  std::vector<int> open = children(loop);
  while (!open.empty()) {
    const int m = open.back();
    open.pop_back();
    if (is_leaf(m)) continue;
    if (node(m).axis == n.axis) {
      whole |= constant_trips(m);
    } else {
      for (int c : children(m)) open.push_back(c);
    }
  }
  return whole;
}

bool Plan::runs_beyond_end(int loop) const {
  if (node(loop).kind != LoopKind::Unrolled) return false;
  for (int m = loop + 1; m < placement.nodes[loop].end; m++) {
    if (!is_leaf(m)) {
      if (!constant_trips(m)) return false;
      continue;
    }
    for (const auto& p : node(m).leaf) {
      if (p.store) return false;
      const ValuePlan& v = plan_of(p.name);
      if (!v.folds() || v.value->kind == ValueKind::Scan || contains(v.value->over, node(loop).axis) ||
          reads_where_values_say(v.value->body))
        return false;
    }
  }
  return true;
}

// Is a value an index of a load? At positions that do not exist it may be anything.
bool Plan::reads_where_values_say(const Exprs& exprs) const {
  bool found = false;
  auto look = [&](const Exprs& roots) {
    for (const auto& root : roots)
      visit(root, [&](const Expr& e) {
        if (e.is_load()) found |= !values_read(kernel, e.indices()).empty();
      });
  };
  look(exprs);
  for (int v : needs(kernel, placement, exprs).inlined) look(values[v].value->body);
  return found;
}

bool Plan::walks_backwards(int loop) const {
  for (const auto& v : values)
    if (v.value->kind == ValueKind::Scan && v.value->reverse && v.value->over[0] == node(loop).axis &&
        placement.encloses(loop, v.leaf))
      return true;
  return false;
}

bool Plan::has_parallel(int n) const {
  return !is_leaf(n) && node(n).kind == LoopKind::Parallel;   // they stand at the root
}

bool Plan::is_bound(int n, Symbol axis) const {
  for (int m = n; m >= 0; m = parent(m))
    if (!is_leaf(m) && node(m).axis == axis && node(m).step == 1) return true;
  return false;
}

// --- values --------------------------------------------------------------------------------------

const ValuePlan& Plan::plan_of(Symbol name) const {
  for (const auto& v : values)
    if (contains(v.value->names, name)) return v;
  throw InternalError(kWhere, "no value is called " + name.str());
}

void Plan::place_values() {
  for (const auto& value : kernel.values) {
    ValuePlan v;
    v.value = &value;
    v.inlined = placement.inlined.count(value.names[0]) > 0;
    if (!v.inlined) {
      v.leaf = first_leaf(placement.leaf.at(value.names[0]));
      if (value.kind != ValueKind::Map) v.fold = placement.outermost(v.leaf, value.over);
    }
    for (int loop : v.inlined ? std::vector<int>{} : placement.path(v.leaf)) {
      const ScheduleNode& n = node(loop);
      if (value.kind == ValueKind::Scan || !contains(value.over, n.axis)) continue;
      if (n.kind == LoopKind::Unrolled) v.parts *= unrolled_chunks(kernel, placement, loop);
      if (n.kind == LoopKind::Vector) {
        v.parts *= n.unroll;
        v.lanes = static_cast<int>(n.step);
      }
    }
    values.push_back(std::move(v));
  }
}

int Plan::complete_at(const ValuePlan& v) const {
  const bool later = v.folds() && v.value->kind != ValueKind::Scan;
  return later ? placement.nodes[v.fold].end : v.leaf;
}

void Plan::place_checks() {
  for (size_t i = 0; i < kernel.checks.size(); i++) {
    CheckPlan c;
    c.check = &kernel.checks[i];
    c.number = static_cast<int>(i);
    place_check(c);
    checks.push_back(c);
  }
}

// Where all that its condition reads is complete.
void Plan::place_check(CheckPlan& c) {
  int last = -1;
  for (int v : needs(kernel, placement, {c.check->condition}).placed) {
    const ValuePlan& used = values[v];
    if (last >= 0 && complete_at(used) < complete_at(values[last])) continue;
    last = v;
  }
  if (last < 0) return;
  const ValuePlan& v = values[last];
  if (v.folds() && v.value->kind != ValueKind::Scan) {
    c.fold = v.fold;
  } else {
    c.leaf = v.leaf;
    // In the leaf, after the last of its items that the condition needs.
    const auto used = needs(kernel, placement, {c.check->condition}).placed;
    for (int leaf : leaves_beside(v.leaf))
      for (const auto& item : node(leaf).leaf)
        for (int u : used)
          if (!item.store && values[u].value->names[0] == item.name) c.value = u;
  }
}

// Leaves, or loops after which a check stands.
std::vector<int> Plan::user_leaves(const ValuePlan& v) const {
  std::vector<int> out;
  auto add = [&](const Exprs& exprs, int leaf) {
    for (int r : needs(kernel, placement, exprs).placed)
      if (values[r].value == v.value) out.push_back(leaf);
  };
  for (const auto& u : values)
    if (!u.inlined) add(u.value->body, u.leaf);
  for (size_t i = 0; i < kernel.stores.size(); i++)
    add(expressions(kernel.stores[i]), first_leaf(placement.store_leaf[i]));
  for (const auto& c : checks)
    if (c.leaf >= 0 || c.fold >= 0) add({c.check->condition}, c.leaf >= 0 ? c.leaf : c.fold);
  return out;
}

// Are the indices of storage at v's home constant in this leaf?
bool Plan::constant_indices(const ValuePlan& v, int leaf) const {
  for (int m = is_leaf(leaf) ? parent(leaf) : -1; m != v.home; m = parent(m)) {
    if (m < 0) return false;
    if (contains(v.value->axes, node(m).axis) && !constant_trips(m)) return false;
  }
  return true;
}

void Plan::place_storage(ValuePlan& v) {
  const std::vector<int> users = user_leaves(v);
  const bool completes_later = v.folds() && v.value->kind != ValueKind::Scan;
  v.stored = completes_later || std::any_of(users.begin(), users.end(), [&](int u) { return u != v.leaf; });
  v.home = parent(v.folds() ? v.fold : v.leaf);
  for (int u : users)
    while (!placement.encloses(v.home, u)) v.home = parent(v.home);

  std::vector<int> leaves = users;
  leaves.push_back(v.leaf);
  for (Symbol a : v.value->axes) {
    int64_t padding = 1;
    for (int leaf : leaves)
      for (int m = parent(leaf); m != v.home && m >= 0; m = parent(m))
        if (node(m).axis == a && node(m).step > 1 &&
            (node(m).kind != LoopKind::Serial || splits_off_short_chunk(m)))
          padding = std::lcm(padding, std::min<int64_t>(chunk(m), kMostPadding + 1));
    v.padding[a] = padding <= kMostPadding ? padding : 1;
  }
  if (!v.stored) return;

  for (const auto& [name, dims] : schedule.layouts)
    if (name == v.value->names[0]) v.layout = dims;
  if (v.layout.empty())
    for (Symbol a : v.value->axes) v.layout.push_back({LayoutDim::Whole, a, 1});
  for (const auto& d : v.layout)
    if (d.kind != LayoutDim::Whole) v.padding[d.axis] = d.block;

  int64_t bytes = 0;
  for (DType t : v.value->types) bytes += size_of(t);
  v.in_registers = v.home >= 0 || !parallel;
  for (Symbol a : v.value->axes) {
    if (is_bound(v.home, a)) continue;
    const int64_t w = width(v.home, a);
    v.in_registers &= w > 0 && w <= kMostPadding;
    if (v.in_registers) bytes *= round_up(w, v.padding[a]);
  }
  v.in_registers &= bytes <= 2 * static_cast<int64_t>(target.vector_registers) * target.vector_bytes;
  for (int leaf : leaves) v.in_registers &= constant_indices(v, leaf);
}

void Plan::place_accumulators(ValuePlan& v) {
  if (!v.folds()) return;
  bool iterates = false;
  for (int m = parent(v.leaf); m != parent(v.fold); m = parent(m)) {
    const ScheduleNode& n = node(m);
    const bool folded = contains(v.value->over, n.axis);
    const bool few = constant_trips(m) || (folded && n.kind != LoopKind::Parallel);
    if (!few) break;
    iterates |= folded && !constant_trips(m);
    v.window = m;
  }
  // Without an iteration to save memory accesses in, a window is worth nothing.
  if (v.window != v.fold && !iterates) v.window = -1;
}

}  // namespace pto::lowering
