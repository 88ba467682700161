// The table of public functions, their signatures, and the binding of arguments.
#include "ops/functions.h"

#include <algorithm>
#include <unordered_map>

#include "ops/function_families.h"

namespace pto {
namespace {

// The function of an elementwise row that needs no attributes.
Function function_of(const OpRow& row) {
  Function f;
  f.name = row.name;
  std::vector<std::string> names{"x", "y", "z"}, texts;
  if (row.min_inputs == 3) names = {"condition", "x", "y"};
  names.resize(row.min_inputs);
  const bool scalars = row.min_inputs > 1;
  for (const auto& n : names) texts.push_back(n + (scalars ? ": Tensor | float" : ": Tensor"));
  f.signature = join(texts, ", ");
  f.doc = row.doc;
  f.build = [name = row.name, names](const Args& args) -> Values {
    std::vector<Operand> operands;
    for (const auto& n : names) operands.push_back(args.operand(n));
    return {elementwise(name, std::move(operands), args.function())};
  };
  f.test = row.test;
  const std::vector<std::string> cases[] = {
      {"x=()", "x=(0,)", "x=(37,)", "x=(2,3,1,5)"},
      {"x=(), y=()", "x=(37,), y=(37,)", "x=(4,1,5), y=(3,1)", "x=(0,3), y=(3,)"},
      {"condition=(5,), x=(5,), y=(5,)", "condition=(3,1), x=(), y=(1,17)"}};
  f.cases = cases[std::clamp(row.min_inputs - 1, 0, 2)];
  f.method = row.min_inputs < 3;
  f.aliases = row.aliases;
  return f;
}

bool is_public(const OpRow& row) {
  return row.is_elementwise() && row.min_inputs == row.max_inputs && row.min_inputs > 0 &&
         dynamic_cast<const NoAttrs*>(row.make_attrs().get()) != nullptr;
}

struct Table {
  std::vector<Function> functions;
  std::vector<const Function*> all;
  std::unordered_map<std::string, const Function*> by_name;
  std::unordered_map<const Function*, std::vector<Parameter>> parameters;

