#pragma once
// Writes the loop program of a plan. The parts: lower_loops.cpp (loops and their short chunks),
// lower_storage.cpp (allocations, their indices), lower_body.cpp (expressions at a point),
// lower_leaf.cpp (maps, stores, checks), lower_fold.cpp (accumulators).
#include <functional>
#include <set>

#include "loop/loop.h"
#include "loop/lower_index.h"
#include "loop/lower_plan.h"

namespace pto::lowering {

using Stmts = std::vector<StmtPtr>;
void append(Stmts& to, Stmts from);

// The part of an axis that is current at a point of the program.
struct Tile {
  enum Bound : uint8_t { Range, Point, Lanes } bound = Range;
  Linear at;              // the first position; where it is bound, the position or positions
  int64_t width = 0;      // positions at most; 0: not known
  Expr extent;            // positions that exist, from `at` on; a constant where all are known to
  // Bound: where the position may lie beyond the end of the tile that was walked, the condition (of
  // lanes: the mask) that it does not.
  Expr exists;
  // The innermost chunk that may be short, for the sizes of the axis: where it begins, and how long it
  // is unless the axis ends in it.
  Linear cut;
  int64_t cut_width = 0;
};

// The number of a copy that an unrolled loop makes.
struct Part {
  Symbol axis;
  Expr index;
  int64_t count;
};

class Env {
 public:
  const Tile& tile(Symbol axis) const { return tiles_.at(axis); }
  Env with(Symbol axis, Tile tile) const;
  Env with(Part part) const;
  bool has(Symbol axis) const { return tiles_.count(axis) > 0; }
  const std::vector<Part>& parts() const { return parts_; }
  Symbol lane_axis() const;     // the axis that is bound to lanes; empty if there is none
  const Tile* lanes() const { return lane_axis().empty() ? nullptr : &tile(lane_axis()); }

 private:
  std::map<Symbol, Tile> tiles_;
  std::vector<Part> parts_;     // outermost first
};

// A loop as it is written: of the schedule, or made for a check.
struct LoopForm {
  LoopKind kind = LoopKind::Serial;
  Symbol axis;
  int64_t step = 1;
  int unroll = 1;
  bool one_code = false;        // full and short chunks run the same code
  bool constant_trips = false, beyond_end = false, backwards = false;
  int64_t parts = 1;            // of an unrolled loop
};
using Body = std::function<Stmts(const Env&)>;

// Memory that holds part of a value, or accumulators.
struct Storage {
  Symbol name;
  DType dtype = DType::F32;
  Scope scope = Scope::Private;
  Shape shape;
  std::vector<LayoutDim> dims;         // further dimensions (parts, lanes) follow them
  struct Extent {
    Linear base;                       // of the tile that is held
    int64_t width = -1;                // of the tile; -1: not constant
    int64_t size = 0, padding = 1;     // size: room, a multiple of the padding; 0: not constant
  };
  std::map<Symbol, Extent> extents;
};

// Values at hand by name, in one execution of a leaf.
using Locals = std::map<Symbol, Expr>;

class Emitter {
 public:
  explicit Emitter(const Plan& plan);
  LoopProgram run();

  // --- names ---
  Symbol fresh(const std::string& base);
  // The expression by name, or itself if it is a constant or a name.
  Expr named(Stmts& out, const std::string& base, const Expr& value);

  // --- lower_loops.cpp ---
  LoopForm form(int loop) const;
  Stmts loops(const std::vector<LoopForm>& chain, const Env& env, const Body& body, size_t from = 0);

  // --- lower_storage.cpp ---
  Storage make_storage(const std::string& name, DType type, Scope scope, const std::vector<LayoutDim>& dims,
                       const std::map<Symbol, int64_t>& padding, const Env& env,
                       const std::vector<int64_t>& further = {});
  Stmts allocate(const ValuePlan& v, const Env& env);
  Expr read(const Storage& s, const Env& env, const Exprs& further = {}) const;
  // Where the position does not exist and there is no room for it, nothing is written.
  Stmts write(const Storage& s, const Env& env, Expr value, const Exprs& further = {}, Loc loc = {}) const;
  const Storage& storage(Symbol component) const { return storages_.at(component); }

