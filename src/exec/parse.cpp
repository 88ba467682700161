// Programs from their text.
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "exec/program.h"
#include "ops/control.h"
#include "ops/foreign.h"

namespace pto {
namespace {

// The inverse of Loc::str: file:line (path).
Loc parse_loc(const std::string& text) {
  LocInfo info;
  std::string place = text;
  if (const size_t open = text.starts_with("(") ? 0 : text.find(" (");
      open != text.npos && text.ends_with(")")) {
    const size_t path = open + (open == 0 ? 1 : 2);
    info.path = text.substr(path, text.size() - path - 1);
    place = text.substr(0, open);
  }
  const size_t colon = place.rfind(':');
  info.file = place.substr(0, colon);
  if (colon != place.npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), info.line);
  return Loc(info);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text, "program") {}

  Program parse() {
    Program p = program(0);
    while (!in_.done()) {
      if (in_.at("kernel")) {
        Kernel k = parse_kernel(in_);
        unique(p, k.name);
        const Symbol name = k.name;
        p.kernels.emplace(name, std::move(k));
      } else if (in_.at("loop")) {
        LoopProgram l = parse_loop(in_);
        unique(p, l.name);
        const Symbol name = l.name;
        p.loops.emplace(name, std::move(l));
      } else if (in_.at("schedule")) {
        Schedule s = parse_schedule(in_);
        p.schedules[s.kernel].push_back(std::move(s));
      } else {
        in_.fail("expected a kernel, a schedule or a loop program");
      }
    }
    for (const auto& [name, schedules] : p.schedules)
      if (!p.kernels.count(name)) in_.fail("there is no kernel '" + name.str() + "' for this schedule");
    return p;
  }

 private:
  void unique(const Program& p, Symbol name) {
    if (p.kernels.count(name) || p.loops.count(name)) in_.fail("'" + name.str() + "' is defined twice");
  }

  Program program(int depth) {
    if (depth > 64) in_.fail("programs nested deeper than 64");
    Program p;
    in_.expect("program");
    p.name = in_.peek().kind == Token::String ? in_.string() : in_.name();
    if (in_.accept("["))
      while (!in_.accept("]")) {
        if (!p.sizes.empty()) in_.expect(",");
        p.sizes.emplace_back(in_.name());
      }
    in_.expect("{");
    std::unordered_map<Symbol, int> names;
    while (!in_.accept("}")) statement(p, names, depth);
    return p;
  }

  Expr expr() {
    return parse_expr(in_, [](Symbol) { return VarType(DType::I64); });
  }

  void statement(Program& p, std::unordered_map<Symbol, int>& names, int depth) {
    static const std::pair<std::string_view, BufferKind> kBuffers[] = {{"input", BufferKind::Input},
                                                                       {"constant", BufferKind::Constant},
                                                                       {"temp", BufferKind::Temp},
                                                                       {"output", BufferKind::Output}};
    for (const auto& [word, kind] : kBuffers)
      if (in_.accept(word)) return buffer(p, names, kind);
    if (in_.accept("guard")) {
      p.guards.push_back(expr());
    } else if (in_.accept("because")) {
      p.because.push_back(in_.string());
    } else if (in_.accept("plan")) {
      memory(p, names);
    } else {
      step(p, names, depth);
    }
  }

  int64_t number(std::string_view word) {
    in_.expect(word);
    return in_.integer();
  }

  // After the buffers and steps that it places; what it must keep to is checked by verify.
  void memory(Program& p, const std::unordered_map<Symbol, int>& names) {
    FixedPlan fixed;
    if (in_.accept("["))
      while (!in_.accept("]")) {
        if (!fixed.sizes.empty()) in_.expect(",");
        const Symbol symbol(in_.name());
        in_.expect("=");
        fixed.sizes[symbol] = in_.integer();
      }
    for (Symbol s : plan_symbols(p))
      if (!fixed.sizes.count(s)) in_.fail("the plan gives no size for '" + s.str() + "'");
    MemoryPlan& plan = fixed.plan;
    plan.offsets.assign(p.buffers.size(), -1);
    plan.workspaces.assign(p.steps.size(), -1);
    in_.expect("{");
    const int64_t peak = number("peak");
    in_.expect("=");
    plan.input_bytes = number("inputs");
    in_.expect("+");
    plan.output_bytes = number("outputs");
    in_.expect("+");
    plan.constant_bytes = number("constants");
    in_.expect("+");
    plan.arena_bytes = number("arena");
    if (peak != plan.peak_bytes()) in_.fail("the peak is not the sum before");
    while (!in_.accept("}")) {
      int64_t bytes = 0, *at = nullptr;
      const Symbol name(in_.name());
      if (const auto it = names.find(name); it != names.end()) {
        bytes = placed_bytes(p.buffers[it->second], fixed.sizes);
        at = &plan.offsets[it->second];
      } else if (name.str() == "step") {
        const int64_t s = in_.integer();
        if (s < 0 || s >= static_cast<int64_t>(p.steps.size())) in_.fail("there is no such step");
        bytes = plan_workspace(p, p.steps[s], fixed.sizes).bytes;
        at = &plan.workspaces[s];
      } else {
        in_.fail("unknown buffer '" + name.str() + "'");
      }
      in_.expect(":");
      if (in_.integer() != bytes)
        in_.fail("'" + name.str() + "' takes " + std::to_string(bytes) + " bytes, not those before");
      in_.expect("bytes");
      in_.expect("at");
      if (*at >= 0) in_.fail("'" + name.str() + "' has two places");
      *at = in_.integer();
    }
    p.plans.push_back(std::move(fixed));
  }

