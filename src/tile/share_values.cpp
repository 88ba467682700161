#include "tile/share_values.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "expr/cost.h"

namespace pto {
namespace {

constexpr double kLongText = 400;   // nodes of an expression written out
constexpr double kWorthAName = 8;

using Axes = std::set<Symbol>;

// Where an expression is computed: a body, a store or a check.
struct Place {
  Axes axes;             // that its loops walk
  Axes innermost;        // of these, what changes fastest
  size_t before = 0;     // it may read the values in front of this one
  bool product = false;
  double written = 0;
};

struct Facts {
  Axes axes;
  double written = 1;    // nodes, shared ones counted at each use
  bool reads = false;    // memory or values
  bool costly = false;
  int places = 0, last_place = -1;
  int uses = 0;
};

class Sharer {
 public:
  explicit Sharer(Kernel& kernel) : k_(kernel) {
    for (size_t i = 0; i < k_.axes.size(); i++) order_.emplace(k_.axes[i].name, i);
    for (const auto& v : k_.values) contracts_ |= v.kind == ValueKind::Contract;
  }

  void run() {
    collect_places();
    for (const auto& [e, place] : roots_) look(*e, place);
    for (size_t r = 0; r < roots_.size(); r++)
      places_[roots_[r].second].written += facts_.at(kept_[r].get()).written;
    for (const auto& [e, place] : roots_) *e = named(*e, places_[place], true);
    insert();
  }

 private:
  bool is_axis(const Expr& e) const { return e.is_var() && order_.count(e.symbol()); }

  Axes last_of(const Axes& axes) const {
    const auto last = std::max_element(axes.begin(), axes.end(),
                                       [&](Symbol a, Symbol b) { return order_.at(a) < order_.at(b); });
    return last == axes.end() ? Axes{} : Axes{*last};
  }

  void add_root(Expr& e) {
    kept_.push_back(e);
    roots_.emplace_back(&e, places_.size() - 1);
  }

  void add_place(Axes axes, size_t before) {
    Place p{std::move(axes), {}, before};
    p.innermost = last_of(p.axes);
    places_.push_back(std::move(p));
  }

  void collect_places() {
    for (size_t i = 0; i < k_.values.size(); i++) {
      TileValue& v = k_.values[i];
      Axes axes(v.axes.begin(), v.axes.end());
      axes.insert(v.over.begin(), v.over.end());
      add_place(std::move(axes), i);
      if (!v.over.empty()) places_.back().innermost = {v.over.begin(), v.over.end()};
      places_.back().product = v.kind == ValueKind::Contract;
      for (auto& e : v.body) add_root(e);
    }
    for (auto& s : k_.stores) {
      Axes axes;
      for (const auto& i : s.index)
        visit(i, [&](const Expr& e) {
          if (is_axis(e)) axes.insert(e.symbol());
        });
      add_place(std::move(axes), k_.values.size());
      add_root(s.value);
    }
    for (auto& c : k_.checks) {
      add_place({c.axes.begin(), c.axes.end()}, k_.values.size());
      add_root(c.condition);
    }
  }

  void look(const Expr& top, size_t place) {
    visit(top, [&](const Expr& e) {
      Facts& f = facts_[e.get()];
      if (f.last_place == static_cast<int>(place)) return;
      f.last_place = static_cast<int>(place);
      if (f.places++ > 0) return;
      if (is_axis(e)) f.axes.insert(e.symbol());
      f.reads = e.is_load();
      f.costly = is_costly_op(e);
      for (const auto& a : e.args()) {
        Facts& g = facts_.at(a.get());
        g.uses++;
        f.axes.insert(g.axes.begin(), g.axes.end());
        f.written += g.written;
        f.reads |= g.reads;
        f.costly |= g.costly;
      }
    });
  }

  bool worth_a_name(const Expr& e, const Place& p) const {
    if (e.is_load() || e.args().empty() || e.op() == Op::Cast) return false;
    const Facts& f = facts_.at(e.get());
    if (f.uses > 1 && f.written >= kWorthAName && p.written > kLongText) return true;
    // Positions are computed where they are used: loads along an axis show what they walk.
    if (!f.reads && !f.costly) return false;
    // A product's loop copies what it reads, or computes it in registers.
    if (contracts_ && f.costly && f.axes == p.axes) return false;
    if (f.places > 1) return f.reads && !p.product;
    if (!f.costly || f.axes.empty() || f.axes == p.axes) return false;
    return std::none_of(p.innermost.begin(), p.innermost.end(), [&](Symbol a) { return f.axes.count(a); });
  }

  // `top` with names for its parts, the largest first. The whole may have a name too, unless it is
  // what a name stands for, or a product, which must stay one.
  Expr named(const Expr& top, const Place& place, bool whole) {
    std::unordered_map<const ExprNode*, Expr> done;
    std::vector<std::pair<Expr, bool>> stack{{top, false}};
    while (!stack.empty()) {
      const auto [e, ready] = stack.back();
      stack.pop_back();
      if (done.count(e.get())) continue;
      if (ready) {
        Exprs args;
        for (const auto& a : e.args()) args.push_back(done.at(a.get()));
        done[e.get()] = with_args(e, std::move(args));
        continue;
      }
      if (e.get() != top.get() || (whole && !place.product)) {
        auto it = names_.find(e.get());
        if (it == names_.end() && worth_a_name(e, place)) it = add_name(e, place);
        if (it != names_.end() && it->second.second <= place.before) {
          done[e.get()] = it->second.first;
          continue;
        }
      }
      stack.emplace_back(e, true);
      for (const auto& a : e.args()) stack.emplace_back(a, false);
    }
    return done.at(top.get());
  }

  using Names = std::unordered_map<const ExprNode*, std::pair<Expr, size_t>>;

  Names::iterator add_name(const Expr& e, const Place& place) {
    const Facts& f = facts_.at(e.get());
    const Place own{f.axes, last_of(f.axes), place.before, false, f.written};
    TileValue v;
    v.body = {named(e, own, false)};
    v.names = {Symbol("m" + std::to_string(names_.size()))};
    v.types = {e.type()};
    v.kind = ValueKind::Map;
    for (const auto& a : k_.axes)
      if (f.axes.count(a.name)) v.axes.push_back(a.name);
    kept_.push_back(e);
    const auto it = names_.emplace(e.get(), std::pair(v.ref(), place.before)).first;
    added_.emplace_back(place.before, std::move(v));
    return it;
  }

  // Each map stands before the first value that may read it, and after the maps that it reads.
  void insert() {
    std::stable_sort(added_.begin(), added_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<TileValue> all;
    size_t next = 0;
    for (size_t i = 0; i <= k_.values.size(); i++) {
      for (; next < added_.size() && added_[next].first == i; next++)
        all.push_back(std::move(added_[next].second));
      if (i < k_.values.size()) all.push_back(std::move(k_.values[i]));
    }
    k_.values = std::move(all);
  }

  Kernel& k_;
  bool contracts_ = false;
  std::unordered_map<Symbol, size_t> order_;
  std::vector<Place> places_;
  std::vector<std::pair<Expr*, size_t>> roots_;
  Exprs kept_;           // what facts and names are about stays alive, and so do its addresses
  std::unordered_map<const ExprNode*, Facts> facts_;
  Names names_;
  std::vector<std::pair<size_t, TileValue>> added_;
};

}  // namespace

void share_values(Kernel& kernel) { Sharer(kernel).run(); }

}  // namespace pto
