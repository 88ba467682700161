#pragma once
// What lowering decides about a schedule before it writes a statement: where each value is stored,
// around which loops its accumulators live, how each loop treats short chunks.
#include <map>

#include "base/symbols.h"
#include "schedule/placement.h"

namespace pto::lowering {

// A vector loop of at most so many iterations, if they are known, is unrolled.
constexpr int64_t kFewTrips = 8;

struct ValuePlan {
  const TileValue* value = nullptr;
  bool inlined = false;
  int leaf = -1;                   // of leaves side by side, the first
  // Used outside of its leaf, or complete only after it. What is not stored is a let in its leaf.
  bool stored = false;
  int home = -1;                   // the node in whose body the storage stands; -1: the root
  bool in_registers = false;
  std::vector<LayoutDim> layout;
  std::map<Symbol, int64_t> padding;   // storage of an axis is rounded up to multiples of this

  // Reduce, Contract and Scan: the outermost loop over a folded axis, and the outermost loop from which
  // on the accumulators are few and constant in number, kept in registers. -1 if there is none.
  int fold = -1, window = -1;
  int64_t parts = 1;               // accumulators of unrolled loops over folded axes
  int lanes = 1;                   // and of the vector loop over one

  bool folds() const { return value->kind != ValueKind::Map && fold >= 0; }
  bool combines() const { return value->kind != ValueKind::Scan && (parts > 1 || lanes > 1); }
};

struct CheckPlan {
  const TileCheck* check = nullptr;
  int number = 0;
  // Evaluated in this leaf after the value of this position, or after this fold's loop; if both are
  // -1, in a nest of its own before all others.
  int leaf = -1, value = -1, fold = -1;
};

class Plan {
 public:
  Plan(const Kernel& kernel, const Schedule& schedule, const Target& target);

  const Kernel& kernel;
  const Schedule& schedule;
  const Target& target;
  const Placement placement;
  bool parallel = false;           // is there a parallel loop?
  std::vector<ValuePlan> values;   // per value of the kernel
  std::vector<CheckPlan> checks;

  const ScheduleNode& node(int n) const { return *placement.nodes[n].node; }
  bool is_leaf(int n) const { return !node(n).leaf.empty(); }
  int parent(int n) const { return n < 0 ? -1 : placement.nodes[n].parent; }
  std::vector<int> children(int n) const;      // -1: of the root
  // Leaves side by side are one: the first of them, and all.
  int first_leaf(int leaf) const;
  std::vector<int> leaves_beside(int first) const;
  // The greatest size of an axis's tile in the body of `n`; 0 if it is not constant.
  int64_t width(int n, Symbol axis) const;
  // Positions in one iteration of a loop.
  int64_t chunk(int loop) const;
  // Will all indices that this loop makes be constants once loops are unrolled?
  bool constant_trips(int loop) const;
  // Is the loop's tile used as a whole inside, so that full chunks deserve code of their own?
  bool splits_off_short_chunk(int loop) const;
  // Are the steps of folds in this unrolled loop executed beyond the end of its axis too (where they
  // change nothing that is used)?
  bool runs_beyond_end(int loop) const;
  bool walks_backwards(int loop) const;
  bool has_parallel(int n) const;              // in its subtree
  const ValuePlan& plan_of(Symbol value) const;

 private:
  void place_values();
  void place_checks();
  void place_check(CheckPlan& check);
  void place_storage(ValuePlan& v);
  void place_accumulators(ValuePlan& v);
  std::vector<int> user_leaves(const ValuePlan& v) const;
  int complete_at(const ValuePlan& v) const;   // text position from which on it can be used
  bool constant_indices(const ValuePlan& v, int leaf) const;
  bool is_bound(int n, Symbol axis) const;
  bool reads_where_values_say(const Exprs& exprs) const;
};

}  // namespace pto::lowering
