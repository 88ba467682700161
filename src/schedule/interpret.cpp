// Runs a schedule as it reads: a walk over the tree, one point at a time. Every value has its whole
// extent here, since where it is stored changes no bits; what does is the order of folds and the
// transformation of expressions, which are exactly those that schedule.h states.
#include <algorithm>

#include "base/error.h"
#include "expr/expand.h"
#include "schedule/placement.h"
#include "tile/opaque.h"
#include "tile/point_eval.h"

namespace pto {
namespace {

constexpr std::string_view kWhere = "schedule/interpret";

Expr transformed(const Expr& e) { return form_fma(expand_all_math(promote_halves(e))); }

// The combination of two tuples by a value's fold.
class Combine {
 public:
  explicit Combine(const TileValue& v) {
    if (v.kind == ValueKind::Contract) {
      identity = {Scalar::from_int(v.types[0], 0)};
      compile({component('a', 0, v.types[0]) + component('b', 0, v.types[0])}, v.types);
    } else {
      for (const auto& e : v.monoid.init) identity.push_back(e.value());
      compile(v.monoid.combine, v.types);
    }
  }

  void operator()(std::vector<Scalar>& a, const std::vector<Scalar>& b) const {
    std::vector<Scalar> vars;
    for (size_t i = 0; i < a.size(); i++) {
      vars.push_back(a[i]);
      vars.push_back(b[i]);
    }
    for (size_t i = 0; i < a.size(); i++) a[i] = combine_[i](vars);
  }

  std::vector<Scalar> identity;

 private:
  void compile(const Exprs& combine, const std::vector<DType>& types) {
    PointScope scope;
    for (size_t i = 0; i < types.size(); i++)
      for (char side : {'a', 'b'})
        scope.vars.emplace(component(side, static_cast<int>(i), types[i]).symbol(),
                           static_cast<int>(2 * i + (side == 'b')));
    for (const auto& e : combine) combine_.emplace_back(transformed(e), scope, MathMode::Expanded);
  }

  std::vector<PointExpr> combine_;
};

using Tuple = std::vector<Scalar>;

// HReduce's tree over tuples: halves are combined until one is left; an odd one is carried.
Tuple combine_tree(std::vector<Tuple> parts, const Combine& combine) {
  while (parts.size() > 1) {
    const size_t half = parts.size() / 2;
    for (size_t i = 0; i < half; i++) combine(parts[i], parts[i + half]);
    if (parts.size() % 2) parts[half] = parts.back();
    parts.resize(half + parts.size() % 2);
  }
  return parts[0];
}

class Interpreter {
 public:
  Interpreter(const Kernel& k, const Schedule& s, const std::vector<BufferPtr>& buffers, const Sizes& sizes,
              std::string* error)
      : k_(k), p_(place(k, s)), error_(error), chunk_(p_.nodes.size(), 0) {
    PTO_CHECK(buffers.size() == k.params.size(), std::string(kWhere), "one buffer a parameter");
    for (const auto& a : k.axes) {
      const int64_t extent = eval_size(a.extent, sizes);
      tiles_.emplace(a.name, Tile{0, extent});
      extents_.emplace(a.name, extent);
      add_var(a.name, 0);
    }
    for (Symbol size : k.sizes) add_var(size, sizes.at(size));
    for (size_t i = 0; i < k.params.size(); i++) {
      const auto& p = k.params[i];
      PTO_CHECK(buffers[i]->dtype == p.dtype && buffers[i]->contiguous(), std::string(kWhere),
                "the buffer of " + p.name.str());
      add_array(p.name,
                {p.dtype, eval_shape(p.shape, sizes), static_cast<char*>(buffers[i]->data), buffers[i]});
      PTO_CHECK(arrays_.at(p.name).elements() == buffers[i]->elements(), std::string(kWhere),
                "the size of " + p.name.str());
    }
    for (const auto& v : k.values)
      for (size_t c = 0; c < v.names.size(); c++) {
        // An inlined value is there at the current point alone.
        PointArray array =
            PointArray::make(v.types[c], is_inlined(v) ? std::vector<int64_t>{} : extents(v.axes));
        array.single = is_inlined(v);
        add_array(v.names[c], std::move(array));
      }
    for (const auto& v : k.values) values_.push_back(compile(v));
    for (const auto& st : k.stores) stores_.push_back(compile(st));
  }

