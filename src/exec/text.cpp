// Text of programs.
#include <algorithm>

#include "exec/program.h"
#include "ops/control.h"
#include "ops/foreign.h"

namespace pto {
namespace {

std::string_view keyword(BufferKind kind) {
  switch (kind) {
    case BufferKind::Input: return "input";
    case BufferKind::Constant: return "constant";
    case BufferKind::Temp: return "temp";
    case BufferKind::Output: return "output";
  }
  return "";
}

class Printer {
 public:
  void program(const Program& p, const std::string& margin) {
    out += margin + "program " + (is_name(p.name) ? p.name : quote(p.name));
    if (!p.sizes.empty()) {
      std::vector<std::string> names;
      for (Symbol s : p.sizes) names.push_back(s.str());
      out += "[" + join(names, ", ") + "]";
    }
    out += " {\n";
    const std::string inner = margin + "  ";
    // Inputs and outputs stand in the order of the call.
    for (int b : p.inputs) buffer(p.buffers[b], inner);
    for (const auto& b : p.buffers)
      if (b.kind == BufferKind::Constant || b.kind == BufferKind::Temp) buffer(b, inner);
    for (int b : p.outputs) buffer(p.buffers[b], inner);
    for (const auto& g : p.guards) out += inner + "guard " + to_text(g) + "\n";
    for (const auto& s : p.steps) step(p, s, inner);
    for (const auto& plan : p.plans) memory(p, plan, inner);
    for (const auto& b : p.because) out += inner + "because " + quote(b) + "\n";
    out += margin + "}\n";
  }

  std::string out;

 private:
  void buffer(const ProgramBuffer& b, const std::string& margin) {
    out += margin + std::string(keyword(b.kind)) + " " + b.name.str() + ": " + std::string(name(b.dtype)) +
           shape_text(b.shape);
    if (b.kind == BufferKind::Constant) out += " = data \"" + hex(*packed(b.constant)) + "\"";
    out += "\n";
  }

  void memory(const Program& p, const FixedPlan& fixed, const std::string& margin) {
    const MemoryPlan& plan = fixed.plan;
    const auto number = [](int64_t n) { return std::to_string(n); };
    std::vector<std::string> sizes;
    for (const auto& [symbol, n] : fixed.sizes) sizes.push_back(symbol.str() + " = " + number(n));
    std::sort(sizes.begin(), sizes.end());
    out += margin + "plan" + (sizes.empty() ? "" : "[" + join(sizes, ", ") + "]") + " {\n";
    out += margin + "  peak " + number(plan.peak_bytes()) + " = inputs " + number(plan.input_bytes) +
           " + outputs " + number(plan.output_bytes) + " + constants " + number(plan.constant_bytes) +
           " + arena " + number(plan.arena_bytes) + "\n";
    for (size_t b = 0; b < plan.offsets.size(); b++)
      if (plan.offsets[b] >= 0)
        out += margin + "  " + p.buffers[b].name.str() + ": " +
               number(placed_bytes(p.buffers[b], fixed.sizes)) + " bytes at " + number(plan.offsets[b]) +
               "\n";
    for (size_t s = 0; s < plan.workspaces.size(); s++)
      if (plan.workspaces[s] >= 0)
        out += margin + "  step " + number(static_cast<int64_t>(s)) + ": " +
               number(plan_workspace(p, p.steps[s], fixed.sizes).bytes) + " bytes at " +
               number(plan.workspaces[s]) + "\n";
    out += margin + "}\n";
  }

  static std::string names(const Program& p, const std::vector<int>& operands) {
    std::vector<std::string> list;
    for (int b : operands) list.push_back(p.buffers[b].name.str());
    return "(" + join(list, ", ") + ")";
  }

  void step(const Program& p, const Step& s, const std::string& margin) {
    out += margin + head(p, s);
    if (s.loc.known()) out += "  @ " + quote(s.loc.str());
    for (const Loc& loc : s.check_locs) out += "  check @ " + quote(loc.str());
    if (s.programs.empty()) {
      out += "\n";
      return;
    }
    out += " {\n";
    for (const auto& inner : s.programs) program(*inner, margin + "  ");
    out += margin + "}\n";
  }

  static std::string head(const Program& p, const Step& s) {
    const std::string operands = names(p, s.inputs) + " -> " + names(p, s.outputs);
    switch (s.kind) {
      case StepKind::Launch: {
        std::vector<std::string> sizes;
        for (const auto& [symbol, size] : s.sizes) sizes.push_back(symbol.str() + " = " + to_text(size));
        return "launch " + s.kernel.str() + (sizes.empty() ? "" : "[" + join(sizes, ", ") + "]") + operands;
      }
      case StepKind::Copy: return "copy " + operands;
      case StepKind::Foreign: return "foreign " + attrs_text(*s.attrs) + operands;
      case StepKind::Cond: return "cond" + operands;
      case StepKind::While: return "while" + operands;
      case StepKind::Scan: {
        const auto& a = static_cast<const ScanLoopAttrs&>(*s.attrs);
        return "scan[carries = " + std::to_string(a.carries) +
               ", sequences = " + std::to_string(a.sequences) + ", length = " + to_text(a.length.at(0)) +
               (a.reverse ? ", reverse]" : "]") + operands;
      }
    }
    return "";
  }
};

}  // namespace

std::string to_text(const Program& program) {
  Printer printer;
  printer.program(program, "");
  std::string text = std::move(printer.out);
  for (const auto& [name, kernel] : program.kernels) text += to_text(kernel);
  for (const auto& [name, schedules] : program.schedules)
    for (const auto& s : schedules) text += to_text(s);
  for (const auto& [name, loop] : program.loops) text += to_text(loop);
  return text;
}

}  // namespace pto
