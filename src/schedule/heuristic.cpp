// What is computed where: the decisions that do not depend on the kind of nest.
#include "schedule/heuristic.h"

#include <algorithm>

#include "base/error.h"
#include "base/extents.h"
#include "schedule/collapse.h"
#include "schedule/placement.h"

namespace pto {
namespace heuristic {

NodePtr loop(LoopKind kind, Symbol axis, int64_t step, ScheduleNodes body) {
  auto n = std::make_shared<ScheduleNode>();
  n->kind = kind;
  n->axis = axis;
  n->step = step;
  n->body = std::move(body);
  return n;
}

NodePtr vector_loop(Symbol axis, int64_t lanes, int unroll, ScheduleNodes body) {
  auto n = loop(LoopKind::Vector, axis, lanes, std::move(body));
  n->unroll = unroll;
  return n;
}

NodePtr leaf(std::vector<Placed> placed) {
  auto n = std::make_shared<ScheduleNode>();
  n->leaf = std::move(placed);
  return n;
}

ScheduleNodes around(LoopKind kind, const std::vector<Symbol>& axes, ScheduleNodes body) {
  for (size_t i = axes.size(); i-- > 0;) body = {loop(kind, axes[i], 1, std::move(body))};
  return body;
}

std::vector<Symbol> without(std::vector<Symbol> axes, const std::vector<Symbol>& dropped) {
  std::erase_if(axes, [&](Symbol a) { return contains(dropped, a); });
  return axes;
}

std::string list(const std::vector<Symbol>& axes) {
  std::vector<std::string> names;
  for (Symbol a : axes) names.push_back(a.str());
  return names.empty() ? "nothing" : join(names, ", ");
}

Symbol fresh_name(const Kernel& k, const std::string& base) {
  std::string name = base;
  while (k.axis(Symbol(name)) || k.value(Symbol(name)) || k.param(Symbol(name)) ||
         contains(k.sizes, Symbol(name)))
    name += "'";
  return Symbol(name);
}

int64_t power_of_two_at_least(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

namespace {

// The facts of a size class are its names, joined.
bool names_fact(const std::string& size_class, const std::string& name) {
  const std::string all = ", " + size_class + ", ";
  return all.find(", " + name + ", ") != std::string::npos;
}

bool decide(const std::string& size_class, const std::string& name, const Expr& condition) {
  const Expr c = simplify(condition);
  return c.is_const() ? c.value().to_bool() : names_fact(size_class, name);
}

// A fold over no axis is its body.
void unfold(Kernel& k) {
  for (auto& v : k.values) {
    if ((v.kind != ValueKind::Reduce && v.kind != ValueKind::Contract) || !v.over.empty()) continue;
    v.kind = ValueKind::Map;
    v.monoid = {};
  }
}

// A map is recomputed where it is used, unless it is costly and used more than once: by several, or
// at several points along an axis that it does not have.
std::vector<bool> choose_inlined(const Kernel& k) {
  const size_t n = k.values.size();
  std::vector<int> users(n, 0);
  std::vector<bool> wider(n, false);
  std::vector<Exprs> exprs(n);
  for (const auto& v : k.values) {
    size_t axes = v.axes.size() + (v.kind == ValueKind::Scan ? 0 : v.over.size());
    for (int r : values_read(k, v.body)) {
      users[r]++;
      wider[r] = wider[r] || axes > k.values[r].axes.size();
    }
  }
  for (const auto& s : k.stores) {
    const auto axes = store_axes(k, s);
    for (int r : values_read(k, expressions(s))) {
      users[r]++;
      wider[r] = wider[r] || axes.size() > k.values[r].axes.size();
    }
  }
  std::vector<bool> inlined(n, false);
  for (size_t i = 0; i < n; i++) {
    const auto& v = k.values[i];
    exprs[i] = v.body;
    for (int r : values_read(k, v.body))
      if (inlined[r]) exprs[i].insert(exprs[i].end(), exprs[r].begin(), exprs[r].end());
    const bool repeated = users[i] > 1 || wider[i];
    inlined[i] = v.kind == ValueKind::Map && !(repeated && is_costly(exprs[i]));
  }
  return inlined;
}

// Values in their order, each store after the last value that it needs.
void make_items(Planner& plan, const std::vector<bool>& inlined) {
  const Kernel& k = plan.kernel;
  Placement placement;   // only what is inlined matters here
  for (size_t i = 0; i < inlined.size(); i++)
    if (inlined[i]) placement.inlined.emplace(k.values[i].names[0], static_cast<int>(i));
  std::vector<int> item_of(k.values.size(), -1);
  // `exprs` is all that it computes, of which `data` passes through lanes.
  auto add = [&](Item item, const Exprs& exprs, Exprs data) {
    const Needs n = needs(k, placement, exprs);
    for (int v : n.placed) item.needs.push_back(item_of[v]);
    item.accesses = accesses(exprs);
    for (int v : n.inlined) {
      data.insert(data.end(), k.values[v].body.begin(), k.values[v].body.end());
      for (auto& a : accesses(k.values[v].body)) item.accesses.push_back(std::move(a));
    }
    item.exprs = std::move(data);
    std::erase_if(item.accesses, [&](const Access& a) {
      const TileValue* v = k.value(a.array);
      return v && placement.inlined.count(v->names[0]);
    });
    plan.items.push_back(std::move(item));
  };
  std::vector<int> item_of_store(k.stores.size(), -1);
  // Stores of one parameter, in the kernel's order: a schedule's text places them so.
  auto earlier = [&](size_t s) {
    std::vector<size_t> out;
    for (size_t other = 0; other < s; other++)
      if (k.stores[other].param == k.stores[s].param) out.push_back(other);
    return out;
  };
  auto add_stores = [&](size_t values) {
    for (size_t s = 0; s < k.stores.size(); s++) {
      const Exprs exprs = expressions(k.stores[s]);
      const Needs n = needs(k, placement, exprs);
      const bool ready = std::all_of(n.placed.begin(), n.placed.end(),
                                     [&](int v) { return v < static_cast<int>(values); }) &&
                         std::all_of(n.inlined.begin(), n.inlined.end(),
                                     [&](int v) { return v < static_cast<int>(values); });
      const std::vector<size_t> before = earlier(s);
      if (item_of_store[s] >= 0 || !ready ||
          std::any_of(before.begin(), before.end(), [&](size_t other) { return item_of_store[other] < 0; }))
        continue;
      item_of_store[s] = static_cast<int>(plan.items.size());
      Item item{k.stores[s].param, true, store_axes(k, k.stores[s])};
      Exprs data{k.stores[s].value};
      if (k.stores[s].predicate) data.push_back(k.stores[s].predicate);
      for (size_t other : before) item.after.push_back(item_of_store[other]);
      add(item, exprs, data);
      plan.items.back().accesses.push_back(
          {k.stores[s].param, k.stores[s].index, k.param(k.stores[s].param)->dtype, true});
    }
  };
  add_stores(0);
  for (size_t i = 0; i < k.values.size(); i++) {
    const auto& v = k.values[i];
    if (inlined[i]) {
      plan.schedule.inlined.push_back(v.names[0]);
    } else {
      Item item{v.names[0], false, v.axes, v.over};
      item.fold = v.kind == ValueKind::Reduce || v.kind == ValueKind::Contract;
      item.scan = v.kind == ValueKind::Scan;
      item.axes = without(item.axes, v.over);
      item_of[i] = static_cast<int>(plan.items.size());
      add(item, v.body, v.body);
    }
    add_stores(i + 1);
  }
}

// --- grouping ------------------------------------------------------------------------------------

class Grouper {
 public:
  explicit Grouper(Planner& plan) : plan_(plan) {}

  std::vector<Group> run() {
    for (size_t i = 0; i < plan_.items.size(); i++) place(static_cast<int>(i));
    return std::move(groups_);
  }

 private:
  bool is_contraction(const Item& item) const {
    return item.fold && plan_.value(item).kind == ValueKind::Contract &&
           is_matrix_product(plan_.kernel, plan_.value(item));
  }

  void place(int number) {
    const Item& item = plan_.items[number];
    size_t first = 0;
    for (int n : item.needs) first = std::max(first, group_of_[n]);
    for (int n : item.after) first = std::max(first, group_of_[n]);
    for (size_t g = first; g < groups_.size(); g++) {
      if (!accepts(groups_[g], number)) continue;
      join(g, number);
      return;
    }
    Group fresh;
    fresh.contraction = is_contraction(item);
    fresh.rows = item.axes;
    groups_.push_back(fresh);
    join(groups_.size() - 1, number);
  }

  void join(size_t g, int number) {
    Group& group = groups_[g];
    std::erase_if(group.rows, [&](Symbol a) { return !contains(plan_.items[number].axes, a); });
    group.items.push_back(number);
    group_of_.push_back(g);
  }

  bool depends_on(const Group& g, const Item& item) const {
    return std::any_of(item.needs.begin(), item.needs.end(),
                       [&](int n) { return std::find(g.items.begin(), g.items.end(), n) != g.items.end(); });
  }

  bool accepts(const Group& g, int number) const {
    const Item& item = plan_.items[number];
    const bool same_axes = std::set<Symbol>(g.rows.begin(), g.rows.end()) ==
                           std::set<Symbol>(item.axes.begin(), item.axes.end());
    if (g.contraction || is_contraction(item)) {
      return g.contraction && item.store && same_axes && depends_on(g, item);
    }
    std::vector<Symbol> rows = g.rows;
    std::erase_if(rows, [&](Symbol a) { return !contains(item.axes, a); });
    const bool depends = depends_on(g, item);
    if (same_axes && item.inner.empty() && !depends && has_inner(g)) return false;
    if (same_axes) return true;
    if (rows.empty() || !enough_rows(rows)) return false;
    if (rows.size() == g.rows.size()) return depends || has_inner(g);
    return depends && !item.inner.empty();
  }

  bool has_inner(const Group& g) const {
    return std::any_of(g.items.begin(), g.items.end(), [&](int i) {
      return !plan_.items[i].inner.empty() || plan_.items[i].axes.size() > g.rows.size();
    });
  }

  // Rows keep the workers busy, as far as that is known.
  bool enough_rows(const std::vector<Symbol>& rows) const { return plan_.points_or(rows, 8) >= 8; }

  Planner& plan_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;   // of items
};

}  // namespace

Planner::Planner(Kernel k, std::string size_class, const Target& t) : kernel(std::move(k)), target(t) {
  schedule.kernel = kernel.name;
  schedule.target = t.name;
  schedule.size_class = std::move(size_class);
}

bool Planner::holds(const std::string& fact, const Expr& condition) const {
  return decide(schedule.size_class, fact, condition);
}

int64_t Planner::extent_or(Symbol axis, int64_t otherwise) const {
  const Size& e = extent(axis);
  return e.is_const() ? e.as_int() : otherwise;
}

int64_t Planner::points_or(const std::vector<Symbol>& axes, int64_t otherwise) const {
  int64_t n = 1;
  for (Symbol a : axes) n = saturating_mul(n, extent_or(a, otherwise));
  return n;
}

std::vector<Symbol> Planner::in_kernel_order(const std::vector<Symbol>& axes) const {
  std::vector<Symbol> out;
  for (const auto& a : kernel.axes)
    if (contains(axes, a.name)) out.push_back(a.name);
  return out;
}

int Planner::lanes(const Exprs& exprs) const { return target.lanes(widest_bytes(exprs)); }

}  // namespace heuristic

std::vector<SizeFact> size_facts(const Kernel& kernel, const Target& target) {
  if (!kernel.opaque.empty()) return {};
  const Kernel k = collapse_axes(kernel);
  std::vector<SizeFact> facts = heuristic::split_facts(k);
  for (auto& f : heuristic::contract_facts(k)) facts.push_back(std::move(f));
  for (auto& f : facts) f.condition = simplify(f.condition);
  std::erase_if(facts, [](const SizeFact& f) { return f.condition.is_const(); });
  return facts;
}

std::string size_class(const std::vector<SizeFact>& facts, const Sizes& sizes) {
  std::vector<std::string> names;
  for (const auto& f : facts)
    if (eval_size(f.condition, sizes)) names.push_back(f.name);
  return join(names, ", ");
}

std::string size_class(const Kernel& kernel, const Sizes& sizes, const Target& target) {
  return size_class(size_facts(kernel, target), sizes);
}

Scheduled make_schedule(const Kernel& kernel, const std::string& size_class, const Target& target) {
  if (!kernel.opaque.empty()) {
    heuristic::Planner plan(kernel, size_class, target);
    plan.because("a loop template: " + kernel.opaque);
    return {std::move(plan.kernel), std::move(plan.schedule)};
  }
  std::vector<std::string> because;
  Kernel k = heuristic::split_folds(
      collapse_axes(kernel),
      [&](const SizeFact& f) { return heuristic::decide(size_class, f.name, f.condition); }, because);
  heuristic::unfold(k);
  heuristic::Planner plan(std::move(k), size_class, target);
  plan.schedule.because = std::move(because);
  heuristic::make_items(plan, heuristic::choose_inlined(plan.kernel));
  for (const auto& group : heuristic::Grouper(plan).run())
    group.contraction ? heuristic::schedule_contraction(plan, group) : heuristic::schedule_rows(plan, group);
  return {std::move(plan.kernel), std::move(plan.schedule)};
}

}  // namespace pto
