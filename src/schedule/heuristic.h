#pragma once
// The schedule heuristic's parts, for one another. heuristic.cpp decides what is inlined and groups
// the rest into nests of loops; heuristic_rows.cpp, heuristic_contract.cpp build the nests;
// heuristic_split.cpp splits folds beforehand.
#include <set>

#include "base/symbols.h"
#include "schedule/access.h"
#include "schedule/schedule.h"

namespace pto::heuristic {

// A value or a store that needs a place in the tree.
struct Item {
  Symbol name;                 // a value's first component, or the parameter
  bool store = false;
  std::vector<Symbol> axes;    // what a row may be made of: free, and not scanned along
  std::vector<Symbol> inner;   // what must be walked inside: folded or scanned along
  bool fold = false;           // reduce or contract
  bool scan = false;
  std::vector<int> needs;      // items that must stand before it
  std::vector<int> after;      // of a store: those of the same parameter before it
  Exprs exprs;                 // what it computes in lanes, inlined values included
  std::vector<Access> accesses;
};

// Items that share their outermost loops.
struct Group {
  bool contraction = false;
  std::vector<Symbol> rows;    // axes that all items have
  std::vector<int> items;
};

// The state while one kernel is scheduled.
class Planner {
 public:
  Planner(Kernel kernel, std::string size_class, const Target& target);

  Kernel kernel;
  Schedule schedule;
  const Target& target;
  std::vector<Item> items;

  bool holds(const std::string& fact, const Expr& condition) const;
  void because(std::string sentence) { schedule.because.push_back(std::move(sentence)); }

  const Size& extent(Symbol axis) const { return kernel.axis(axis)->extent; }
  // Constant extents; `otherwise` for symbolic ones.
  int64_t extent_or(Symbol axis, int64_t otherwise) const;
  int64_t points_or(const std::vector<Symbol>& axes, int64_t otherwise) const;   // their product
  std::vector<Symbol> in_kernel_order(const std::vector<Symbol>& axes) const;
  int lanes(const Exprs& exprs) const;   // of the widest element
  const TileValue& value(const Item& item) const { return *kernel.value(item.name); }
};

// --- loops ---------------------------------------------------------------------------------------
using NodePtr = std::shared_ptr<ScheduleNode>;
NodePtr loop(LoopKind kind, Symbol axis, int64_t step, ScheduleNodes body);
NodePtr vector_loop(Symbol axis, int64_t lanes, int unroll, ScheduleNodes body);
NodePtr leaf(std::vector<Placed> placed);
// Serial loops over `axes`, the first outermost, around `body`.
ScheduleNodes around(LoopKind kind, const std::vector<Symbol>& axes, ScheduleNodes body);
std::vector<Symbol> without(std::vector<Symbol> axes, const std::vector<Symbol>& dropped);
std::string list(const std::vector<Symbol>& axes);
Symbol fresh_name(const Kernel& kernel, const std::string& base);
int64_t power_of_two_at_least(int64_t n);

// --- the parts ------------------------------------------------------------------------------------
// heuristic_split.cpp: long folds of few rows become folds of parts, then a fold over the parts.
std::vector<SizeFact> split_facts(const Kernel& kernel);
Kernel split_folds(Kernel kernel, const std::function<bool(const SizeFact&)>& holds,
                   std::vector<std::string>& because);

// heuristic_rows.cpp: one nest for a group of maps, reductions, scans and stores.
void schedule_rows(Planner& plan, const Group& group);

// heuristic_contract.cpp: nests for contractions with the stores that follow them.
// Do its factors have axes apart, so that blocks of rows and columns reuse what they load? If not
// (a matrix times a vector, factors side by side), it is a reduction like others.
bool is_matrix_product(const Kernel& kernel, const TileValue& value);
std::vector<SizeFact> contract_facts(const Kernel& kernel);
void schedule_contraction(Planner& plan, const Group& group);

}  // namespace pto::heuristic
