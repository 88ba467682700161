// Is a schedule one for its kernel? Each refusal says what is wrong, in the schedule's own names.
#include <algorithm>

#include "base/error.h"
#include "base/symbols.h"
#include "schedule/access.h"
#include "schedule/placement.h"

namespace pto {
namespace {

constexpr int64_t kMaxUnrolled = 1024;   // copies of a leaf
constexpr int64_t kMaxLanes = 1024;

class Verifier {
 public:
  Verifier(const Kernel& kernel, const Schedule& schedule, const Target& target)
      : k_(kernel), s_(schedule), target_(target) {}

  void run() {
    if (s_.target != target_.name) fail("is for " + s_.target + ", not for " + target_.name);
    p_ = place(k_, s_);
    for (size_t n = 0; n < p_.nodes.size(); n++)
      if (p_.nodes[n].node->leaf.empty()) check_loop(static_cast<int>(n));
    for (size_t i = 0; i < k_.values.size(); i++) {
      const auto& v = k_.values[i];
      if (auto it = p_.leaf.find(v.names[0]); it != p_.leaf.end()) check_value(v, it->second);
    }
    for (size_t i = 0; i < k_.stores.size(); i++) check_store(k_.stores[i], p_.store_leaf[i]);
    for (const auto& [name, dims] : s_.layouts) check_layout(name, dims);
    for (const auto& v : k_.values) check_storage(v);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error("schedule", "the schedule of " + k_.name.str() + " " + reason);
  }

  const ScheduleNode& node(int n) const { return *p_.nodes[n].node; }

  void check_loop(int n) const {
    const ScheduleNode& loop = node(n);
    const std::string what = loop.axis.str();
    if (!k_.axis(loop.axis)) fail("loops over the unknown axis " + what);
    if (loop.step < 1) fail("walks " + what + " in steps of " + std::to_string(loop.step));
    if (loop.body.empty()) fail("has an empty loop over " + what);
    if (loop.unroll != 1 && loop.kind != LoopKind::Vector)
      fail("repeats chunks of " + what + ", whose loop is no vector loop");
    if (loop.unroll < 1 || loop.unroll > 64)
      fail("unrolls " + std::to_string(loop.unroll) + " chunks of " + what);
    for (int outer : p_.path(n)) {
      const ScheduleNode& o = node(outer);
      if (o.kind == LoopKind::Vector) fail("has a loop over " + what + " inside a vector loop");
      if (o.axis == loop.axis && o.step == 1) fail("loops over " + what + ", which is bound already");
    }
    if (loop.kind == LoopKind::Vector && loop.step > kMaxLanes)
      fail("has a vector of " + std::to_string(loop.step) + " lanes");
    if (loop.kind == LoopKind::Unrolled) {
      int64_t copies = 1;
      for (int m = n; m >= 0; m = p_.nodes[m].parent) {
        if (node(m).kind != LoopKind::Unrolled) continue;
        const int64_t chunks = unrolled_chunks(k_, p_, m);
        if (chunks < 0) fail("unrolls " + node(m).axis.str() + ", whose size there is not constant");
        copies *= chunks;
        if (copies > kMaxUnrolled)
          fail("unrolls a body more than " + std::to_string(kMaxUnrolled) + " times");
      }
    }
    check_direction(n);
    if (loop.kind == LoopKind::Parallel) {
      const int parent = p_.nodes[n].parent;
      if (parent < 0) return;
      if (node(parent).kind != LoopKind::Parallel || node(parent).body.size() != 1)
        fail("has a parallel loop over " + what +
             " that is neither at the root nor all that a parallel loop holds");
    }
  }

