// Long folds of few rows: the folded axis is cut into parts by the sizes alone, each part is folded
// by itself, in parallel, and then the parts in order.
#include <algorithm>

#include "base/extents.h"
#include "schedule/heuristic.h"

namespace pto::heuristic {
namespace {

constexpr int64_t kPart = 16384;         // elements of a part
constexpr int64_t kLong = 4 * kPart;     // elements worth splitting

// What would be split, and when.
struct Split {
  Symbol axis;
  int64_t part = 0;      // positions of `axis` in a part
  Expr condition;
};

Size extents(const Kernel& k, const std::vector<Symbol>& axes) {
  Size n(1);
  for (Symbol a : axes) n = n * k.axis(a)->extent;
  return simplify(n);
}

// The body with the maps that have `axis` written out; false if another value has it.
bool write_out(const Kernel& k, Symbol axis, Expr& body) {
  bool ok = true;
  for (bool changed = true; changed && ok;) {
    changed = false;
    body = rewrite(body, [&](const Expr& e) {
      if (e.op() != Op::Load || k.param(e.symbol())) return e;
      const TileValue* v = k.value(e.symbol());
      if (!v || !contains(v->axes, axis)) return e;
      if (v->kind != ValueKind::Map) {
        ok = false;
        return e;
      }
      changed = true;
      const auto c = std::find(v->names.begin(), v->names.end(), e.symbol()) - v->names.begin();
      return v->body[c];
    });
  }
  return ok;
}

// Nothing if the value is no fold, or its elements depend on values that are not maps.
std::optional<Split> split_of(const Kernel& k, const TileValue& v) {
  if ((v.kind != ValueKind::Reduce && v.kind != ValueKind::Contract) || v.over.empty()) return {};
  Split s;
  int64_t others = 1, longest = -1;
  for (Symbol a : v.over) {
    const Size& e = k.axis(a)->extent;
    const int64_t n = e.is_const() ? e.as_int() : INT64_MAX;
    if (n > longest) {
      longest = n;
      s.axis = a;
    }
  }
  for (Symbol a : v.over) {
    const Size& e = k.axis(a)->extent;
    if (a != s.axis) others = saturating_mul(others, e.is_const() ? std::max<int64_t>(e.as_int(), 1) : 4);
  }
  s.part = std::max<int64_t>(kPart / others, 64);
  bool contiguous = false;
  for (Expr body : v.body) {
    if (!write_out(k, s.axis, body)) return {};
    for (const auto& a : accesses({body}))
      for (Symbol over : v.over) contiguous |= stride_along(k, a.array, a.index, over) == Stride::Unit;
  }
  // Columns are shared out some vectors at a time, rows one by one.
  const int64_t few = contiguous ? 16 : 512;
  const Size& extent = k.axis(s.axis)->extent;
  s.condition = (extents(k, v.axes) < Expr(few)) & (Expr(2 * s.part) <= extent) &
                (Expr(kLong) <= simplify(extents(k, v.over) * (contiguous ? Expr(1) : extents(k, v.axes))));
  return s;
}

SizeFact fact_of(const TileValue& v, const Split& s) {
  return {"long fold " + v.names[0].str(), s.condition};
}

// Loads behind `guard`: beyond the end of the axis nothing is read, and `otherwise` stands.
Expr guarded(const Expr& e, const Expr& guard, const Expr& otherwise, Symbol part, Symbol inner) {
  auto moves = [&](const Expr& l) {
    return std::any_of(l.args().begin(), l.args().end(),
                       [&](const Expr& a) { return uses_axis(a, part) || uses_axis(a, inner); });
  };
  const Expr body = rewrite(e, [&](const Expr& n) {
    if (!n.is_load() || !moves(n)) return n;
    if (n.op() == Op::LoadIf) return load_if(n.symbol(), n.type(), n.arg(0) & guard, n.arg(1), n.indices());
    return load_if(n.symbol(), n.type(), guard, constant(n.type(), 0), n.indices());
  });
  return select(guard, body, otherwise);
}

void apply(Kernel& k, size_t number, const Split& s) {
  TileValue whole = k.values[number], parts = whole;
  const Size extent = k.axis(s.axis)->extent;
  const Symbol part = fresh_name(k, s.axis.str() + "_part"), inner = fresh_name(k, s.axis.str() + "_in");
  k.axes.push_back({part, ceil_div(extent, Expr(s.part))});
  k.axes.push_back({inner, Expr(s.part)});
  const Expr position = var(part) * Expr(s.part) + var(inner);
  const bool even = extent.is_const() && extent.as_int() % s.part == 0;
  const Expr guard = position < extent;
  for (auto& n : parts.names) n = fresh_name(k, n.str() + "_part");
  parts.axes.insert(parts.axes.begin(), part);
  std::replace(parts.over.begin(), parts.over.end(), s.axis, inner);
  auto moved = [&](Expr body, const Expr& otherwise) {
    write_out(k, s.axis, body);
    body = substitute(body, {{s.axis, position}});
    return even ? body : guarded(body, guard, otherwise, part, inner);
  };
  if (whole.kind == ValueKind::Contract) {
    const Expr zero = constant(whole.types[0], 0);
    parts.body = {moved(whole.body[0].arg(0), zero) * moved(whole.body[0].arg(1), zero)};
    whole.kind = ValueKind::Reduce;
    whole.monoid = make_monoid("add", whole.types[0]);
  } else {
    for (size_t i = 0; i < parts.body.size(); i++) parts.body[i] = moved(whole.body[i], whole.monoid.init[i]);
  }
  whole.over = {part};
  for (size_t i = 0; i < whole.body.size(); i++) whole.body[i] = parts.ref(static_cast<int>(i));
  k.values[number] = std::move(whole);
  k.values.insert(k.values.begin() + static_cast<std::ptrdiff_t>(number), std::move(parts));
}

}  // namespace

std::vector<SizeFact> split_facts(const Kernel& k) {
  std::vector<SizeFact> out;
  for (const auto& v : k.values)
    if (auto s = split_of(k, v)) out.push_back(fact_of(v, *s));
  return out;
}

Kernel split_folds(Kernel k, const std::function<bool(const SizeFact&)>& holds,
                   std::vector<std::string>& because) {
  for (size_t i = 0; i < k.values.size(); i++) {
    const auto s = split_of(k, k.values[i]);
    if (!s || !holds(fact_of(k.values[i], *s))) continue;
    because.push_back(k.values[i].names[0].str() + " folds a long axis for few rows: " + s->axis.str() +
                      " is cut into parts of " + std::to_string(s->part) + ", folded in parallel");
    apply(k, i, *s);
    i++;   // past the fold over the parts
  }
  return k;
}

}  // namespace pto::heuristic
