// pto-opt: a program's text at any level in, named passes, text out.
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "exec/executable.h"
#include "exec/listing.h"
#include "exec/reproducer.h"
#include "graph_passes/pipeline.h"
#include "loop_passes/pipeline.h"

namespace pto {
namespace {

constexpr const char* kUsage =
    "usage: pto-opt [FILE] [--passes=NAME,...] [--to=LEVEL] [--target=NAME] [--sizes=N=8,...]\n"
    "               [--without=NAME,...] [--run] [--list-passes]\n"
    "  FILE            text of a graph, a program, a kernel (with its schedules) or a loop program; - or none: stdin\n"
    "  --passes        run these passes of the text's level, in this order; \"all\": the level's whole list\n"
    "  --to            graph, tile, schedule, loop, loop.lowered, exec, c, llvm or asm; none: the level of the text\n"
    "  --target        for which target; none: this machine\n"
    "  --sizes         sizes that choose schedules, and the shapes for --run; others are 64\n"
    "  --without       leave these passes out (of --to and --run)\n"
    "  --run           compile, run on the text's arguments or small numbers, compare with the interpreter, print a summary\n"
    "Settings: PTO_DEBUG=compare names the first pass whose result deviates, with --run.\n";

[[noreturn]] void usage_error(const std::string& message) { throw Error("pto-opt", message); }

struct Arguments {
  std::string file = "-";
  std::vector<std::string> passes;
  std::string to;
  Sizes sizes;
  CompileOptions options;
  bool run = false, list = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Arguments parse_arguments(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; i++) {
    const std::string arg = argv[i];
    const auto value_of = [&](const std::string& option) -> const char* {
      return arg.starts_with(option + "=") ? argv[i] + option.size() + 1 : nullptr;
    };
    if (arg == "--list-passes") {
      a.list = true;
    } else if (arg == "--run") {
      a.run = true;
    } else if (const char* passes = value_of("--passes")) {
      a.passes = split(passes);
    } else if (const char* without = value_of("--without")) {
      a.options.passes_off = split(without);
    } else if (const char* to = value_of("--to")) {
      a.to = to;
    } else if (const char* target = value_of("--target")) {
      a.options.target = make_target(target);
    } else if (const char* sizes = value_of("--sizes")) {
      for (const auto& part : split(sizes)) {
        const size_t equals = part.find('=');
        Scalar value;
        if (equals == part.npos || !parse_scalar(part.substr(equals + 1), DType::I64, value) ||
            value.to_int() < 0)
          usage_error("bad size " + quote(part) + ": write NAME=NUMBER");
        a.sizes[Symbol(part.substr(0, equals))] = value.to_int();
      }
    } else if (arg == "--help" || (arg.starts_with("-") && arg != "-")) {
      usage_error((arg == "--help" ? "help" : "unknown option " + arg) + std::string("\n") + kUsage);
    } else {
      a.file = arg;
    }
  }
  return a;
}

void list_passes() {
  std::cout << "graph passes:\n";
  for (const auto& p : graph_passes()) std::cout << "  " << p.name << ": " << p.doc << "\n";
  std::cout << "  fuse: Operators become kernels (--to=tile and below).\n";
  std::cout << "loop passes:\n";
  for (const auto& p : loop_passes())
    std::cout << "  " << p.name << (p.required ? " (machine code needs it): " : ": ") << p.doc << "\n";
}

std::string read(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(file);
  if (!in) usage_error("cannot read " + quote(file));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string first_word(const std::string& text) {
  Lexer in(text, "pto-opt");
  return in.peek().kind == Token::Name ? in.name() : "";
}

template <class Passes>
auto find_pass(const Passes& passes, const std::string& name) {
  for (auto it = passes.begin(); it != passes.end(); ++it)
    if (it->name == name) return it;
  std::vector<std::string> names;
  for (const auto& p : passes) names.push_back(p.name);
  throw Error({.op = "pto-opt",
               .message = "there is no pass named " + quote(name) + " at the level of this text",
               .expected = "one of " + join(names, ", ")});
}

Graph run_passes(Graph graph, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    if (name == "all") {
      graph = run_graph_passes(graph);
      continue;
    }
    graph = find_pass(graph_passes(), name)->run(graph);
    verify(graph, name);
  }
  return graph;
}

LoopProgram run_passes(LoopProgram loop, const std::vector<std::string>& names, const Target& target) {
  for (const auto& name : names) {
    if (name == "all") {
      loop = run_loop_passes(std::move(loop), target);
      continue;
    }
    loop = find_pass(loop_passes(), name)->run(loop, target);
    verify(loop, name);
  }
  return loop;
}

// A program of one launch, for kernels and loop programs that stand alone. `Params` have name, dtype,
// shape and output.
template <class Params>
Program around(Symbol kernel, const std::vector<Symbol>& sizes, const Params& params) {
  Program p;
  p.sizes = sizes;
  Step step{.kind = StepKind::Launch, .kernel = kernel};
  for (Symbol s : sizes) step.sizes.emplace_back(s, var(s));
  for (const auto& param : params) {
    const int b = static_cast<int>(p.buffers.size());
    p.buffers.push_back({param.name, param.output ? BufferKind::Output : BufferKind::Input, param.dtype,
                         param.shape, nullptr});
    (param.output ? p.outputs : p.inputs).push_back(b);
    (param.output ? step.outputs : step.inputs).push_back(b);
  }
  p.steps.push_back(std::move(step));
  return p;
}

Program parse_bare(const std::string& text, const Arguments& a) {
  Lexer in(text, "pto-opt");
  if (in.at("loop")) {
    LoopProgram loop = parse_loop(in);
    if (!in.done()) in.fail("expected the end after one loop program");
    loop = run_passes(std::move(loop), a.passes, a.options.target);
    Program p = around(loop.name, loop.sizes, loop.params);
    p.loops.emplace(loop.name, std::move(loop));
    return p;
  }
  Kernel kernel = parse_kernel(in);
  Program p = around(kernel.name, kernel.sizes, kernel.params);
  while (!in.done()) {
    Schedule s = parse_schedule(in);
    if (s.kernel != kernel.name) in.fail("a schedule of another kernel before");
    verify(kernel, s, a.options.target);
    p.schedules[s.kernel].push_back(std::move(s));
  }
  p.kernels.emplace(kernel.name, std::move(kernel));
  return p;
}

// Only what stood in the text, if it was not a whole program.
std::string bare_text(const Program& p) {
  std::string text;
  for (const auto& [name, kernel] : p.kernels) text += to_text(kernel);
  for (const auto& [name, schedules] : p.schedules)
    for (const auto& s : schedules) text += to_text(s);
  for (const auto& [name, loop] : p.loops) text += to_text(loop);
  return text;
}

std::vector<BufferPtr> small_numbers(const Program& p, const Sizes& sizes) {
  std::vector<BufferPtr> inputs;
  for (const int b : p.inputs) {
    const auto& buffer = p.buffers[b];
    inputs.push_back(make_buffer(buffer.dtype, eval_shape(buffer.shape, sizes)));
    for (int64_t i = 0; i < inputs.back()->elements(); i++) {
      const int64_t n = (i * 7 + b * 3) % 11;
      const Scalar value = is_float(buffer.dtype)
                               ? Scalar::from_double(buffer.dtype, static_cast<double>(n) / 4 - 1)
                               : Scalar::from_int(buffer.dtype, buffer.dtype == DType::Bool ? n % 2 : n % 3);
      value.to_bytes(static_cast<char*>(inputs.back()->data) + i * size_of(buffer.dtype));
    }
  }
  return inputs;
}

Sizes sizes_for(const Program& p, const Arguments& a) {
  Sizes sizes = a.sizes;
  for (Symbol s : p.sizes) sizes.try_emplace(s, 64);
  return sizes;
}

// On the arguments that the text gives, else on small numbers.
int run_and_compare(Executable&& compiled, const Arguments& a, std::vector<BufferPtr> inputs) {
  const Program& p = compiled.program();
  const Sizes sizes = inputs.empty() ? sizes_for(p, a) : a.sizes;
  if (inputs.empty()) inputs = small_numbers(p, sizes);
  const auto got = compiled.run(inputs, sizes), want = interpret(p, inputs, sizes);
  bool same = true;
  for (size_t i = 0; i < got.size(); i++) {
    const int width = size_of(got[i]->dtype);
    double worst = 0, sum = 0;
    for (int64_t e = 0; e < got[i]->elements(); e++) {
      const double x =
          Scalar::from_bytes(got[i]->dtype, static_cast<char*>(got[i]->data) + e * width).to_double();
      const double y =
          Scalar::from_bytes(want[i]->dtype, static_cast<char*>(want[i]->data) + e * width).to_double();
      sum += x;
      if (x == y || (x != x && y != y)) continue;
      const double error = std::abs(x - y) / (1 + std::abs(y));
      worst = error >= worst ? error : error != error ? 1e300 : worst;
    }
    same = same && worst <= (is_half(got[i]->dtype) ? 0.05 : 1e-3);
    std::cout << p.buffers[p.outputs[i]].name.str() << ": sum " << sum << ", largest error " << worst << "\n";
  }
  if (!same) std::cerr << "pto-opt: compiled code and interpreter differ\n";
  return same ? 0 : 1;
}

int opt(int argc, char** argv) {
  const Arguments a = parse_arguments(argc, argv);
  if (a.list) {
    list_passes();
    return 0;
  }
  std::string text = read(a.file);
  const std::vector<BufferPtr> arguments = take_arguments(text);
  const std::string word = first_word(text);
  Program program;
  if (word == "graph") {
    const Graph graph = run_passes(parse_graph(text), a.passes);
    if (!a.run && (a.to.empty() || a.to == "graph")) {
      std::cout << to_text(graph);
      return 0;
    }
    if (a.run) return run_and_compare(Executable(graph, a.options), a, arguments);
    program = build_program(graph, a.options);
  } else if (word == "program") {
    program = parse_program(text);
    if (!a.passes.empty() && program.loops.empty())
      usage_error("this program holds no loop programs; passes run on graphs and on loop programs");
    for (auto& [name, loop] : program.loops) loop = run_passes(std::move(loop), a.passes, a.options.target);
  } else if (word == "kernel" || word == "loop") {
    if (word == "kernel" && !a.passes.empty())
      usage_error("there are no passes over kernels; --to lowers them");
    program = parse_bare(text, a);
    if (!a.run && a.to.empty()) {
      std::cout << bare_text(program);
      return 0;
    }
  } else {
    usage_error("a text begins with graph, program, kernel or loop, not " + quote(word));
  }
  if (a.to == "graph") usage_error("what is below the graph does not become one again");
  if (a.run) return run_and_compare(Executable(program, a.options), a, arguments);
  std::cout << (a.to.empty() ? to_text(program) : listing(program, a.to, sizes_for(program, a), a.options));
  return 0;
}

}  // namespace
}  // namespace pto

int main(int argc, char** argv) {
  try {
    return pto::opt(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "pto-opt: " << e.what() << "\n";
    return 1;
  }
}
