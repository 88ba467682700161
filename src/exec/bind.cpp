// Inputs against a program's types: which sizes they have.
#include "base/error.h"
#include "base/extents.h"
#include "exec/program.h"
#include "expr/eval.h"

namespace pto {
namespace {

[[noreturn]] void refuse(const Program& program, const ProgramBuffer& b, const Buffer& got,
                         const std::string& message, const std::string& label = "") {
  throw Error({.op = program.name,
               .message = "input " + b.name.str() + " " + message,
               .expected = std::string(name(b.dtype)) + shape_text(b.shape),
               .got = type_text(got.dtype, got.shape),
               .label = label});
}

}  // namespace

Sizes bind_sizes(const Program& program, const std::vector<BufferPtr>& inputs, const Sizes& extra) {
  if (inputs.size() != program.inputs.size())
    throw Error({.op = program.name,
                 .message = "another number of inputs",
                 .expected = std::to_string(program.inputs.size()),
                 .got = std::to_string(inputs.size())});
  std::vector<ShapeMatch> matches;
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto& b = program.buffers[program.inputs[i]];
    PTO_CHECK(inputs[i], "bind_sizes", "input " + b.name.str() + " is no buffer");
    if (inputs[i]->dtype != b.dtype) refuse(program, b, *inputs[i], "has another type");
    if (inputs[i]->shape.size() != b.shape.size()) refuse(program, b, *inputs[i], "has another rank");
    matches.push_back({b.shape, inputs[i]->shape});
  }
  Sizes sizes = extra;
  if (const auto wrong = solve_sizes(matches, sizes)) {
    const std::string axis = std::to_string(wrong->axis);
    refuse(program, program.buffers[program.inputs[wrong->match]], *inputs[wrong->match],
           "has another size of axis " + axis, axis);
  }
  for (Symbol s : program.sizes)
    if (!sizes.count(s))
      throw Error({.op = program.name, .message = "no input gives the size " + s.str(), .label = s.str()});
  return sizes;
}

void check_guards(const Program& program, const Sizes& sizes) {
  EvalEnv env;
  env.var = [&](Symbol s) {
    const auto it = sizes.find(s);
    PTO_CHECK(it != sizes.end(), "check_guards", "size " + s.str() + " is unknown");
    return Scalar::from_int(DType::I64, it->second);
  };
  for (const auto& g : program.guards) {
    if (eval_scalar(g, env).to_bool()) continue;
    std::vector<std::string> actual;
    for (Symbol s : program.sizes)
      if (uses_var(g, s)) actual.push_back(s.str() + " = " + std::to_string(sizes.at(s)));
    throw Error({.op = program.name,
                 .message = "the sizes are not those that this program was made for",
                 .expected = to_text(g),
                 .got = join(actual, ", ")});
  }
}

Sizes launch_sizes(const Step& step, const Sizes& sizes) {
  Sizes bound;
  for (const auto& [symbol, size] : step.sizes) bound[symbol] = eval_size(size, sizes);
  return bound;
}

}  // namespace pto