  void run() {
    for (int n = 0; n < static_cast<int>(p_.nodes.size()); n = p_.nodes[n].end) walk(n);
    for (const auto& c : k_.checks) {
      const Code condition = compile(Exprs{c.condition});
      for_each_point(extents(c.axes), [&](const std::vector<int64_t>& at) {
        for (size_t i = 0; i < at.size(); i++) bind(c.axes[i], at[i]);
        if (!evaluate(condition)[0].to_bool() && error_ && error_->empty()) *error_ = c.message;
      });
    }
  }

 private:
  struct Tile {
    int64_t lo, hi;
  };

  struct Code {
    std::vector<int> inlined;      // computed first
    std::vector<PointExpr> exprs;
  };

  struct ValueCode {
    const TileValue* v = nullptr;
    Code body;
    std::unique_ptr<Combine> combine;   // of folds and scans
    int fold = -1;                      // the loop around which it begins and ends
    std::vector<int> unrolled;          // unrolled loops over folded axes, outermost first
    int vector = -1;                    // the vector loop over a folded axis
    int64_t parts = 1, lanes = 1;
    // While it folds: an accumulator for each point, part and lane.
    std::vector<PointArray> accumulators;
  };

  struct StoreCode {
    const TileStore* s = nullptr;
    Code code;                          // indices, value, predicate
  };

  bool is_inlined(const TileValue& v) const { return p_.inlined.count(v.names[0]) > 0; }

  void add_var(Symbol name, int64_t value) {
    scope_.vars.emplace(name, static_cast<int>(vars_.size()));
    vars_.push_back(Scalar::from_int(DType::I64, value));
  }

  void add_array(Symbol name, PointArray array) {
    scope_.arrays.emplace(name, &arrays_.emplace(name, std::move(array)).first->second);
  }

  void bind(Symbol axis, int64_t at) { vars_[scope_.vars.at(axis)] = Scalar::from_int(DType::I64, at); }
  int64_t bound(Symbol axis) const { return vars_[scope_.vars.at(axis)].to_int(); }

  std::vector<int64_t> extents(const std::vector<Symbol>& axes) const {
    std::vector<int64_t> out;
    for (Symbol a : axes) out.push_back(extents_.at(a));
    return out;
  }

  std::vector<int64_t> point(const std::vector<Symbol>& axes) const {
    std::vector<int64_t> out;
    for (Symbol a : axes) out.push_back(bound(a));
    return out;
  }

  Code compile(const Exprs& exprs) const {
    Code code;
    code.inlined = needs(k_, p_, exprs).inlined;
    for (const auto& e : exprs) code.exprs.emplace_back(transformed(e), scope_, MathMode::Expanded);
    return code;
  }

  ValueCode compile(const TileValue& v) {
    ValueCode c;
    c.v = &v;
    c.body = compile(v.kind == ValueKind::Contract ? v.body[0].args() : v.body);
    if (v.kind == ValueKind::Map) return c;
    c.combine = std::make_unique<Combine>(v);
    std::vector<int64_t> shape = extents(v.axes);
    if (v.kind == ValueKind::Scan) {
      // A scan carries its tuple in the accumulator of its line.
      for (size_t i = 0; i < shape.size(); i++)
        if (v.axes[i] == v.over[0]) shape[i] = 1;
    } else {
      for (int loop : p_.path(p_.leaf.at(v.names[0]))) {
        const ScheduleNode& n = *p_.nodes[loop].node;
        if (std::find(v.over.begin(), v.over.end(), n.axis) == v.over.end()) continue;
        if (n.kind == LoopKind::Unrolled) {
          c.unrolled.push_back(loop);
          c.parts *= unrolled_chunks(k_, p_, loop);
        } else if (n.kind == LoopKind::Vector) {
          c.vector = loop;
          c.parts *= n.unroll;
          c.lanes = n.step;
        }
      }
    }
    c.fold = p_.outermost(p_.leaf.at(v.names[0]), v.over);
    shape.push_back(c.parts * c.lanes);
    for (DType type : v.types) c.accumulators.push_back(PointArray::make(type, shape));
    return c;
  }

  StoreCode compile(const TileStore& s) const { return {&s, compile(expressions(s))}; }

