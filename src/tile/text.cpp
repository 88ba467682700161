// Text of definitions, both ways.
#include <unordered_map>

#include "base/error.h"
#include "tile/kernel.h"
#include "tile/opaque.h"

namespace pto {
namespace {

std::string list(const std::vector<Symbol>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); i++) out += (i ? ", " : "") + names[i].str();
  return out;
}

std::string list(const Exprs& exprs) {
  std::string out;
  for (size_t i = 0; i < exprs.size(); i++) out += (i ? ", " : "") + to_text(exprs[i]);
  return out;
}

std::string params_text(const Kernel& kernel, bool outputs) {
  std::string out = "(";
  for (const auto& p : kernel.params) {
    if (p.output != outputs) continue;
    if (out.size() > 1) out += ", ";
    out += p.name.str() + ": " + std::string(name(p.dtype)) + shape_text(p.shape);
  }
  return out + ")";
}

std::string value_text(const TileValue& v) {
  std::string types;
  for (size_t i = 0; i < v.types.size(); i++) types += (i ? ", " : "") + std::string(name(v.types[i]));
  std::string out = list(v.names) + "[" + list(v.axes) + "]: " + types + " = ";
  const std::string over = v.over.empty() ? "" : ", " + list(v.over);
  switch (v.kind) {
    case ValueKind::Map: out += "map "; break;
    case ValueKind::Reduce: out += "reduce(" + to_text(v.monoid) + over + ") "; break;
    case ValueKind::Contract: out += "contract(" + list(v.over) + ") "; break;
    case ValueKind::Scan:
      out += "scan(" + to_text(v.monoid) + over + (v.reverse ? ", reverse) " : ") ");
      break;
  }
  return out + list(v.body);
}

class Parser {
 public:
  explicit Parser(Lexer& in) : in_(in) {}

  Kernel parse() {
    in_.expect("kernel");
    k_.name = Symbol(in_.name());
    const bool listed = in_.accept("[");
    if (listed) k_.sizes = names("]");
    for (Symbol s : k_.sizes) define(s, DType::I64);
    params(false, listed);
    in_.expect("->");
    params(true, listed);
    in_.expect("{");
    while (!in_.accept("}")) statement();
    return std::move(k_);
  }

 private:
  void define(Symbol name, DType type) {
    if (!types_.emplace(name, type).second) in_.fail("'" + name.str() + "' is defined twice");
  }

  Expr expr() {
    return parse_expr(in_, [this](Symbol s) {
      auto it = types_.find(s);
      if (it == types_.end()) in_.fail("unknown name '" + s.str() + "'");
      return it->second;
    });
  }

  DType type() {
    const auto t = dtype_from_name(in_.name());
    if (!t) in_.fail("expected a type");
    return *t;
  }

  std::vector<Symbol> names(std::string_view end) {
    std::vector<Symbol> out;
    while (!in_.accept(end)) {
      if (!out.empty()) in_.expect(",");
      out.emplace_back(in_.name());
    }
    return out;
  }

  // Size symbols that no list gives come in the order in which shapes name them.
  void params(bool output, bool sizes_listed) {
    in_.expect("(");
    for (bool first = true; !in_.accept(")"); first = false) {
      if (!first) in_.expect(",");
      Param p;
      p.name = Symbol(in_.name());
      p.output = output;
      in_.expect(":");
      p.dtype = type();
      p.shape = parse_shape(in_);
      for (const auto& d : p.shape)
        visit(d, [&](const Expr& e) {
          if (!e.is_var() || types_.count(e.symbol())) return;
          if (sizes_listed) in_.fail("unknown size '" + e.symbol().str() + "'");
          k_.sizes.push_back(e.symbol());
          types_.emplace(e.symbol(), DType::I64);
        });
      define(p.name, p.dtype);
      k_.params.push_back(std::move(p));
    }
  }

  void statement() {
    if (in_.accept("axis")) {
      Axis a;
      a.name = Symbol(in_.name());
      in_.expect(":");
      a.extent = expr();
      define(a.name, DType::I64);
      k_.axes.push_back(std::move(a));
    } else if (in_.accept("store")) {
      TileStore s;
      s.param = Symbol(in_.name());
      in_.expect("[");
      while (!in_.accept("]")) {
        if (!s.index.empty()) in_.expect(",");
        s.index.push_back(expr());
      }
      in_.expect("=");
      s.value = expr();
      if (in_.accept("if")) s.predicate = expr();
      k_.stores.push_back(std::move(s));
    } else if (in_.accept("check")) {
      TileCheck c;
      in_.expect("[");
      c.axes = names("]");
      c.condition = expr();
      in_.expect(",");
      c.message = in_.string();
      k_.checks.push_back(std::move(c));
    } else if (in_.accept("because")) {
      k_.because.push_back(in_.string());
    } else if (in_.accept("opaque")) {
      k_.opaque = in_.name();
      const OpaqueTemplate* t = find_opaque(k_.opaque);
      if (!t) in_.fail("unknown template '" + k_.opaque + "'");
      auto attrs = t->make_attrs();
      parse_attrs(in_, *attrs);
      k_.opaque_attrs = std::move(attrs);
    } else {
      value();
    }
  }

