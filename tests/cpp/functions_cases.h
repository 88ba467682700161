#pragma once
// The cases of the functions' table, as graphs with inputs made for them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "functions_run.h"

namespace pto {

// One case, read: argument texts by name, as "x=(3,5), axis=-1".
inline std::vector<std::pair<std::string, std::string>> arguments(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> all;
  std::string part;
  int depth = 0;
  bool quoted = false;
  auto end = [&] {
    const size_t from = part.find_first_not_of(' '), equals = part.find('=');
    if (from != std::string::npos)
      all.emplace_back(part.substr(from, equals - from), part.substr(equals + 1));
    part.clear();
  };
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (!quoted) depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ',' && depth == 0 && !quoted)
      end();
    else
      part += c;
  }
  end();
  return all;
}

inline std::vector<int64_t> integers(const std::string& text) {
  std::vector<int64_t> all;
  for (size_t at = 0; at < text.size();) {
    char* end = nullptr;
    const int64_t value = std::strtoll(text.c_str() + at, &end, 10);
    if (end == text.c_str() + at) {
      at++;
      continue;
    }
    all.push_back(value);
    at = end - text.c_str();
  }
  return all;
}

class FunctionCase {
 public:
  FunctionCase(const Function& function, DType type) : function_(function), type_(type) {}

  // The results; `inputs` holds what they are built from.
  Values results(const std::string& text) {
    std::vector<Arg> positional;
    std::map<std::string, Arg> named;
    for (const auto& [name, value] : arguments(text)) {
      const Parameter* parameter = nullptr;
      for (const auto& p : parameters(function_))
        if (p.name == name) parameter = &p;
      if (!parameter) {
        ADD_FAILURE() << "no parameter " << name;
        return {};
      }
      const Arg arg = read(*parameter, value);
      if (!parameter->variadic) {
        named[name] = arg;
        continue;
      }
      for (const auto& v : std::get<Values>(arg)) positional.emplace_back(v);
    }
    // Parameters before a variadic one are given by position.
    if (!positional.empty() && !parameters(function_)[0].variadic) {
      const auto first = named.extract(parameters(function_)[0].name);
      positional.insert(positional.begin(), first.mapped());
    }
    return call(function_, positional, named);
  }

  FunctionRun inputs;

 private:
  Arg read(const Parameter& p, const std::string& text) {
    if (text[0] == '[') {
      Values values;
      const std::string& domain = next_domain();
      for (size_t at = text.find('('); at != std::string::npos; at = text.find('(', at + 1))
        values.push_back(input(integers(text.substr(at, text.find(')', at) - at)), domain));
      return values;
    }
    if (text[0] == '(') {
      if (p.takes("Tensor")) return input(integers(text), next_domain());
      return integers(text);
    }
    if (text[0] == '\'') return text.substr(1, text.size() - 2);
    if (text == "True" || text == "False") return text == "True";
    if (text == "None") return std::monostate{};
    if (text == "inf") return static_cast<double>(INFINITY);
    if (text.find_first_of(".e") != std::string::npos) return std::stod(text);
    return static_cast<int64_t>(std::stoll(text));
  }

  // Of the next parameter that takes tensors.
  const std::string& next_domain() {
    const auto& domains = function_.test.domains;
    return domains[std::min(parameters_++, domains.size() - 1)];
  }

  Value input(const std::vector<int64_t>& shape, const std::string& domain) {
    count_++;
    int64_t count = 1;
    for (int64_t n : shape) {
      count *= n;
      least_ = std::min(least_, n);
    }
    DType type = type_;
    if (domain.starts_with("index")) type = DType::I64;
    if (domain == "bool") type = DType::Bool;
    if (domain == "uint64") type = DType::U64;
    std::vector<double> values;
    for (int64_t i = 0; i < count; i++) {
      double v = static_cast<double>((i * 7 + count_ * 3) % 11);
      if (domain == "unit" || domain == "probability")
        v = is_float(type) ? (v + 0.5) / 12 : std::fmod(v, 2);
      else if (domain.starts_with("index"))
        v = least_ >= 2 ? std::fmod(v, 2) : 0;
      else if (domain == "bool" || type == DType::Bool)
        v = std::fmod(v, 2);
      else if (domain == "nonzero" || domain == "positive" || domain == "digits")
        v += domain != "digits";
      else if (is_float(type))
        v -= 5.25;
      values.push_back(v);
    }
    return inputs.input(type, shape, values);
  }

  const Function& function_;
  const DType type_;
  size_t parameters_ = 0;
  int64_t count_ = 0;
  int64_t least_ = 1 << 20;
};

// Calls f(case, text) for all cases in every kind of type that the function takes.
template <class F>
void for_each_function_case(F f) {
  const std::pair<char, std::vector<DType>> kinds[] = {{'b', {DType::Bool}},
                                                       {'i', {DType::I32, DType::I64}},
                                                       {'u', {DType::U8}},
                                                       {'f', {DType::F32, DType::BF16, DType::F64}}};
  for (const Function* function : all_functions())
    for (const auto& [letter, types] : kinds) {
      if (function->test.dtypes.find(letter) == std::string::npos) continue;
      for (const DType type : types)
        for (const auto& text : function->cases) {
          SCOPED_TRACE(function->name + "(" + text + ") of " + std::string(name(type)));
          try {
            FunctionCase c(*function, type);
            f(c, text);
          } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
          }
        }
    }
}

}  // namespace pto