  Tuple evaluate(const Code& code) {
    for (int i : code.inlined) {
      const TileValue& v = k_.values[i];
      std::vector<Scalar> values;
      for (const auto& e : values_[i].body.exprs) values.push_back(e(vars_));
      for (size_t c = 0; c < values.size(); c++) arrays_.at(v.names[c]).write(0, values[c]);
    }
    Tuple out;
    for (const auto& e : code.exprs) out.push_back(e(vars_));
    return out;
  }

  // --- the walk ---------------------------------------------------------------------------------

  void walk(int n) {
    const ScheduleNode& node = *p_.nodes[n].node;
    if (!node.leaf.empty()) {
      for (const auto& placed : node.leaf) item(n, placed);
      return;
    }
    for (auto& v : values_)
      if (v.combine && v.fold == n) begin(v);
    const Tile tile = tiles_.at(node.axis);
    const int64_t chunks = (tile.hi - tile.lo + node.step - 1) / node.step;
    const bool backwards = scans_backwards(n);
    for (int64_t c = 0; c < chunks; c++) {
      const int64_t number = backwards ? chunks - 1 - c : c;
      const int64_t lo = tile.lo + number * node.step;
      tiles_[node.axis] = {lo, std::min(lo + node.step, tile.hi)};
      chunk_[n] = node.kind == LoopKind::Vector ? number % node.unroll : number;
      bind(node.axis, lo);
      for (int m = n + 1; m < p_.nodes[n].end; m = p_.nodes[m].end) walk(m);
    }
    tiles_[node.axis] = tile;
    for (auto& v : values_)
      if (v.combine && v.fold == n && v.v->kind != ValueKind::Scan) finish(v);
  }

  bool scans_backwards(int n) const {
    for (const auto& v : k_.values)
      if (v.kind == ValueKind::Scan && v.reverse && v.over[0] == p_.nodes[n].node->axis &&
          p_.encloses(n, p_.leaf.at(v.names[0])))
        return true;
    return false;
  }

  // One item of a leaf, in all lanes.
  void item(int leaf, const Placed& placed) {
    const int parent = p_.nodes[leaf].parent;
    const ScheduleNode* loop = parent < 0 ? nullptr : p_.nodes[parent].node;
    const Tile lanes = loop && loop->kind == LoopKind::Vector ? tiles_.at(loop->axis) : Tile{0, 1};
    for (int64_t l = lanes.lo; l < lanes.hi; l++) {
      if (loop && loop->kind == LoopKind::Vector) bind(loop->axis, l);
      lane_ = l - lanes.lo;
      if (placed.store) {
        for (size_t i = 0; i < stores_.size(); i++)
          if (p_.store_leaf[i] == leaf && stores_[i].s->param == placed.name) store(stores_[i]);
      } else {
        for (auto& v : values_)
          if (v.v->names[0] == placed.name) step(v);
      }
    }
  }

  void store(const StoreCode& s) {
    const Tuple values = evaluate(s.code);
    const size_t rank = s.s->index.size();
    if (s.s->predicate && !values[rank + 1].to_bool()) return;
    std::vector<int64_t> index;
    for (size_t d = 0; d < rank; d++) index.push_back(values[d].to_int());
    PointArray& to = arrays_.at(s.s->param);
    to.write(to.offset(index), values[rank]);
  }

  void write(const TileValue& v, const Tuple& values) {
    const auto at = point(v.axes);
    for (size_t c = 0; c < values.size(); c++) {
      PointArray& array = arrays_.at(v.names[c]);
      array.write(array.offset(at), values[c]);
    }
  }

  void step(ValueCode& c) {
    const TileValue& v = *c.v;
    if (v.kind == ValueKind::Map) {
      write(v, evaluate(c.body));
      return;
    }
    if (c.fold < 0) begin(c);
    auto at = point(v.axes);
    int64_t part = 0;
    if (v.kind == ValueKind::Scan) {
      for (size_t i = 0; i < at.size(); i++)
        if (v.axes[i] == v.over[0]) at[i] = 0;
    } else {
      for (int loop : c.unrolled) part = part * unrolled_chunks(k_, p_, loop) + chunk_[loop];
      if (c.vector >= 0) part = part * p_.nodes[c.vector].node->unroll + chunk_[c.vector];
    }
    at.push_back(part * c.lanes + (c.vector >= 0 ? lane_ : 0));
    Tuple acc;
    for (const auto& a : c.accumulators) acc.push_back(a.read(a.offset(at)));
    const Tuple body = evaluate(c.body);
    if (v.kind == ValueKind::Contract && is_float(v.types[0])) {
      const Scalar args[] = {body[0], body[1], acc[0]};
      acc[0] = eval_op(Op::Fma, args);
    } else if (v.kind == ValueKind::Contract) {
      (*c.combine)(acc, {eval_op(Op::Mul, body.data())});
    } else {
      (*c.combine)(acc, body);
    }
    for (size_t i = 0; i < acc.size(); i++) c.accumulators[i].write(c.accumulators[i].offset(at), acc[i]);
    if (v.kind == ValueKind::Scan)
      write(v, acc);
    else if (c.fold < 0)
      finish(c);
  }

