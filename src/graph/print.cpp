// Text of graphs.
#include <unordered_map>
#include <unordered_set>

#include "graph/rows.h"

namespace pto {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, bool locations) : graph_(graph), locations_(locations) {}

  std::string print() {
    out_ = "graph " + (is_name(graph_.name) ? graph_.name : quote(graph_.name)) + "(";
    inputs();
    out_ += ") {\n";
    for (const auto& g : graph_.guards) out_ += "  guard (" + to_text(g) + ")\n";
    for (const auto& n : graph_.order())
      if (!names_.count(n.get())) node(*n);
    std::vector<std::string> results;
    for (const auto& v : graph_.outputs) results.push_back(name(v));
    out_ += results.empty() ? "  return\n" : "  return " + join(results, ", ") + "\n";
    return std::move(out_) + "}";
  }

 private:
  // An input keeps its name if that is a name, and its own.
  void inputs() {
    std::unordered_set<std::string> taken;
    int number = 0;
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
      const Node& input = *graph_.inputs[i];
      const std::string& given = static_cast<const InputAttrs&>(*input.attrs()).name;
      std::string printed = given;
      const bool own = is_name(given) && taken.insert(given).second;
      while (!own && !taken.insert(printed = "arg" + std::to_string(number++)).second) {
      }
      if (i) out_ += ", ";
      out_ += printed + (own ? "" : " " + quote(given)) + ": " + input.outputs()[0].str() +
              location(input.loc(), " ");
      names_[&input] = std::move(printed);
    }
  }

  std::string fresh() { return "%" + std::to_string(next_++); }

  void node(const Node& n) {
    if (n.has_data()) return known(n);
    std::vector<std::string> results, operands, types;
    first_[&n] = next_;
    for (const auto& type : n.outputs()) {
      results.push_back(fresh());
      types.push_back(type.str());
    }
    for (const auto& v : n.inputs()) operands.push_back(name(v));
    out_ += "  " + join(results, ", ") + " = " + std::string(row_name(*n.row())) + "(" +
            join(operands, ", ") + ")";
    const std::string attrs = attrs_text(*n.attrs(), locations_);
    if (attrs != "{}") out_ += " " + indented(attrs);
    out_ += " : " + join(types, ", ") + location(n.loc(), "  ") + "\n";
  }

  // Graphs in attributes span lines; quoted text holds no line breaks.
  static std::string indented(const std::string& text) {
    std::string out;
    for (char c : text) {
      out += c;
      if (c == '\n') out += "  ";
    }
    return out;
  }

  void known(const Node& n) {
    first_[&n] = next_;
    for (size_t i = 0; i < n.outputs().size(); i++) {
      ConstantAttrs attrs;
      attrs.value = packed(n.data(static_cast<int>(i)));
      out_ += "  " + fresh() + " = constant() " + attrs_text(attrs) + " : " + n.outputs()[i].str() +
              location(n.loc(), "  ") + "\n";
    }
  }

  std::string name(const Value& v) const {
    if (const auto it = names_.find(v.node.get()); it != names_.end()) return it->second;
    return "%" + std::to_string(first_.at(v.node.get()) + v.index);
  }

  std::string location(Loc loc, const char* space) const {
    if (!locations_ || !loc.known()) return "";
    const LocInfo& info = loc.info();
    std::string out = std::string(space) + "@ " + quote(info.file) + ":" + std::to_string(info.line);
    if (info.column != 0 || info.end_column != 0)
      out += ":" + std::to_string(info.column) + "-" + std::to_string(info.end_column);
    return info.path.empty() ? out : out + " " + quote(info.path);
  }

  const Graph& graph_;
  bool locations_;
  std::string out_;
  std::unordered_map<const Node*, std::string> names_;   // of inputs
  std::unordered_map<const Node*, int64_t> first_;       // number of the first result
  int64_t next_ = 0;
};

}  // namespace

std::string to_text(const Graph& graph, bool locations) { return Printer(graph, locations).print(); }

}  // namespace pto
