// Every row of the table runs as generated code: programs of its cases hold launches of kernels and copies,
// nothing else, and give what the interpreter of graphs gives.
#include <set>

#include "exec/compare.h"
#include "exec/kernel_cache.h"
#include "exec/steps.h"
#include "exec_check.h"
#include "ops/control.h"
#include "ops/foreign.h"
#include "row_cases.h"

namespace pto::testing {
namespace {

bool is_control(StepKind kind) {
  return kind == StepKind::Cond || kind == StepKind::While || kind == StepKind::Scan;
}

// Steps that are not machine code: those of a program and of the programs nested in it.
std::vector<std::string> foreign_steps(const Program& root, const Program& p) {
  std::vector<std::string> found;
  for (const auto& s : p.steps) {
    if (s.kind == StepKind::Foreign) found.push_back("a foreign call");
    if (s.kind == StepKind::Launch && !root.kernels.count(s.kernel) && !root.loops.count(s.kernel))
      found.push_back("a launch of nothing");
    if (is_control(s.kind) == s.programs.empty()) found.push_back("a control step without programs");
    for (const auto& inner : s.programs) {
      const auto more = foreign_steps(root, *inner);
      found.insert(found.end(), more.begin(), more.end());
    }
  }
  return found;
}

TEST(ExecRows, EveryRowRunsAsGeneratedCode) {
  std::set<std::string> rows;
  const int64_t runs = counters().launches;
  for (const auto& c : row_cases()) {
    SCOPED_TRACE(c.name);
    const auto compiled = compile(c.graph, without_disk());
    const Program& p = compiled->program();
    EXPECT_EQ(foreign_steps(p, p), std::vector<std::string>{});
    expect_same_results(compiled->run(c.inputs), interpret(c.graph, c.inputs), 1e-5, "compiled");
    // Kernels are machine code: its instructions can be read.
    if (!p.kernels.empty()) {
      const std::string code = compiled->text("asm");
      for (const auto& [name, kernel] : p.kernels)
        EXPECT_NE(code.find(name.str() + ":\n"), code.npos) << code;
      rows.insert(c.graph.outputs[0].node->row()->name);
    } else {
      // Another name for its operand, or elements that are known.
      const bool moves = c.graph.outputs[0].node->row()->family == Family::Movement;
      EXPECT_TRUE(moves || p.steps.empty() || p.steps[0].kind == StepKind::Copy);
    }
  }
  EXPECT_GT(counters().launches, runs);
  const std::set<std::string> names{"reshape", "variable", "stop_gradient"};   // of their operands
  for (const OpRow* row : all_rows())
    if (row->family != Family::Leaf && row->family != Family::Control && row->family != Family::Foreign &&
        !names.count(row->name)) {
      EXPECT_TRUE(rows.count(row->name)) << row->name << " has no kernel";
    }
}

TEST(ExecRows, ForeignCallsAreSeen) {
  auto attrs = std::make_shared<ForeignAttrs>();
  Program p;
  p.steps.push_back({.kind = StepKind::Foreign, .attrs = attrs});
  EXPECT_EQ(foreign_steps(p, p).size(), 1U);
}

}  // namespace
}  // namespace pto::testing