  Table() {
    for (const auto& family : {creation_functions(), elementwise_functions(), reduction_functions(),
                               scan_functions(), linear_functions(), movement_functions(),
                               indexing_functions(), normalisation_functions(), random_functions()})
      functions.insert(functions.end(), family.begin(), family.end());
    for (const auto* row : all_rows()) {
      const auto named = [&](const Function& f) { return f.name == row->name; };
      if (is_public(*row) && std::none_of(functions.begin(), functions.end(), named))
        functions.push_back(function_of(*row));
    }
    for (const auto& f : functions) {
      all.push_back(&f);
      parameters.emplace(&f, parse_signature(f.signature));
      PTO_CHECK(by_name.emplace(f.name, &f).second, "functions", "two functions named " + f.name);
    }
    for (const auto& f : functions)
      for (const auto& alias : f.aliases)
        PTO_CHECK(by_name.emplace(alias, &f).second, "functions", "two functions named " + alias);
  }
};

const Table& table() {
  static const Table t;
  return t;
}

// --- signatures ---------------------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at a separator that stands outside brackets and quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c != separator || depth > 0 || quoted) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  if (!trimmed(text.substr(from)).empty()) parts.push_back(trimmed(text.substr(from)));
  return parts;
}

Arg parse_default(std::string_view text) {
  if (text == "None") return std::monostate{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text.front() == '"') return std::string(text.substr(1, text.size() - 2));
  if (text.front() == '(') {
    std::vector<int64_t> integers;
    for (const auto part : split(text.substr(1, text.size() - 2), ','))
      integers.push_back(std::stoll(std::string(part)));
    return integers;
  }
  if (const auto type = dtype_from_name(text)) return *type;
  const std::string number(text);
  if (number.find_first_not_of("-0123456789") == std::string::npos)
    return static_cast<int64_t>(std::stoll(number));
  return std::stod(number);
}

Parameter parse_parameter(std::string_view text) {
  Parameter p;
  p.text = text;
  if (text.front() == '*') {
    p.variadic = true;
    text.remove_prefix(1);
  }
  const auto with_default = split(text, '=');
  const auto annotated = split(with_default[0], ':');
  PTO_CHECK(annotated.size() == 2 && with_default.size() <= 2, "functions",
            "malformed parameter: " + std::string(text));
  p.name = annotated[0];
  for (const auto type : split(annotated[1], '|')) p.types.emplace_back(type);
  if (with_default.size() == 2) p.fallback = parse_default(with_default[1]);
  return p;
}

// --- binding ------------------------------------------------------------------------------------

[[noreturn]] void fail(const Function& function, const std::string& message, const std::string& got = "") {
  throw Error({.op = function.name,
               .message = message,
               .expected = function.name + "(" + function.signature + ")",
               .got = got,
               .loc = current_loc()});
}

Arg collect(const Function& function, const Parameter& p, const std::vector<Arg>& rest) {
  if (rest.size() == 1 && std::holds_alternative<Values>(rest[0])) return rest[0];
  Values values;
  for (const auto& arg : rest) {
    if (const auto* v = std::get_if<Value>(&arg))
      values.push_back(*v);
    else if (const auto* i = std::get_if<int64_t>(&arg))
      values.push_back(to_value(*i));
    else if (const auto* d = std::get_if<double>(&arg))
      values.push_back(to_value(*d));
    else
      fail(function, "argument " + p.name + " takes tensors");
  }
  return values;
}

std::map<std::string, Arg> bind(const Function& function, std::vector<Arg> positional,
                                std::map<std::string, Arg> named) {
  const auto& all = parameters(function);
  std::map<std::string, Arg> bound;
  size_t next = 0;
  for (const auto& p : all) {
    if (p.variadic) {
      bound[p.name] = collect(function, p, {positional.begin() + next, positional.end()});
      next = positional.size();
    } else if (next < positional.size()) {
      bound[p.name] = std::move(positional[next++]);
    }
  }
  if (next < positional.size())
    fail(function, "too many arguments", std::to_string(positional.size()) + " positional arguments");
  auto has = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const Parameter& p) { return p.name == name; });
  };
  for (auto& [given, arg] : named) {
    std::string name = given;
    if (!has(name)) {
      if (name == "dim") name = "axis";
      if (name == "keepdim") name = "keepdims";
    }
    if (!has(name)) fail(function, "there is no parameter " + given);
    if (!bound.emplace(name, std::move(arg)).second) fail(function, "argument " + name + " is given twice");
  }
  for (const auto& p : all) {
    if (bound.count(p.name)) continue;
    if (!p.fallback) fail(function, "argument " + p.name + " is missing");
    bound[p.name] = *p.fallback;
  }
  return bound;
}

// The user knows the function that was called, and its parameters, rather than the rows within.
ErrorInfo as_called(const Function& function, const Args& args, ErrorInfo info) {
  info.op = reported_name(function.name);
  info.operands.clear();
  for (const auto& p : parameters(function)) {
    if (!args.given(p.name) || !(p.takes("Tensor") || p.variadic || p.takes("tuple[Tensor, ...]"))) continue;
    const Values tensors = args.only_tensors(p.name);
    for (size_t i = 0; i < tensors.size(); i++) {
      const std::string number = tensors.size() > 1 ? "[" + std::to_string(i) + "]" : "";
      info.operands.push_back(p.name + number + ": " + tensors[i].type().str());
    }
  }
  return info;
}

}  // namespace

bool Parameter::takes(std::string_view type) const {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::vector<Parameter> parse_signature(std::string_view signature) {
  std::vector<Parameter> all;
  for (const auto part : split(signature, ',')) all.push_back(parse_parameter(part));
  return all;
}

const std::vector<Parameter>& parameters(const Function& function) {
  return table().parameters.at(&function);
}

const std::vector<const Function*>& all_functions() { return table().all; }

const Function* find_function(std::string_view name) {
  const auto it = table().by_name.find(std::string(name));
  return it == table().by_name.end() ? nullptr : it->second;
}

Values call(const Function& function, std::vector<Arg> positional, std::map<std::string, Arg> named) {
  const WithName scope(function.name);
  const Args args(function.name, bind(function, std::move(positional), std::move(named)));
  try {
    return function.build(args);
  } catch (const Error& e) {
    throw Error(as_called(function, args, e.info()));
  }
}

Values call(std::string_view name, std::vector<Arg> positional, std::map<std::string, Arg> named) {
  const Function* function = find_function(name);
  PTO_CHECK(function, "functions", "no function " + std::string(name));
  return call(*function, std::move(positional), std::move(named));
}

}  // namespace pto