  // Scans inside a loop over their axis agree on its direction.
  void check_direction(int n) const {
    const TileValue* first = nullptr;
    for (const auto& v : k_.values) {
      if (v.kind != ValueKind::Scan || v.over[0] != node(n).axis || !p_.leaf.count(v.names[0]) ||
          !p_.encloses(n, p_.leaf.at(v.names[0])))
        continue;
      if (first && first->reverse != v.reverse)
        fail("scans " + first->names[0].str() + " and " + v.names[0].str() +
             " in opposite directions of one loop");
      first = &v;
    }
  }

  // Every axis is bound to one index, or to lanes; a vector loop's axis is used.
  void check_bound(const std::string& what, const std::vector<Symbol>& axes, int leaf) const {
    for (Symbol a : axes) {
      bool bound = false;
      for (int outer : p_.path(leaf))
        bound |= node(outer).axis == a && (node(outer).step == 1 || node(outer).kind == LoopKind::Vector);
      if (!bound) fail("does not bind axis " + a.str() + " where " + what + " stands");
    }
    for (int outer : p_.path(leaf))
      if (node(outer).kind == LoopKind::Vector && !contains(axes, node(outer).axis))
        fail("puts " + what + " into a vector loop over " + node(outer).axis.str() +
             ", which it does not use");
  }

  // What is read stands before, and outside of what computes it by folding.
  void check_reads(const std::string& what, const Exprs& exprs, int leaf, size_t position) const {
    for (int r : needs(k_, p_, exprs).placed) {
      const TileValue& v = k_.values[r];
      const std::string name = v.names[0].str();
      const int from = p_.leaf.at(v.names[0]);
      bool before = from < leaf;
      if (from == leaf) {
        const auto& items = node(leaf).leaf;
        for (size_t i = 0; i < position && !before; i++)
          before = !items[i].store && items[i].name == v.names[0];
      }
      if (!before) fail("uses " + name + " in " + what + " before it is computed");
      if (v.kind != ValueKind::Reduce && v.kind != ValueKind::Contract) continue;
      const int fold = p_.outermost(from, v.over);
      if (fold >= 0 && p_.encloses(fold, leaf))
        fail("uses " + name + " in " + what + " inside the loop over " + node(fold).axis.str() +
             ", where it is not complete");
    }
  }

  size_t position(int leaf, Symbol name, bool store) const {
    const auto& items = node(leaf).leaf;
    for (size_t i = 0; i < items.size(); i++)
      if (items[i].name == name && items[i].store == store) return i;
    return items.size();
  }

  void check_value(const TileValue& v, int leaf) const {
    const std::string what = v.names[0].str();
    std::vector<Symbol> axes = v.axes;
    if (v.kind != ValueKind::Scan) axes.insert(axes.end(), v.over.begin(), v.over.end());
    check_bound(what, axes, leaf);
    check_reads(what, v.body, leaf, position(leaf, v.names[0], false));
    const int fold = p_.outermost(leaf, v.over);
    const int storage = storage_node(v);
    for (int outer : p_.path(leaf)) {
      const ScheduleNode& loop = node(outer);
      const std::string axis = loop.axis.str();
      if (loop.kind == LoopKind::Parallel && contains(v.over, loop.axis))
        fail("has a parallel loop over " + axis + ", which carries the " +
             (v.kind == ValueKind::Scan ? "scan " : "fold ") + what);
      if (v.kind == ValueKind::Scan && contains(v.over, loop.axis) && loop.kind != LoopKind::Serial)
        fail("walks the axis " + axis + " of the scan " + what + " in a loop that is not serial");
      if (fold >= 0 && outer > fold && !contains(axes, loop.axis))
        fail("repeats steps of the fold " + what + " in a loop over " + axis);
      if (loop.kind == LoopKind::Parallel && storage < outer && !contains(v.axes, loop.axis))
        fail("computes " + what + ", which is shared, once for each " + axis + " of a parallel loop");
    }
  }

