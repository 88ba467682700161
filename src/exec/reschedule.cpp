#include "exec/reschedule.h"

#include <algorithm>

#include "ops/builder.h"

namespace pto {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& expected = "",
                         const std::string& got = "") {
  throw Error(
      {.op = "with_schedule", .message = message, .expected = expected, .got = got, .loc = current_loc()});
}

// Sizes and parameters, as a kernel's text begins.
std::string interface_text(Kernel kernel, Symbol name) {
  kernel.name = name;
  const std::string text = to_text(kernel);
  return text.substr(0, text.find(" {"));
}

// The same parameters; their memory may have another shape, as a schedule that walks several axes as one needs it.
bool alike(const Kernel& a, const Kernel& b) {
  auto fits = [](const Param& x, const Param& y) {
    const Size p = product(x.shape), q = product(y.shape);
    return x.name == y.name && x.dtype == y.dtype && x.output == y.output &&
           (simplify(p) == simplify(q) || prove_equal(p, q) == std::optional(true));
  };
  return a.sizes == b.sizes &&
         std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(), fits);
}

class Rescheduling {
 public:
  explicit Rescheduling(Executable& executable) : executable_(executable), program_(executable.program()) {}

  Program run(const std::string& text) {
    Lexer in(text, "schedule");
    if (in.at("program")) {
      adopt(parse_program(text));
    } else {
      while (!in.done()) in.at("kernel") ? replace(parse_kernel(in)) : add(parse_schedule(in));
      if (given_.empty()) refuse("the text has no schedule");
      for (auto& [name, schedules] : given_) program_.schedules[name] = std::move(schedules);
    }
    verify(program_, "with_schedule");
    return std::move(program_);
  }

 private:
  // What the user saw: kernels with the stages that the heuristic gave them, one for each class of sizes.
  const Program& shown() {
    if (!shown_) shown_ = parse_program(executable_.text("schedule"));
    return *shown_;
  }

  void adopt(const Program& listing) {
    std::map<Symbol, Symbol> names;
    rename(program_, listing, names);
    for (const auto& [name, of] : names) {
      const auto kernel = listing.kernels.find(name);
      if (kernel == listing.kernels.end()) refuse("the text does not define the kernel " + name.str());
      check_interface(kernel->second, program_.kernels.at(of), name);
    }
    for (const auto& [name, schedules] : listing.schedules)
      for (const auto& s : schedules) verify(listing.kernels.at(name), s, executable_.options().target);
    program_.kernels = listing.kernels;
    program_.schedules = listing.schedules;
  }

  // The steps run the listing's kernels; `names` receives which kernel of the program each stands for.
  void rename(Program& program, const Program& listing, std::map<Symbol, Symbol>& names) const {
    if (program.steps.size() != listing.steps.size())
      refuse("the text is of another program", std::to_string(program.steps.size()) + " steps",
             std::to_string(listing.steps.size()));
    for (size_t i = 0; i < program.steps.size(); i++) {
      Step& s = program.steps[i];
      const Step& other = listing.steps[i];
      if (s.kind != other.kind || s.programs.size() != other.programs.size())
        refuse("the text is of another program");
      if (s.kind == StepKind::Launch && program_.kernels.count(s.kernel)) {
        names.emplace(other.kernel, s.kernel);
        s.kernel = other.kernel;
      }
      for (size_t n = 0; n < s.programs.size(); n++) {
        Program inner = *s.programs[n];
        rename(inner, *other.programs[n], names);
        s.programs[n] = std::make_shared<const Program>(std::move(inner));
      }
    }
  }

  static void check_interface(const Kernel& given, const Kernel& present, Symbol name) {
    if (!alike(given, present))
      refuse("kernel " + name.str() + " has another interface in this program", interface_text(present, name),
             interface_text(given, name));
  }

  Kernel& known(Symbol name) {
    if (!program_.kernels.count(name) && shown().kernels.count(name)) {
      adopt(shown());
      for (const auto& [other, kernel] : replaced_) program_.kernels.insert_or_assign(other, kernel);
    }
    const auto kernel = program_.kernels.find(name);
    if (kernel != program_.kernels.end()) return kernel->second;
    std::vector<std::string> names;
    for (const auto& [other, k] : program_.kernels) names.push_back(other.str());
    refuse("there is no kernel named " + name.str(), join(names, ", "), name.str());
  }

  void replace(Kernel kernel) {
    Kernel& present = known(kernel.name);
    check_interface(kernel, present, kernel.name);
    verify(kernel, "with_schedule");
    present = kernel;
    replaced_.insert_or_assign(kernel.name, std::move(kernel));
  }

  void add(Schedule schedule) {
    Kernel& present = known(schedule.kernel);
    const Target& target = executable_.options().target;
    try {
      verify(present, schedule, target);
    } catch (const Error&) {
      // It may place the stages of the kernel that was shown with it.
      const auto other = shown().kernels.find(schedule.kernel);
      if (other == shown().kernels.end() || !fits(other->second, schedule)) throw;
      present = other->second;
    }
    given_[schedule.kernel].push_back(std::move(schedule));
  }

  bool fits(const Kernel& kernel, const Schedule& schedule) const {
    try {
      verify(kernel, schedule, executable_.options().target);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  Executable& executable_;
  Program program_;
  std::optional<Program> shown_;
  std::map<Symbol, Kernel> replaced_;
  std::map<Symbol, std::vector<Schedule>> given_;
};

}  // namespace

Program with_schedules(Executable& executable, const std::string& text) {
  return Rescheduling(executable).run(text);
}

}  // namespace pto
