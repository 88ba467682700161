// Graphs from text.
#include <limits>
#include <unordered_map>

#include "graph/rows.h"

namespace pto {
namespace {

constexpr int kMaxNesting = 32;   // of graphs in attributes
thread_local int nesting = 0;

class Parser {
 public:
  explicit Parser(Lexer& in) : in_(in) {}

  Graph parse() {
    in_.expect("graph");
    graph_.name = in_.peek().kind == Token::String ? in_.string() : in_.name();
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!graph_.inputs.empty()) in_.expect(",");
      input();
    }
    in_.expect("{");
    while (in_.accept("guard")) guard();
    while (!in_.accept("return")) node();
    while (!in_.accept("}")) {
      if (!graph_.outputs.empty()) in_.expect(",");
      graph_.outputs.push_back(value());
    }
    return std::move(graph_);
  }

 private:
  // An operand's name: that of an input, or % and a number.
  std::string value_name() {
    if (!in_.accept("%")) return in_.name();
    const int64_t number = in_.integer();
    if (number < 0) in_.fail("a negative number before");
    return "%" + std::to_string(number);
  }

  void define(const std::string& name, Value v) {
    if (!values_.emplace(name, std::move(v)).second) in_.fail("'" + name + "' is defined twice, before");
  }

  Value value() {
    const std::string name = value_name();
    const auto it = values_.find(name);
    if (it == values_.end()) in_.fail("unknown value '" + name + "' before");
    return it->second;
  }

  TensorType type() {
    const auto dtype = dtype_from_name(in_.name());
    if (!dtype) in_.fail("expected a type before");
    return {*dtype, parse_shape(in_)};
  }

  int number() {
    const int64_t n = in_.integer();
    if (n < 0 || n > std::numeric_limits<int>::max()) in_.fail("a number out of range before");
    return static_cast<int>(n);
  }

  Loc location() {
    if (!in_.accept("@")) return {};
    LocInfo info;
    info.file = in_.string();
    in_.expect(":");
    info.line = number();
    if (in_.accept(":")) {
      info.column = number();
      in_.expect("-");
      info.end_column = number();
    }
    if (in_.peek().kind == Token::String) info.path = in_.string();
    return Loc(info);
  }

  void input() {
    const std::string name = in_.name();
    const std::string given = in_.peek().kind == Token::String ? in_.string() : name;
    in_.expect(":");
    TensorType t = type();
    const Value v = make_input(given, std::move(t), location());
    define(name, v);
    graph_.inputs.push_back(v.node);
  }

  // In parentheses, since % goes on with an expression.
  void guard() {
    in_.expect("(");
    const Expr condition = parse_expr(in_, [](Symbol) { return VarType(DType::I64); });
    in_.expect(")");
    if (condition.type() != DType::Bool) in_.fail("a guard must be a bool, before");
    graph_.guards.push_back(condition);
  }

  // %1, %2 = row(x, %0) {attributes} : types @ location
  void node() {
    std::vector<std::string> results;
    do {
      if (!in_.at("%")) in_.fail("expected a value, or 'return'");
      results.push_back(value_name());
    } while (in_.accept(","));
    in_.expect("=");
    const std::string name = in_.name();
    const OpRow* row = find_row(name);
    if (!row || name == "input" || name == "data") in_.fail("unknown operator '" + name + "' before");
    Values operands;
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!operands.empty()) in_.expect(",");
      operands.push_back(value());
    }
    auto attrs = default_attrs(*row);
    if (in_.at("{")) parse_attrs(in_, *attrs);
    std::vector<TensorType> types;
    if (in_.accept(":")) {
      do types.push_back(type());
      while (in_.accept(","));
    }
    const NodePtr made = make_checked_node(*row, std::move(operands), std::move(attrs), location());
    if (made->outputs().size() != results.size())
      in_.fail(name + " has " + std::to_string(made->outputs().size()) + " results, before");
    check_types(*made, types);
    for (size_t i = 0; i < results.size(); i++) define(results[i], {made, static_cast<int>(i)});
  }

  // Types are a consequence of the rest; those in the text must be the same.
  void check_types(const Node& node, const std::vector<TensorType>& types) {
    if (types.empty()) return;
    if (types.size() != node.outputs().size()) in_.fail("another number of types than of results, before");
    for (size_t i = 0; i < types.size(); i++) {
      const TensorType& own = node.outputs()[i];
      bool same = own.dtype == types[i].dtype && own.rank() == types[i].rank();
      for (int d = 0; same && d < own.rank(); d++)
        same = own.shape[d] == types[i].shape[d] || prove_equal(own.shape[d], types[i].shape[d]) == true;
      if (!same) in_.fail("result " + std::to_string(i) + " has the type " + own.str() + ", before");
    }
  }

  Lexer& in_;
  Graph graph_;
  std::unordered_map<std::string, Value> values_;
};

}  // namespace

Graph parse_graph(Lexer& in) {
  if (nesting >= kMaxNesting) in.fail("graphs nested deeper than " + std::to_string(kMaxNesting));
  struct Nested {
    Nested() { nesting++; }
    ~Nested() { nesting--; }
  } nested;
  return Parser(in).parse();
}

Graph parse_graph(std::string_view text) {
  Lexer in(text, "graph text");
  try {
    Graph graph = parse_graph(in);
    if (!in.done()) in.fail("expected the end");
    return graph;
  } catch (const InternalError& e) {
    throw Error("graph text", e.what());   // what a row takes for granted, a text may break
  }
}

}  // namespace pto
