// Is a definition well formed? Names are unique, everything stands after what it uses, axes are
// known, and types agree.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "tile/kernel.h"
#include "tile/opaque.h"

namespace pto {
namespace {

using Names = std::set<Symbol>;

class Verifier {
 public:
  Verifier(const Kernel& kernel, std::string_view where) : k_(kernel), where_(where) {}

  void run() {
    for (Symbol s : k_.sizes) define(s, "size");
    sizes_ = names_;
    bool outputs = false;
    for (const auto& p : k_.params) {
      define(p.name, "parameter");
      require(p.output || !outputs, "input " + p.name.str() + " stands after an output");
      outputs |= p.output;
      for (const auto& d : p.shape) check_size(d, "the shape of " + p.name.str());
    }
    for (const auto& a : k_.axes) {
      define(a.name, "axis");
      axes_.insert(a.name);
      check_size(a.extent, "the extent of axis " + a.name.str());
    }
    if (!k_.opaque.empty()) {
      const OpaqueTemplate* t = find_opaque(k_.opaque);
      require(t, "unknown template " + k_.opaque);
      require(k_.opaque_attrs != nullptr, "a template without its attributes");
      t->verify(k_, where_);
      return;
    }
    for (const auto& v : k_.values) check_value(v);
    for (const auto& c : k_.checks) {
      require(c.condition && c.condition.type() == DType::Bool, "a check that is not bool");
      check_expr(c.condition, axis_set(c.axes, "check"), "a check");
    }
    for (const auto& s : k_.stores) check_store(s);
    for (const auto& p : k_.params)
      require(!p.output || std::any_of(k_.stores.begin(), k_.stores.end(),
                                       [&](const TileStore& s) { return s.param == p.name; }),
              "output " + p.name.str() + " is never stored");
  }

 private:
  void require(bool condition, const std::string& message) const {
    if (!condition)
      throw InternalError(std::string(where_), "kernel " + k_.name.str() + ": " + message, to_text(k_));
  }

  void define(Symbol name, const std::string& what) {
    require(!name.empty(), "a " + what + " without a name");
    require(names_.insert(name).second, name.str() + " is defined twice");
  }

  void check_size(const Size& size, const std::string& what) const {
    require(size && size.type() == DType::I64, what + " is not i64");
    visit(size, [&](const Expr& e) {
      require(!e.is_load(), what + " reads memory");
      if (e.is_var()) require(sizes_.count(e.symbol()), what + " uses " + e.symbol().str());
    });
  }

  Names axis_set(const std::vector<Symbol>& axes, const std::string& what) const {
    Names out;
    for (Symbol a : axes) {
      require(axes_.count(a), what + " names the unknown axis " + a.str());
      require(out.insert(a).second, what + " names axis " + a.str() + " twice");
    }
    return out;
  }

  // Every variable is a size or one of `axes`; every load is of an input, or of an earlier value at
  // exactly its own axes.
  void check_expr(const Expr& e, const Names& axes, const std::string& what) const {
    visit(e, [&](const Expr& n) {
      require(n.lanes() == 1, what + " has a vector: " + n.str());
      require(n.op() != Op::HReduce, what + " combines lanes: " + n.str());
      if (n.is_var()) {
        require(n.type() == DType::I64, what + " has a variable that is not i64: " + n.str());
        require(sizes_.count(n.symbol()) || axes.count(n.symbol()),
                what + " uses " + n.symbol().str() + ", which is not bound there");
      }
      if (!n.is_load()) return;
      const Symbol name = n.symbol();
      const Exprs index = n.indices();
      if (const Param* p = k_.param(name)) {
        require(!p->output, what + " reads the output " + name.str());
        require(n.type() == p->dtype, what + " reads " + name.str() + " as another type");
        require(index.size() == p->shape.size(),
                what + " reads " + name.str() + " with " + std::to_string(index.size()) + " indices");
        return;
      }
      const TileValue* v = values_.count(name) ? k_.value(name) : nullptr;
      require(v, what + " reads " + name.str() + ", which does not stand before it");
      const auto c = std::find(v->names.begin(), v->names.end(), name) - v->names.begin();
      require(n.type() == v->types[c], what + " reads " + name.str() + " as another type");
      bool own = index.size() == v->axes.size() && n.op() == Op::Load;
      for (size_t i = 0; own && i < index.size(); i++)
        own = index[i].is_var() && index[i].symbol() == v->axes[i];
      require(own, what + " reads " + name.str() + " elsewhere than at its own axes");
    });
  }