  void buffer(Program& p, std::unordered_map<Symbol, int>& names, BufferKind kind) {
    ProgramBuffer b;
    b.kind = kind;
    b.name = Symbol(in_.name());
    in_.expect(":");
    const auto dtype = dtype_from_name(in_.name());
    if (!dtype) in_.fail("expected a type");
    b.dtype = *dtype;
    b.shape = parse_shape(in_);
    const int position = static_cast<int>(p.buffers.size());
    if (!names.emplace(b.name, position).second) in_.fail("'" + b.name.str() + "' is defined twice");
    if (kind == BufferKind::Input) p.inputs.push_back(position);
    if (kind == BufferKind::Output) p.outputs.push_back(position);
    if (kind == BufferKind::Constant) b.constant = data(b);
    p.buffers.push_back(std::move(b));
  }

  BufferPtr data(const ProgramBuffer& b) {
    in_.expect("=");
    in_.expect("data");
    const std::string text = in_.string();
    for (const auto& size : b.shape)
      if (!size.is_const()) in_.fail("a constant of symbolic size");
    const auto buffer = make_buffer(b.dtype, eval_shape(b.shape, {}));
    if (static_cast<int64_t>(text.size()) != 2 * buffer->bytes())
      in_.fail("expected data of " + std::to_string(buffer->bytes()) + " bytes before");
    for (int64_t i = 0; i < buffer->bytes(); i++) {
      uint8_t byte = 0;
      const char* at = text.data() + 2 * i;
      if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) in_.fail("bad digits in the data before");
      static_cast<uint8_t*>(buffer->data)[i] = byte;
    }
    return buffer;
  }

  std::vector<int> operands(const std::unordered_map<Symbol, int>& names) {
    std::vector<int> list;
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!list.empty()) in_.expect(",");
      if (in_.peek().kind != Token::Name) in_.fail("expected a buffer");
      const auto it = names.find(Symbol(in_.peek().text));
      if (it == names.end()) in_.fail("unknown buffer");
      in_.next();
      list.push_back(it->second);
    }
    return list;
  }

  void step(Program& p, const std::unordered_map<Symbol, int>& names, int depth) {
    Step s;
    int programs = 0;
    const std::string word = in_.peek().kind == Token::Name ? in_.name() : "";
    if (word == "launch") {
      s.kind = StepKind::Launch;
      s.kernel = Symbol(in_.name());
      if (in_.accept("["))
        while (!in_.accept("]")) {
          if (!s.sizes.empty()) in_.expect(",");
          const Symbol symbol(in_.name());
          in_.expect("=");
          s.sizes.emplace_back(symbol, expr());
        }
    } else if (word == "copy") {
      s.kind = StepKind::Copy;
    } else if (word == "foreign") {
      s.kind = StepKind::Foreign;
      auto attrs = std::make_shared<ForeignAttrs>();
      parse_attrs(in_, *attrs);
      s.attrs = std::move(attrs);
    } else if (word == "cond") {
      s.kind = StepKind::Cond;
      programs = 2;
    } else if (word == "while") {
      s.kind = StepKind::While;
      programs = 2;
    } else if (word == "scan") {
      s.kind = StepKind::Scan;
      programs = 1;
      s.attrs = scan_attrs();
    } else {
      in_.fail("expected a buffer, a guard or a step before");
    }
    s.inputs = operands(names);
    in_.expect("->");
    s.outputs = operands(names);
    if (in_.accept("@")) s.loc = parse_loc(in_.string());
    while (in_.accept("check")) {
      in_.expect("@");
      s.check_locs.push_back(parse_loc(in_.string()));
    }
    if (programs > 0) {
      in_.expect("{");
      for (int i = 0; i < programs; i++)
        s.programs.push_back(std::make_shared<const Program>(program(depth + 1)));
      in_.expect("}");
    }
    p.steps.push_back(std::move(s));
  }

  AttrsPtr scan_attrs() {
    auto attrs = std::make_shared<ScanLoopAttrs>();
    in_.expect("[");
    in_.expect("carries");
    in_.expect("=");
    attrs->carries = in_.integer();
    in_.expect(",");
    in_.expect("sequences");
    in_.expect("=");
    attrs->sequences = in_.integer();
    in_.expect(",");
    in_.expect("length");
    in_.expect("=");
    attrs->length = {expr()};
    if (in_.accept(",")) {
      in_.expect("reverse");
      attrs->reverse = true;
    }
    in_.expect("]");
    return attrs;
  }

  Lexer in_;
};

}  // namespace

Program parse_program(std::string_view text) {
  Program program = Parser(text).parse();
  try {
    verify(program, "parse_program");
  } catch (const InternalError& e) {   // the text is the user's
    throw Error("program", e.what());
  }
  return program;
}

}  // namespace pto
