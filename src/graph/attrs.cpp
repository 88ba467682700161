// Hashes, comparison and text of attributes, by visitors over their fields.
#include "graph/attrs.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <typeinfo>

#include "base/error.h"
#include "graph/node.h"

namespace pto {
namespace {

// --- hash ---------------------------------------------------------------------------------------

class Hasher : public AttrVisitor {
 public:
  uint64_t hash = 0;

  void field(const char*, int64_t& v) override { add(static_cast<uint64_t>(v)); }
  void field(const char*, bool& v) override { add(v); }
  void field(const char*, double& v) override { add(std::bit_cast<uint64_t>(v)); }
  void field(const char*, std::string& v) override { add(hash_bytes(v)); }
  void field(const char*, DType& v) override { add(static_cast<uint64_t>(v)); }
  void field(const char*, Scalar& v) override { add(hash_combine(static_cast<uint64_t>(v.type), v.bits)); }
  void field(const char*, Op& v) override { add(static_cast<uint64_t>(v)); }
  void field(const char*, std::vector<int64_t>& v) override {
    add(v.size());
    for (int64_t i : v) add(static_cast<uint64_t>(i));
  }
  void field(const char*, std::vector<std::string>& v) override {
    add(v.size());
    for (const auto& s : v) add(hash_bytes(s));
  }
  void field(const char*, Exprs& v) override {
    add(v.size());
    for (const auto& e : v) add(e.hash());
  }
  void field(const char*, BufferPtr& v) override {
    if (!v) return add(0);
    add(static_cast<uint64_t>(v->dtype));
    for (int64_t n : v->shape) add(static_cast<uint64_t>(n));
    // The beginning tells large constants apart well enough; equality reads them whole.
    constexpr int64_t kPrefix = 4096;
    const auto bytes = static_cast<size_t>(std::min(v->bytes(), kPrefix));
    if (v->contiguous()) add(hash_bytes({static_cast<const char*>(v->data), bytes}));
  }
  void field(const char*, std::shared_ptr<const Graph>& v) override {
    add(v ? hash_bytes(to_text(*v, false)) : 0);
  }

 private:
  void add(uint64_t part) { hash = hash_combine(hash, part); }
};

// --- comparison ---------------------------------------------------------------------------------

bool equal_buffers(const BufferPtr& a, const BufferPtr& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype || a->shape != b->shape) return false;
  const BufferPtr x = packed(a), y = packed(b);
  return std::memcmp(x->data, y->data, static_cast<size_t>(x->bytes())) == 0;
}

// The fields of one struct, in order, by their addresses.
class Fields : public AttrVisitor {
 public:
  std::vector<void*> all;

  void field(const char*, int64_t& v) override { all.push_back(&v); }
  void field(const char*, bool& v) override { all.push_back(&v); }
  void field(const char*, double& v) override { all.push_back(&v); }
  void field(const char*, std::string& v) override { all.push_back(&v); }
  void field(const char*, DType& v) override { all.push_back(&v); }
  void field(const char*, Scalar& v) override { all.push_back(&v); }
  void field(const char*, Op& v) override { all.push_back(&v); }
  void field(const char*, std::vector<int64_t>& v) override { all.push_back(&v); }
  void field(const char*, std::vector<std::string>& v) override { all.push_back(&v); }
  void field(const char*, Exprs& v) override { all.push_back(&v); }
  void field(const char*, BufferPtr& v) override { all.push_back(&v); }
  void field(const char*, std::shared_ptr<const Graph>& v) override { all.push_back(&v); }
};

// Walks one struct with the fields of another of the same type at hand.
class Comparer : public AttrVisitor {
 public:
  explicit Comparer(std::vector<void*> others) : others_(std::move(others)) {}
  bool equal = true;