  void check_value(const TileValue& v) {
    require(!v.names.empty(), "a value without a name");
    const std::string what = v.names[0].str();
    require(v.names.size() == v.types.size() && v.names.size() == v.body.size(),
            what + " has unequal numbers of names, types and bodies");
    Names bound = axis_set(v.axes, what);
    const Names over = axis_set(v.over, what);
    for (Symbol a : over) {
      if (v.kind == ValueKind::Scan) {
        require(bound.count(a), what + " scans along an axis that is not its own");
      } else {
        require(bound.insert(a).second, what + " folds its own axis " + a.str());
      }
    }
    require(v.kind != ValueKind::Map || over.empty(), what + " is a map that folds");
    require(v.kind != ValueKind::Scan || over.size() == 1, what + " scans along other than one axis");
    const bool folds = v.kind == ValueKind::Reduce || v.kind == ValueKind::Scan;
    require(folds ? v.monoid.types == v.types && v.monoid.init.size() == v.types.size() &&
                        v.monoid.combine.size() == v.types.size()
                  : v.monoid.types.empty(),
            what + "'s monoid does not fit its types");
    for (size_t i = 0; i < v.body.size(); i++) {
      require(v.body[i] && v.body[i].type() == v.types[i], what + "'s body is of another type");
      check_expr(v.body[i], bound, what);
    }
    if (v.kind == ValueKind::Contract)
      require(v.body.size() == 1 && v.body[0].op() == Op::Mul && !is_half(v.types[0]),
              what + " contracts other than a product in an accumulator's type");
    for (Symbol n : v.names) {
      define(n, "value");
      values_.insert(n);
    }
  }

  // The axes of a store are those in its index. Where it runs over whole dimensions it must run
  // over all of them.
  void check_store(const TileStore& s) const {
    const std::string what = "the store to " + s.param.str();
    const Param* p = k_.param(s.param);
    require(p && p->output, what + " is not to an output");
    require(s.index.size() == p->shape.size(), what + " has " + std::to_string(s.index.size()) + " indices");
    Names axes;
    for (const auto& i : s.index) {
      require(i && i.type() == DType::I64, what + " has an index that is not i64");
      visit(i, [&](const Expr& n) {
        if (n.is_var() && axes_.count(n.symbol())) axes.insert(n.symbol());
      });
    }
    for (const auto& i : s.index) check_expr(i, axes, what);
    require(s.value && s.value.type() == p->dtype, what + " is of another type");
    check_expr(s.value, axes, what);
    if (s.predicate) {
      require(s.predicate.type() == DType::Bool, what + " has a predicate that is not bool");
      check_expr(s.predicate, axes, what);
    }
    const auto same = std::count_if(k_.stores.begin(), k_.stores.end(),
                                    [&](const TileStore& o) { return o.param == s.param; });
    if (same > 1 || s.predicate) return;
    for (size_t d = 0; d < s.index.size(); d++) {
      if (!s.index[d].is_var() || !axes_.count(s.index[d].symbol())) continue;
      const Size& extent = k_.axis(s.index[d].symbol())->extent;
      require(prove_equal(extent, p->shape[d]) != std::optional(false),
              what + " covers " + extent.str() + " of " + p->shape[d].str());
    }
  }

  const Kernel& k_;
  std::string_view where_;
  Names names_, sizes_, axes_, values_;
};

}  // namespace

void verify(const Kernel& kernel, std::string_view where) { Verifier(kernel, where).run(); }

}  // namespace pto