  void check_store(const TileStore& s, int leaf) const {
    const std::string what = "the store to " + s.param.str();
    const std::vector<Symbol> axes = store_axes(k_, s);
    check_bound(what, axes, leaf);
    check_reads(what, expressions(s), leaf, position(leaf, s.param, true));
    for (int outer : p_.path(leaf))
      if (node(outer).kind == LoopKind::Parallel && !contains(axes, node(outer).axis))
        fail("repeats " + what + " in a parallel loop over " + node(outer).axis.str());
  }

  // The innermost node that encloses the beginning of v's computation and all its users; -1: the root.
  int storage_node(const TileValue& v) const {
    int leaf = p_.leaf.at(v.names[0]);
    const int fold = p_.outermost(leaf, v.over);
    int n = p_.nodes[fold >= 0 ? fold : leaf].parent;
    auto enclose = [&](const Exprs& exprs, int user) {
      for (int r : needs(k_, p_, exprs).placed)
        if (k_.values[r].names[0] == v.names[0])
          while (!p_.encloses(n, user)) n = p_.nodes[n].parent;
    };
    for (const auto& u : k_.values)
      if (auto it = p_.leaf.find(u.names[0]); it != p_.leaf.end()) enclose(u.body, it->second);
    for (size_t i = 0; i < k_.stores.size(); i++) enclose(expressions(k_.stores[i]), p_.store_leaf[i]);
    return n;
  }

  void check_layout(Symbol name, const std::vector<LayoutDim>& dims) const {
    const TileValue* v = k_.value(name);
    if (!v || !p_.leaf.count(name)) fail("gives a layout to " + name.str() + ", which it does not place");
    for (Symbol a : v->axes) {
      int64_t whole = 0, outer = 0, inner = 0;
      for (const auto& d : dims) {
        if (d.axis != a) continue;
        int64_t& seen = d.kind == LayoutDim::Whole ? whole : d.kind == LayoutDim::Outer ? outer : inner;
        if (seen || d.block < 1) fail("gives " + name.str() + " a layout with axis " + a.str() + " twice");
        seen = d.block;
      }
      if (whole ? outer || inner : !outer || outer != inner)
        fail("gives " + name.str() + " a layout in which axis " + a.str() +
             " is neither whole nor split once");
    }
    for (const auto& d : dims)
      if (!contains(v->axes, d.axis))
        fail("gives " + name.str() + " a layout with axis " + d.axis.str() + ", which is not its own");
  }

  // A private stage of constant size must fit the caches.
  void check_storage(const TileValue& v) const {
    if (!p_.leaf.count(v.names[0])) return;
    const int n = storage_node(v);
    bool is_private = false;
    for (int m = n; m >= 0; m = p_.nodes[m].parent) is_private |= node(m).kind == LoopKind::Parallel;
    if (!is_private) return;
    double bytes = 0;
    for (DType t : v.types) bytes += size_of(t);
    for (Symbol a : v.axes) {
      const Size& extent = k_.axis(a)->extent;
      int64_t tile = extent.is_const() ? extent.as_int() : -1;
      for (int m = n; m >= 0; m = p_.nodes[m].parent)
        if (node(m).axis == a) tile = tile < 0 ? node(m).step : std::min(tile, node(m).step);
      if (tile < 0) return;
      bytes *= static_cast<double>(tile);
    }
    if (bytes > static_cast<double>(target_.l3_bytes))
      fail("keeps " + std::to_string(static_cast<int64_t>(bytes)) + " bytes of " + v.names[0].str() +
           " a worker, which do not fit the caches (" + std::to_string(target_.l3_bytes) + " bytes)");
  }

  const Kernel& k_;
  const Schedule& s_;
  const Target& target_;
  Placement p_;
};

}  // namespace

void verify(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  if (!kernel.opaque.empty()) {
    if (!schedule.roots.empty() || !schedule.inlined.empty() || !schedule.layouts.empty())
      throw Error("schedule", "the template " + kernel.opaque + " of " + kernel.name.str() +
                                  " has a schedule of its own");
    return;
  }
  Verifier(kernel, schedule, target).run();
}

}  // namespace pto