  void field(const char*, int64_t& v) override { compare(v); }
  void field(const char*, bool& v) override { compare(v); }
  void field(const char*, double& v) override { equal &= std::memcmp(&v, &other<double>(), sizeof v) == 0; }
  void field(const char*, std::string& v) override { compare(v); }
  void field(const char*, DType& v) override { compare(v); }
  void field(const char*, Scalar& v) override { compare(v); }
  void field(const char*, Op& v) override { compare(v); }
  void field(const char*, std::vector<int64_t>& v) override { compare(v); }
  void field(const char*, std::vector<std::string>& v) override { compare(v); }
  void field(const char*, Exprs& v) override { compare(v); }
  void field(const char*, BufferPtr& v) override { equal = equal_buffers(v, other<BufferPtr>()) && equal; }
  void field(const char*, std::shared_ptr<const Graph>& v) override {
    const auto& w = other<std::shared_ptr<const Graph>>();
    equal = (v == w || (v && w && to_text(*v, false) == to_text(*w, false))) && equal;
  }

 private:
  template <class T>
  T& other() {
    return *static_cast<T*>(others_[next_++]);
  }
  template <class T>
  void compare(const T& value) {
    equal = value == other<T>() && equal;
  }
  std::vector<void*> others_;
  size_t next_ = 0;
};

// --- text ---------------------------------------------------------------------------------------

class Printer : public AttrVisitor {
 public:
  explicit Printer(bool locations) : locations_(locations) {}
  std::string text;

  void field(const char* name, int64_t& v) override { add(name, std::to_string(v)); }
  void field(const char* name, bool& v) override { add(name, v ? "true" : "false"); }
  void field(const char* name, double& v) override {
    add(name, Scalar{DType::F64, std::bit_cast<uint64_t>(v)}.str());
  }
  void field(const char* name, std::string& v) override { add(name, quote(v)); }
  void field(const char* name, DType& v) override { add(name, std::string(pto::name(v))); }
  void field(const char* name, Scalar& v) override {
    add(name, std::string(pto::name(v.type)) + "(" + v.str() + ")");
  }
  void field(const char* name, Op& v) override { add(name, std::string(info(v).id)); }
  void field(const char* name, std::vector<int64_t>& v) override {
    add_list(name, v, [](int64_t i) { return std::to_string(i); });
  }
  void field(const char* name, std::vector<std::string>& v) override {
    add_list(name, v, [](const std::string& s) { return is_name(s) ? s : quote(s); });
  }
  void field(const char* name, Exprs& v) override {
    add_list(name, v, [](const Expr& e) { return to_text(e); });
  }
  void field(const char* name, BufferPtr& v) override {
    if (!v) return add(name, "none");
    std::vector<std::string> sizes;
    for (int64_t n : v->shape) sizes.push_back(std::to_string(n));
    add(name, std::string(pto::name(v->dtype)) + "[" + join(sizes, ", ") + "] \"" + hex(*packed(v)) + "\"");
  }
  void field(const char* name, std::shared_ptr<const Graph>& v) override {
    add(name, v ? to_text(*v, locations_) : "none");
  }

 private:
  void add(const char* name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " = " + value;
  }
  template <class T, class F>
  void add_list(const char* name, const std::vector<T>& values, F f) {
    std::vector<std::string> parts;
    for (const auto& v : values) parts.push_back(f(v));
    add(name, "[" + join(parts, ", ") + "]");
  }
  bool locations_;
};

// Reads the value of one named field.
class Reader : public AttrVisitor {
 public:
  Reader(Lexer& in, std::string wanted) : in_(in), wanted_(std::move(wanted)) {}
  bool found = false;

