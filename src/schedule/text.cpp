// Text of schedules, both ways.
#include "base/error.h"
#include "schedule/schedule.h"

namespace pto {
namespace {

constexpr std::pair<std::string_view, LoopKind> kKinds[] = {{"for", LoopKind::Serial},
                                                            {"parallel", LoopKind::Parallel},
                                                            {"unroll", LoopKind::Unrolled},
                                                            {"vector", LoopKind::Vector}};

std::string_view keyword(LoopKind kind) {
  for (const auto& [text, k] : kKinds)
    if (k == kind) return text;
  return "";
}

std::string head(const ScheduleNode& n) {
  std::string out = std::string(keyword(n.kind)) + " " + n.axis.str();
  if (n.step != 1) out += "/" + std::to_string(n.step);
  if (n.unroll != 1) out += " x" + std::to_string(n.unroll);
  return out + (n.clip ? " clip" : "");
}

std::string leaf_text(const ScheduleNode& n) {
  std::string out;
  for (const auto& p : n.leaf) {
    if (!out.empty()) out += ", ";
    if (p.store) out += "store ";
    out += p.name.str();
  }
  return out;
}

// A loop around one leaf, or around one such loop, stands on one line where that is short.
std::string line_text(const ScheduleNode& n) {
  if (!n.leaf.empty()) return leaf_text(n);
  if (n.body.size() != 1) return "";
  const std::string inner = line_text(*n.body[0]);
  return inner.empty() || inner.size() > 70 ? "" : head(n) + " { " + inner + " }";
}

void print(const ScheduleNodes& nodes, int indent, std::string& out) {
  const std::string margin(indent, ' ');
  for (const auto& n : nodes) {
    if (const std::string line = line_text(*n); !line.empty() || n->leaf.size()) {
      out += margin + line + "\n";
      continue;
    }
    out += margin + head(*n) + " {\n";
    print(n->body, indent + 2, out);
    out += margin + "}\n";
  }
}

class Parser {
 public:
  explicit Parser(Lexer& in) : in_(in) {}

  Schedule parse() {
    in_.expect("schedule");
    s_.kernel = Symbol(in_.name());
    in_.expect("on");
    s_.target = in_.name();
    if (in_.accept("for")) s_.size_class = in_.string();
    in_.expect("{");
    while (!in_.accept("}")) {
      if (in_.accept("layout")) {
        layout();
      } else if (in_.accept("inline")) {
        do s_.inlined.emplace_back(in_.name());
        while (in_.accept(","));
      } else if (in_.accept("because")) {
        s_.because.push_back(in_.string());
      } else {
        s_.roots.push_back(node(0));
      }
    }
    return std::move(s_);
  }

 private:
  std::shared_ptr<ScheduleNode> node(int depth) {
    if (depth > 64) in_.fail("loops nested deeper than 64");
    auto n = std::make_shared<ScheduleNode>();
    for (const auto& [text, kind] : kKinds) {
      if (!in_.accept(text)) continue;
      n->kind = kind;
      n->axis = Symbol(in_.name());
      if (in_.accept("/")) n->step = positive();
      if (in_.peek().kind == Token::Name && in_.peek().text.starts_with("x")) unroll(*n);
      n->clip = in_.accept("clip");
      in_.expect("{");
      while (!in_.accept("}")) n->body.push_back(node(depth + 1));
      if (n->body.empty()) in_.fail("a loop without a body");
      return n;
    }
    do {
      Placed p;
      p.store = in_.accept("store");
      p.name = Symbol(in_.name());
      n->leaf.push_back(p);
    } while (in_.accept(","));
    return n;
  }

  int64_t positive() {
    const int64_t n = in_.integer();
    if (n < 1) in_.fail("expected a positive integer");
    return n;
  }

  void unroll(ScheduleNode& n) {
    Scalar value;
    if (!parse_scalar(in_.peek().text.substr(1), DType::I32, value) || value.to_int() < 1)
      in_.fail("expected a number of chunks (x4)");
    in_.next();
    n.unroll = static_cast<int>(value.to_int());
  }

  void layout() {
    const Symbol value(in_.name());
    std::vector<LayoutDim> dims;
    in_.expect("[");
    while (!in_.accept("]")) {
      if (!dims.empty()) in_.expect(",");
      LayoutDim d;
      d.axis = Symbol(in_.name());
      if (in_.accept("/"))
        d.kind = LayoutDim::Outer;
      else if (in_.accept("%"))
        d.kind = LayoutDim::Inner;
      if (d.kind != LayoutDim::Whole) d.block = positive();
      dims.push_back(d);
    }
    s_.layouts.emplace_back(value, std::move(dims));
  }

  Lexer& in_;
  Schedule s_;
};

}  // namespace

std::string to_text(const Schedule& s) {
  std::string out = "schedule " + s.kernel.str() + " on " + s.target;
  if (!s.size_class.empty()) out += " for " + quote(s.size_class);
  out += " {\n";
  print(s.roots, 2, out);
  for (const auto& [value, dims] : s.layouts) {
    out += "  layout " + value.str() + " [";
    for (size_t i = 0; i < dims.size(); i++) {
      if (i) out += ", ";
      out += dims[i].axis.str();
      if (dims[i].kind != LayoutDim::Whole)
        out += (dims[i].kind == LayoutDim::Outer ? "/" : "%") + std::to_string(dims[i].block);
    }
    out += "]\n";
  }
  for (size_t i = 0; i < s.inlined.size(); i++) out += (i ? ", " : "  inline ") + s.inlined[i].str();
  if (!s.inlined.empty()) out += "\n";
  for (const auto& b : s.because) out += "  because " + quote(b) + "\n";
  return out + "}\n";
}

Schedule parse_schedule(Lexer& in) { return Parser(in).parse(); }

}  // namespace pto