  void value() {
    TileValue v;
    do v.names.emplace_back(in_.name());
    while (in_.accept(","));
    in_.expect("[");
    v.axes = names("]");
    in_.expect(":");
    do v.types.push_back(type());
    while (in_.accept(","));
    if (v.types.size() != v.names.size()) in_.fail("a value needs one type for each of its names");
    in_.expect("=");
    const std::string kind = in_.name();
    if (kind == "map") {
      v.kind = ValueKind::Map;
    } else if (kind == "contract") {
      v.kind = ValueKind::Contract;
      in_.expect("(");
      v.over = names(")");
    } else if (kind == "reduce" || kind == "scan") {
      v.kind = kind == "reduce" ? ValueKind::Reduce : ValueKind::Scan;
      in_.expect("(");
      v.monoid = monoid(v.types);
      while (!in_.accept(")")) {
        in_.expect(",");
        const std::string axis = in_.name();
        if (kind == "scan" && axis == "reverse" && in_.at(")")) {
          v.reverse = true;
        } else {
          v.over.emplace_back(axis);
        }
      }
    } else {
      in_.fail("unknown kind of value '" + kind + "'");
    }
    for (size_t i = 0; i < v.names.size(); i++) {
      if (i) in_.expect(",");
      v.body.push_back(expr());
    }
    for (size_t i = 0; i < v.names.size(); i++) define(v.names[i], v.types[i]);
    k_.values.push_back(std::move(v));
  }

  Monoid monoid(const std::vector<DType>& types) {
    if (!in_.accept("{")) {
      const std::string name = in_.name();
      Monoid m;
      try {
        m = make_monoid(name, types[0]);
      } catch (const InternalError&) {
        in_.fail("unknown monoid '" + name + "' of " + std::string(pto::name(types[0])));
      }
      if (m.types != types) in_.fail("monoid '" + name + "' of other types");
      return m;
    }
    Monoid m;
    m.types = types;
    std::unordered_map<Symbol, DType> components;
    for (int i = 0; i < m.size(); i++)
      for (char side : {'a', 'b'}) components[component(side, i, types[i]).symbol()] = types[i];
    auto read = [&] {
      return parse_expr(in_, [&](Symbol s) {
        auto it = components.find(s);
        if (it == components.end()) in_.fail("unknown component '" + s.str() + "'");
        return it->second;
      });
    };
    for (int i = 0; i < m.size(); i++) {
      if (i) in_.expect(",");
      m.init.push_back(in_init(types[i]));
    }
    // `|` ends the identities; it is also an operation, hence constants alone stand before it.
    in_.expect("|");
    for (int i = 0; i < m.size(); i++) {
      if (i) in_.expect(",");
      m.combine.push_back(read());
    }
    in_.expect("}");
    return m;
  }

  // A constant as expressions print it: 3, true, f32(-inf).
  Expr in_init(DType type) {
    std::string text;
    const bool call = type != DType::I64 && type != DType::Bool;
    if (call) {
      in_.expect(name(type));
      in_.expect("(");
    }
    while (!in_.at(")") && !in_.at(",") && !in_.at("|")) {
      if (in_.done()) in_.fail("expected a constant");
      text += in_.next().text;
    }
    if (call) in_.expect(")");
    Scalar value;
    if (!parse_scalar(text, type, value)) in_.fail("bad constant '" + text + "'");
    return Expr(value);
  }

  Lexer& in_;
  Kernel k_;
  std::unordered_map<Symbol, DType> types_;
};

}  // namespace

std::string to_text(const Kernel& k) {
  std::string out = "kernel " + k.name.str();
  if (!k.sizes.empty()) out += "[" + list(k.sizes) + "]";
  out += params_text(k, false) + " -> " + params_text(k, true) + " {\n";
  for (const auto& a : k.axes) out += "  axis " + a.name.str() + ": " + to_text(a.extent) + "\n";
  if (!k.opaque.empty()) out += "  opaque " + k.opaque + " " + attrs_text(*k.opaque_attrs) + "\n";
  for (const auto& v : k.values) out += "  " + value_text(v) + "\n";
  for (const auto& c : k.checks)
    out += "  check[" + list(c.axes) + "] " + to_text(c.condition) + ", " + quote(c.message) + "\n";
  for (const auto& s : k.stores) {
    out += "  store " + s.param.str() + "[" + list(s.index) + "] = " + to_text(s.value);
    if (s.predicate) out += " if " + to_text(s.predicate);
    out += "\n";
  }
  for (const auto& b : k.because) out += "  because " + quote(b) + "\n";
  return out + "}\n";
}

Kernel parse_kernel(Lexer& in) { return Parser(in).parse(); }

}  // namespace pto
