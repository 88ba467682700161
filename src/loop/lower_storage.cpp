// Storage of values: shapes from tiles and layouts, indices from positions, and what happens at
// positions that do not exist: mostly there is room for them (whole tiles are stored), so that reads
// and writes need no guards.
#include "base/error.h"
#include "loop/lower_emit.h"

namespace pto::lowering {

// The index of an access, and where it may be done.
struct Emitter::Place {
  Exprs index;
  Expr mask;    // of lanes; empty: all
  Expr guard;   // a scalar condition; empty: always
};

namespace {

constexpr const char* kWhere = "loop/lower";

// Is there room for the positions of `tile` that do not exist, which nothing else uses?
bool has_room(const Tile& tile, const Storage::Extent& extent) {
  if (!tile.exists) return true;
  const Linear offset = relative(tile.at, extent.base);
  const auto max = offset.max();
  if (tile.cut_width == 0) {
    // A rest of constant size: it must be the last of what is stored.
    return offset.terms.empty() && extent.width >= 0 && tile.extent.is_const() &&
           offset.constant + tile.extent.as_int() >= extent.width && max && *max < extent.size;
  }
  // Within the width of the chunk, what does not exist lies beyond the end of the axis.
  const auto within = relative(tile.at, tile.cut).max();
  if (!within || *within >= tile.cut_width) return false;
  if (extent.size > 0 && max && *max < extent.size) return true;
  // A chunk of a width that divides the padding, beginning at a multiple of that width, ends before
  // the padding does.
  return extent.padding % tile.cut_width == 0 && tile.cut.terms.size() >= extent.base.terms.size() &&
         divisible(relative(tile.cut, extent.base), tile.cut_width);
}

// The index of one dimension, from the offset in the tile that is stored.
Expr dimension(const LayoutDim& dim, const Linear& offset) {
  if (dim.kind == LayoutDim::Whole) return offset.expr();
  if (auto parts = divide(offset, dim.block))
    return (dim.kind == LayoutDim::Outer ? parts->quotient : parts->remainder).expr();
  const Expr e = offset.expr();
  return dim.kind == LayoutDim::Outer ? floordiv(e, Expr(dim.block)) : mod(e, Expr(dim.block));
}

}  // namespace

Storage Emitter::make_storage(const std::string& name, DType type, Scope scope,
                              const std::vector<LayoutDim>& dims, const std::map<Symbol, int64_t>& padding,
                              const Env& env, const std::vector<int64_t>& further) {
  Storage s;
  s.name = fresh(name);
  s.dtype = type;
  s.scope = scope;
  for (const auto& d : dims) {
    const Tile& tile = env.tile(d.axis);
    if (tile.bound == Tile::Point) continue;
    PTO_CHECK(tile.bound == Tile::Range, kWhere, "storage of " + name + " inside a vector loop");
    Storage::Extent extent;
    extent.base = tile.at;
    const auto pad = padding.find(d.axis);
    extent.padding = pad == padding.end() ? 1 : pad->second;
    if (tile.extent.is_const()) extent.width = tile.extent.as_int();
    if (tile.width > 0) extent.size = round_up(tile.width, extent.padding);
    const int64_t multiple = d.kind == LayoutDim::Whole ? extent.padding : d.block;
    const Expr blocks = tile.width > 0  ? Expr(extent.size / multiple)
                        : multiple == 1 ? tile.extent
                                        : ceil_div(tile.extent, Expr(multiple));
    switch (d.kind) {
      case LayoutDim::Whole: s.shape.push_back(simplify(blocks * Expr(multiple))); break;
      case LayoutDim::Outer: s.shape.push_back(blocks); break;
      case LayoutDim::Inner: s.shape.push_back(Expr(d.block)); break;
    }
    s.dims.push_back(d);
    s.extents[d.axis] = std::move(extent);
  }
  for (int64_t n : further) s.shape.push_back(Expr(n));
  return s;
}

Stmts Emitter::allocate(const ValuePlan& v, const Env& env) {
  Stmts out;
  const Scope scope = v.in_registers                ? Scope::Register
                      : v.home < 0 && plan.parallel ? Scope::Shared
                                                    : Scope::Private;
  for (size_t c = 0; c < v.value->names.size(); c++) {
    const Storage s =
        make_storage(v.value->names[c].str(), v.value->types[c], scope, v.layout, v.padding, env);
    storages_[v.value->names[c]] = s;
    out.push_back(alloc(s.name, s.dtype, s.shape, s.scope));
  }
  return out;
}

Emitter::Place Emitter::place_in(const Storage& s, const Env& env, const Exprs& further) const {
  Place place;
  for (const auto& d : s.dims) {
    const Tile& tile = env.tile(d.axis);
    const Storage::Extent& extent = s.extents.at(d.axis);
    PTO_CHECK(tile.bound != Tile::Range, kWhere,
              "axis " + d.axis.str() + " of " + s.name.str() + " is not bound");
    const Linear offset = relative(tile.at, extent.base);
    const bool room = has_room(tile, extent);
    if (!room && tile.bound == Tile::Lanes) {
      place.mask = tile.exists;
    } else if (!room) {
      place.guard = place.guard ? place.guard & tile.exists : tile.exists;
    }
    place.index.push_back(dimension(d, offset));
  }
  place.index.insert(place.index.end(), further.begin(), further.end());
  return place;
}

Expr Emitter::read(const Storage& s, const Env& env, const Exprs& further) const {
  Place place = place_in(s, env, further);
  Expr condition = place.mask;
  if (place.guard) condition = condition ? condition & place.guard : place.guard;
  if (!condition) return load(s.name, s.dtype, std::move(place.index));
  return load_if(s.name, s.dtype, condition, constant(s.dtype, 0), std::move(place.index));
}

Stmts Emitter::write(const Storage& s, const Env& env, Expr value, const Exprs& further, Loc loc) const {
  Place place = place_in(s, env, further);
  int lanes = 1;
  for (const auto& i : place.index) lanes = std::max(lanes, i.lanes());
  PTO_CHECK(value.lanes() == 1 || value.lanes() == lanes, kWhere,
            "lanes of " + value.str() + " written to " + s.name.str());
  const StmtPtr st = store(s.name, std::move(place.index), broadcast(value, lanes), place.mask, loc);
  if (place.guard) return {if_then(place.guard, {st})};
  return {st};
}

}  // namespace pto::lowering