  // Calls f(index) for the points of the current tiles of a value's axes.
  template <class F>
  void for_tile(const TileValue& v, F f) {
    std::vector<int64_t> lo, size;
    for (Symbol a : v.axes) {
      const bool is_scanned = v.kind == ValueKind::Scan && a == v.over[0];
      const bool is_lanes = bound_to_lane(v, a);
      const Tile tile = is_lanes ? Tile{bound(a), bound(a) + 1} : is_scanned ? Tile{0, 1} : tiles_.at(a);
      lo.push_back(tile.lo);
      size.push_back(tile.hi - tile.lo);
    }
    for_each_point(size, [&](std::vector<int64_t> at) {
      for (size_t i = 0; i < at.size(); i++) at[i] += lo[i];
      f(std::move(at));
    });
  }

  // A fold without folded axes begins and ends at its leaf, inside a vector loop lane by lane.
  bool bound_to_lane(const TileValue& v, Symbol axis) const {
    if (v.kind == ValueKind::Scan || !v.over.empty()) return false;
    const int parent = p_.nodes[p_.leaf.at(v.names[0])].parent;
    return parent >= 0 && p_.nodes[parent].node->kind == LoopKind::Vector &&
           p_.nodes[parent].node->axis == axis;
  }

  void begin(ValueCode& c) {
    for_tile(*c.v, [&](std::vector<int64_t> at) {
      at.push_back(0);
      for (int64_t i = 0; i < c.parts * c.lanes; i++) {
        at.back() = i;
        for (size_t t = 0; t < c.accumulators.size(); t++)
          c.accumulators[t].write(c.accumulators[t].offset(at), c.combine->identity[t]);
      }
    });
  }

  // Parts are combined first, then lanes.
  void finish(ValueCode& c) {
    for_tile(*c.v, [&](std::vector<int64_t> at) {
      auto from = at;
      from.push_back(0);
      std::vector<Tuple> lanes;
      for (int64_t l = 0; l < c.lanes; l++) {
        std::vector<Tuple> parts(c.parts);
        for (int64_t part = 0; part < c.parts; part++) {
          from.back() = part * c.lanes + l;
          for (const auto& a : c.accumulators) parts[part].push_back(a.read(a.offset(from)));
        }
        lanes.push_back(combine_tree(std::move(parts), *c.combine));
      }
      const Tuple result = combine_tree(std::move(lanes), *c.combine);
      for (size_t t = 0; t < result.size(); t++) {
        PointArray& array = arrays_.at(c.v->names[t]);
        array.write(array.offset(at), result[t]);
      }
    });
  }

  const Kernel& k_;
  const Placement p_;
  std::string* error_;
  PointScope scope_;
  std::vector<Scalar> vars_;                       // axes, then sizes
  std::unordered_map<Symbol, int64_t> extents_;
  std::unordered_map<Symbol, Tile> tiles_;         // of the point of the tree where the walk is
  std::unordered_map<Symbol, PointArray> arrays_;  // its elements never move
  std::vector<ValueCode> values_;                  // per value of the kernel
  std::vector<StoreCode> stores_;
  std::vector<int64_t> chunk_;                     // per loop: the number of its current chunk
  int64_t lane_ = 0;
};

}  // namespace

void interpret(const Kernel& kernel, const Schedule& schedule, const std::vector<BufferPtr>& buffers,
               const Sizes& sizes, std::string* error) {
  if (!kernel.opaque.empty()) {
    opaque_template(kernel).interpret(kernel, buffers, sizes, error);
    return;
  }
  Interpreter(kernel, schedule, buffers, sizes, error).run();
}

}  // namespace pto