  // --- lower_leaf.cpp ---
  Stmts leaf(int first, const Env& env);
  Stmts map(const ValuePlan& v, const Env& env, Locals& locals);
  void define(Stmts& out, const ValuePlan& v, const Env& env, Locals& locals, const Exprs& results);
  Stmts store_result(const TileStore& s, const Env& env, Locals& locals);
  Stmts check_after(const CheckPlan& check, const Env& env, const Locals& locals);
  Stmts check_nest(const CheckPlan& check, const Env& env);

  // --- lower_fold.cpp ---
  // Around the loop on which a fold begins, around its window, and a step of it.
  Stmts begin_fold(const ValuePlan& v, const Env& env);
  Stmts end_fold(const ValuePlan& v, const Env& env);
  Stmts enter_window(const ValuePlan& v, const Env& env);
  Stmts leave_window(const ValuePlan& v, const Env& env);
  Stmts step(const ValuePlan& v, const Env& env, Locals& locals);

  const Plan& plan;

 private:
  Stmts body(int n, const Env& env);          // of a loop; -1: of the root
  Stmts child(int n, const Env& env);
  Stmts root(const Env& env);
  Env whole_axes() const;

  Stmts serial(const LoopForm& f, const Env& env, const Body& inner);
  Stmts unrolled(const LoopForm& f, const Env& env, const Body& inner);
  Stmts vector(const LoopForm& f, const Env& env, const Body& inner);
  Stmts parallel(const std::vector<LoopForm>& chain, size_t from, size_t to, const Env& env,
                 const Body& inner);

  struct Place;
  Place place_in(const Storage& s, const Env& env, const Exprs& further) const;

  std::vector<LoopForm> free_loops(const ValuePlan& v, int outermost) const;
  Stmts copy_accumulators(const ValuePlan& v, const Env& env, bool to_window);
  Stmts make_accumulators(const ValuePlan& v, const Env& env, std::map<Symbol, Storage>& to, Scope scope);
  bool folds_in_place(const ValuePlan& v) const;
  const Storage& accumulator(const ValuePlan& v, size_t component) const;
  const Storage& accumulator_base(const ValuePlan& v, size_t component) const;
  Exprs combined(Stmts& out, const ValuePlan& v, const Exprs& a, const Exprs& b);
  Exprs combine_parts(Stmts& out, const ValuePlan& v, std::vector<Exprs> parts);
  Exprs combine_lanes(Stmts& out, const ValuePlan& v, Exprs lanes);

  std::set<Symbol> used_names_;
  std::map<std::string, int> name_counts_;
  std::map<Symbol, Storage> storages_;        // of values, by component
  std::map<Symbol, Storage> accumulators_;    // in memory
  std::map<Symbol, Storage> windows_;         // in registers
  Stmts shared_;                              // allocations at the top
};

// Expressions of the tile level at one point: axes become positions, values what holds them.
// Inlined values are written to `out` once, as lets.
class PointLowering {
 public:
  PointLowering(Emitter& emitter, const Env& env, Locals& locals, Stmts& out)
      : emitter_(emitter), env_(env), locals_(locals), out_(out) {}
  Expr lower(const Expr& e);

 private:
  Expr node(const Expr& e);
  Expr access(const Expr& e);
  Expr lanes_exist(const Exprs& index, int lanes) const;
  Expr position(Symbol axis) const;
  std::optional<Linear> linear(const Expr& e);

  Emitter& emitter_;
  const Env& env_;
  Locals& locals_;
  Stmts& out_;
  std::unordered_map<const ExprNode*, Expr> done_;
};

// lower_barriers.cpp: separates what workers write to shared buffers from what they read later.
Stmts with_barriers(Stmts root, const std::set<Symbol>& shared);

}  // namespace pto::lowering