  void field(const char* name, int64_t& v) override {
    if (is(name)) v = in_.integer();
  }
  void field(const char* name, bool& v) override {
    if (!is(name)) return;
    v = in_.accept("true");
    if (!v) in_.expect("false");
  }
  void field(const char* name, double& v) override {
    if (!is(name)) return;
    v = scalar(DType::F64).to_double();
  }
  void field(const char* name, std::string& v) override {
    if (is(name)) v = in_.string();
  }
  void field(const char* name, DType& v) override {
    if (is(name)) v = dtype();
  }
  void field(const char* name, Scalar& v) override {
    if (!is(name)) return;
    const DType type = dtype();
    in_.expect("(");
    v = scalar(type);
    in_.expect(")");
  }
  void field(const char* name, Op& v) override {
    if (!is(name)) return;
    const std::string id = in_.name();
    for (int i = 0; i <= static_cast<int>(Op::Pow); i++) {
      if (info(static_cast<Op>(i)).id != id) continue;
      v = static_cast<Op>(i);
      return;
    }
    in_.fail("unknown operation " + id);
  }
  void field(const char* name, std::vector<int64_t>& v) override {
    if (is(name)) v = list<int64_t>([&] { return in_.integer(); });
  }
  void field(const char* name, std::vector<std::string>& v) override {
    if (!is(name)) return;
    v = list<std::string>([&] { return in_.peek().kind == Token::String ? in_.string() : in_.name(); });
  }
  void field(const char* name, Exprs& v) override {
    if (!is(name)) return;
    v = list<Expr>([&] { return parse_expr(in_, [](Symbol) { return VarType(DType::I64); }); });
  }
  void field(const char* name, BufferPtr& v) override {
    if (!is(name)) return;
    v = nullptr;
    if (!in_.accept("none")) v = buffer();
  }
  void field(const char* name, std::shared_ptr<const Graph>& v) override {
    if (!is(name)) return;
    v = nullptr;
    if (!in_.accept("none")) v = std::make_shared<const Graph>(parse_graph(in_));
  }

 private:
  bool is(const char* name) {
    found |= wanted_ == name;
    return wanted_ == name;
  }

  DType dtype() {
    const auto type = dtype_from_name(in_.name());
    if (!type) in_.fail("expected a type before");
    return *type;
  }

  // A number with its sign, inf, or nan_0x...
  Scalar scalar(DType type) {
    std::string text;
    if (in_.accept("-")) text = "-";
    if (in_.peek().kind != Token::Number && in_.peek().kind != Token::Name) in_.fail("expected a number");
    text += in_.next().text;
    Scalar value;
    if (!parse_scalar(text, type, value))
      in_.fail("bad " + std::string(name(type)) + " constant '" + text + "'");
    return value;
  }

  template <class T, class F>
  std::vector<T> list(F element) {
    std::vector<T> all;
    in_.expect("[");
    while (!in_.accept("]")) {
      if (!all.empty()) in_.expect(",");
      all.push_back(element());
    }
    return all;
  }

  BufferPtr buffer() {
    const DType type = dtype();
    const auto shape = list<int64_t>([&] { return in_.integer(); });
    const std::string digits = in_.string();
    // The text says how much memory there may be, before any is allocated.
    int64_t bytes = size_of(type);
    for (int64_t n : shape)
      if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) in_.fail("a bad shape of data before");
    if (digits.size() % 2 != 0 || static_cast<int64_t>(digits.size() / 2) != bytes)
      in_.fail("expected data of " + std::to_string(bytes) + " bytes before");
    const auto result = make_buffer(type, shape);
    for (int64_t i = 0; i < bytes; i++) {
      uint8_t byte = 0;
      const char* at = digits.data() + 2 * i;
      if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) in_.fail("bad digits in the data before");
      if (type == DType::Bool && byte > 1) in_.fail("a bool is 00 or 01 in the data before");
      static_cast<uint8_t*>(result->data)[i] = byte;
    }
    return result;
  }

  Lexer& in_;
  std::string wanted_;
};

}  // namespace

void read(const Attrs& attrs, AttrVisitor& reader) { const_cast<Attrs&>(attrs).visit(reader); }

uint64_t hash_attrs(const Attrs& attrs) {
  Hasher hasher;
  read(attrs, hasher);
  return hasher.hash;
}

bool equal_attrs(const Attrs& a, const Attrs& b) {
  if (&a == &b) return true;
  if (typeid(a) != typeid(b)) return false;
  Fields fields;
  read(b, fields);
  Comparer comparer(std::move(fields.all));
  read(a, comparer);
  return comparer.equal;
}

std::string attrs_text(const Attrs& attrs, bool locations) {
  Printer printer(locations);
  read(attrs, printer);
  return "{" + printer.text + "}";
}

void parse_attrs(Lexer& in, Attrs& attrs) {
  in.expect("{");
  for (bool first = true; !in.accept("}"); first = false) {
    if (!first) in.expect(",");
    Reader reader(in, in.name());
    in.expect("=");
    attrs.visit(reader);
    if (!reader.found) in.fail("there is no such attribute before");
  }
}

}  // namespace pto
