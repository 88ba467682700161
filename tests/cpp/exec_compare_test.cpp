// Levels compared at a run: what is right passes, and a fault put into any one pass is found under that
// pass's name, with a file that shows it.
#include "exec/compare.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "exec/reproducer.h"
#include "exec_check.h"
#include "graph_passes/rewrite.h"
#include "loop_passes/body.h"

namespace pto::testing {
namespace {

namespace fs = std::filesystem;

// A folder of its own, as cache.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("pto-compare-" + std::to_string(::getpid()));
  CompileOptions options = without_disk();
  Folder() { options.cache_dir = path.string(); }
  ~Folder() { fs::remove_all(path); }
};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// --- faults -------------------------------------------------------------------------------------------------

using Replace = std::function<Expr(const Expr&)>;

LoopProgram with_values(const LoopProgram& p, const Replace& f) {
  const std::function<std::vector<StmtPtr>(const std::vector<StmtPtr>&)> walk = [&](const auto& body) {
    std::vector<StmtPtr> out;
    for (const auto& s : body) {
      auto changed = passes::with_bodies(s, walk(s->body), walk(s->orelse));
      out.push_back(passes::with_exprs(changed, [&](const Expr& e) { return rewrite(e, f); }));
    }
    return out;
  };
  return passes::with_body(p, walk(p.body));
}

// The largest number below 2 for each constant 2: only its last bit is wrong.
Expr smaller_two(const Expr& e) {
  return e.op() == Op::Const && e.type() == DType::F32 && e.value().to_double() == 2
             ? Expr(Scalar::from_double(DType::F32, std::nextafterf(2.0F, 0.0F)))
             : e;
}

Expr min_for_max(const Expr& e) { return e.op() == Op::Max ? min(e.args()[0], e.args()[1]) : e; }

Kernel with_minima_for_maxima(Kernel k) {
  for (auto& v : k.values)
    for (auto& b : v.body) b = rewrite(b, min_for_max);
  for (auto& s : k.stores) s.value = rewrite(s.value, min_for_max);
  return k;
}

Graph with_sums_for_products(const Graph& graph) {
  return rewrite(graph, [](const NodePtr& node, const Values& operands) -> Values {
    if (node->row()->name == "multiply") return {add(operands[0], operands[1])};
    return results_of(with_operands(node, operands));
  });
}

// An output that no input leads to, which the verifier refuses.
Graph with_a_stray_input(const Graph& given) {
  Graph graph = given;
  graph.outputs[0] = make_input("stray", graph.outputs[0].type());
  return graph;
}

ComparedPasses with_graph_pass(const std::string& name, Graph (*run)(const Graph&)) {
  ComparedPasses passes;
  passes.graph.insert(passes.graph.begin() + 2, {name, "", run});
  return passes;
}

struct Fault {
  std::string where;  // it is to be found there
  std::string message;  // and the message says this
  std::string begins;  // the first word of the file's text
  ComparedPasses passes;
};

std::vector<Fault> faults() {
  std::vector<Fault> all;
  all.push_back(
      {"graph_passes/wrong", "output 0[0, 0] is", "graph", with_graph_pass("wrong", with_sums_for_products)});
  all.push_back(
      {"graph_passes/stray", "not in the list", "graph", with_graph_pass("stray", with_a_stray_input)});

  ComparedPasses formed;
  formed.build = [](const Graph& graph, const CompileOptions& options, Places* places) {
    Program p = build_program(graph, options, places);
    for (auto& [name, kernel] : p.kernels) kernel = with_minima_for_maxima(kernel);
    return p;
  };
  all.push_back({"fuse", "kernel k0: value out[0, 0]", "graph", formed});

  ComparedPasses planned;
  planned.schedule = [](const KernelSource& source, const CompileOptions& options) {
    Scheduled made = scheduled(source, options);
    made.kernel = with_minima_for_maxima(made.kernel);
    return made;
  };
  all.push_back({"schedule", "at tile", "kernel", planned});

  ComparedPasses lowered;
  lowered.lower = [](const Kernel& kernel, const Schedule& schedule, const Target& target) {
    return with_values(lower(kernel, schedule, target), smaller_two);
  };
  all.push_back({"loop/lower", "at schedule", "kernel", lowered});

  ComparedPasses passed;
  const auto wrong = [](const LoopProgram& p, const Target&) { return with_values(p, smaller_two); };
  passed.loop.insert(passed.loop.begin() + 3, {"wrong", "", false, true, wrong});
  all.push_back({"loop_passes/wrong", "at loop_passes/unroll", "kernel", passed});

  ComparedPasses generated;
  generated.generate = [](const std::vector<LoopProgram>& programs, const Target& target, LlvmOutput output) {
    return llvm_generate({with_values(programs[0], smaller_two)}, target, output);
  };
  all.push_back({"codegen/llvm by one worker", "at loop_passes/dead_code", "kernel", generated});
  return all;
}

Graph example() {
  const Value x = input("x", {var("N"), 9}), w = input("w", {9, 5});
  return graph_of({x, w}, {call("maximum", {mul(matmul(x, w), 2.0), 0.0})[0]});
}
std::vector<BufferPtr> example_inputs() {
  return {filled(DType::F32, {7, 9}, 1), filled(DType::F32, {9, 5}, 2)};
}

// --- tests --------------------------------------------------------------------------------------------------

TEST(ExecCompare, FaultsAreFoundInTheirPass) {
  const Graph graph = example();
  const Folder folder;
  EXPECT_NO_THROW(compare_levels(graph, example_inputs(), {}, folder.options));
  for (const auto& fault : faults()) {
    SCOPED_TRACE(fault.where + ": " + fault.message);
    try {
      compare_levels(graph, example_inputs(), {}, folder.options, fault.passes);
      ADD_FAILURE() << "not found";
    } catch (const InternalError& e) {
      const std::string message = e.what();
      EXPECT_EQ(e.where(), fault.where) << message;
      EXPECT_NE(message.find(fault.message), message.npos) << message;
      ASSERT_FALSE(e.file().empty()) << message;
      EXPECT_NE(message.find(e.file()), message.npos) << message;
      std::string text = read(e.file());
      const auto arguments = take_arguments(text);
      if (fault.begins == "graph") expect_equal_bits(arguments, example_inputs(), "arguments");
      EXPECT_EQ(arguments.size(), 2U);
      Lexer in(text, "file");
      EXPECT_EQ(in.peek().text, fault.begins);
      // The text alone is right: what was put into the pass is not in it.
      if (fault.begins == "graph")
        EXPECT_EQ(to_text(parse_graph(text)), to_text(graph));
      else
        EXPECT_NO_THROW(verify(parse_kernel(in), "test"));
    } catch (const std::exception& e) {
      ADD_FAILURE() << "another error: " << e.what();
    }
  }
}

TEST(ExecCompare, ProgramsOfOneLevelAreComparedBelowIt) {
  const Folder folder;
  const auto compiled = compile(example(), folder.options);
  ComparedPasses passed = faults()[5].passes;
  for (const std::string level : {"tile", "schedule", "loop"}) {
    SCOPED_TRACE(level);
    const Program p = parse_program(compiled->text(level));
    EXPECT_NO_THROW(compare_levels(p, example_inputs(), {}, folder.options));
    EXPECT_THROW(compare_levels(p, example_inputs(), {}, folder.options, passed), InternalError);
  }
}

TEST(ExecCompare, UsersErrorsRemainTheirs) {
  const Value x = input("x", {4}), i = input("i", {3}, DType::I64);
  const Graph graph = graph_of({x, i}, {call("take", {x, i}, {{"axis", int64_t{0}}})[0]});
  const auto positions = make_buffer(DType::I64, {3});
  for (int64_t n = 0; n < 3; n++) Elements(positions).set(n, Scalar::from_int(DType::I64, n * 9));
  EXPECT_THROW(compare_levels(graph, {filled(DType::F32, {4}, 1), positions}, {}, without_disk()), Error);
}

TEST(ExecCompare, ALevelAgreesWithTheNextForEveryFunction) {
  size_t count = 0;
  for_each_function_case([&](FunctionCase& c, const std::string& text) {
    const Graph graph = c.inputs.graph(c.results(text));
    if (count++ % 7 != 0 && !std::getenv("PTO_SLOW")) return;
    compare_levels(graph, c.inputs.buffers(), {}, without_disk());
  });
  EXPECT_GT(count, 500U);
}

TEST(Reproducer, AKernelThatCannotBeCompiledIsInAFile) {
  const Folder folder;
  Program p = build_program(example(), folder.options);
  Expr& stored = p.kernels.begin()->second.stores[0].value;
  stored = stored + cast(DType::F32, var("nowhere"));
  try {
    Executable(p, folder.options).run(example_inputs());
    ADD_FAILURE() << "it ran";
  } catch (const InternalError& e) {
    EXPECT_EQ(e.where(), "codegen/llvm") << e.what();
    EXPECT_TRUE(e.file().starts_with(folder.options.cache_dir)) << e.what();
    EXPECT_NE(read(e.file()).find("kernel k0"), std::string::npos);
  }
}

TEST(Reproducer, TheFirstFileStays) {
  const Folder folder;
  const InternalError inner(InternalError("inner", "wrong"), "a file", "a command");
  EXPECT_STREQ(inner.what(), "internal error in inner: wrong\n  to reproduce: a command");
  try {
    raise_reproducible(inner, "graph", "--run", folder.options);
  } catch (const InternalError& e) {
    EXPECT_EQ(e.file(), "a file");
  }
}

}  // namespace
}  // namespace pto::testing
