#include "codegen/c_family/render.h"

#include <algorithm>

#include "base/error.h"

namespace pto::c_family {
namespace {

constexpr const char* kWhere = "codegen/c_family";

bool reads_memory(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& n) { found |= n.is_load(); });
  return found;
}

}  // namespace

// Of the language, of what its library declares, and those that every function has.
const std::unordered_set<std::string>& words() {
  static const std::unordered_set<std::string> all = {
      "INFINITY", "INT64_C", "NAN",      "acos",   "acosh",    "asin",     "asinh",     "asm",
      "atan",     "atan2",   "atanh",    "auto",   "bool",     "break",    "buffers",   "case",
      "cbrt",     "ceil",    "char",     "const",  "continue", "copysign", "cos",       "cosh",
      "default",  "do",      "double",   "else",   "enum",     "erf",      "erfc",      "errno",
      "exp",      "exp2",    "expm1",    "extern", "fabs",     "false",    "float",     "floor",
      "fma",      "fmax",    "fmin",     "fmod",   "for",      "gamma",    "goto",      "hypot",
      "i386",     "if",      "index",    "inline", "int",      "int16_t",  "int32_t",   "int64_t",
      "int8_t",   "isinf",   "lane",     "linux",  "log",      "log10",    "log1p",     "log2",
      "logb",     "long",    "main",     "memcpy", "pow",      "register", "remainder", "restrict",
      "return",   "rint",    "round",    "scalb",  "short",    "signed",   "sin",       "sinh",
      "sizeof",   "sizes",   "sqrt",     "static", "struct",   "switch",   "tan",       "tanh",
      "true",     "trunc",   "typedef",  "typeof", "uint16_t", "uint32_t", "uint64_t",  "uint8_t",
      "union",    "unix",    "unsigned", "void",   "volatile", "while",    "worker"};
  return all;
}

Renderer::Renderer(const LoopProgram& program, const std::string& name, Prelude& prelude)
    : p_(program), name_(name), prelude_(prelude), taken_(words()) {
  taken_.insert(name);
  const ScratchLayout layout = scratch_layout(program);
  offsets_.insert(layout.offsets.begin(), layout.offsets.end());
  for (Symbol s : program.sizes) {
    index_vars_.insert(s);
    natural_vars_.insert(s);
  }
}

std::string Renderer::fresh(std::string base) {
  for (auto& c : base)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (std::isdigit(static_cast<unsigned char>(base[0])) || base.rfind("pto_", 0) == 0) base = "v_" + base;
  std::string name = base;
  for (int n = 1; !taken_.insert(name).second; n++) name = base + "_" + std::to_string(n);
  return name;
}

std::string Renderer::c_name(Symbol name) {
  std::string& c = c_names_[name];
  if (c.empty()) c = fresh(name.str());
  return c;
}

void Renderer::line(const std::string& text) {
  out_.append(static_cast<size_t>(indent_) * 2, ' ');
  out_ += text + "\n";
}

std::string Renderer::function() {
  for (size_t i = 0; i < p_.sizes.size(); i++)
    line("const int64_t " + c_name(p_.sizes[i]) + " = sizes[" + std::to_string(i) + "];");
  for (size_t i = 0; i < p_.params.size(); i++) {
    const auto& param = p_.params[i];
    const std::string type = (param.output ? "" : "const ") + std::string(memory_type(param.dtype));
    line(type + " *restrict " + c_name(param.name) + " = buffers[" + std::to_string(i) + "];");
  }
  body(p_.body);
  return "void " + name_ + "(void *const *buffers, const int64_t *sizes, pto_worker *worker) {\n" + out_ +
         "}\n";
}

void Renderer::body(const std::vector<StmtPtr>& stmts) {
  for (const auto& s : stmts) {
    statement(*s);
    done();
  }
}

void Renderer::statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::Block:
      line("{");
      indent_++;
      body(s.body);
      indent_--;
      line("}");
      break;
    case StmtKind::For: loop(s); break;
    case StmtKind::If:
      line("if (" + scalar(s.value) + ") {");
      done();
      indent_++;
      body(s.body);
      indent_--;
      if (!s.orelse.empty()) {
        line("} else {");
        indent_++;
        body(s.orelse);
        indent_--;
      }
      line("}");
      break;
    case StmtKind::Let: let(s); break;
    case StmtKind::Store: store(s); break;
    case StmtKind::Alloc: alloc(s); break;
    case StmtKind::Barrier: line("worker->barrier(worker);"); break;
    case StmtKind::Check: check(s); break;
  }
}

void Renderer::loop(const Stmt& s) {
  const std::string i = c_name(s.name);
  index_vars_.insert(s.name);
  if (not_negative(s.lo)) natural_vars_.insert(s.name);
  // Bounds are computed once.
  const auto bound = [&](const Expr& e, const char* what) {
    const std::string value = scalar(e);
    if (!reads_memory(e)) return value;
    const std::string name = fresh(i + what);
    line("const int64_t " + name + " = " + value + ";");
    return name;
  };
  std::string lo = bound(s.lo, "_begin"), hi = bound(s.hi, "_end"), step = bound(s.step, "_step");
  const std::string next = s.step.is_const(1) ? i + "++" : i + " += " + step;
  if (s.for_kind == ForKind::Parallel) {  // this worker's share
    const std::string from = fresh(i + "_from"), to = fresh(i + "_to"), count = fresh(i + "_count");
    const auto grouped = [](const Expr& e, const std::string& text) {
      return e.is_const() || e.is_var() ? text : "(" + text + ")";
    };
    const std::string low = grouped(s.lo, lo), high = grouped(s.hi, hi);
    const std::string span = s.lo.is_const(0) ? high : high + " - " + low;
    std::string n = s.step.is_const(1) ? span : "(" + span + " + " + step + " - 1) / " + step;
    line("const int64_t " + count + " = " + high + " > " + low + " ? " + n + " : 0;");
    const std::string base = s.lo.is_const(0) ? "" : low + " + ",
                      times = s.step.is_const(1) ? "" : " * " + step;
    line("const int64_t " + from + " = " + base + count + " * worker->index / worker->count" + times + ";");
    line("const int64_t " + to + " = " + base + count + " * (worker->index + 1) / worker->count" + times +
         ";");
    lo = from;
    hi = to;
  } else if (!s.hi.is_const() && !s.hi.is_var() && s.hi.op() != Op::Add && s.hi.op() != Op::Sub &&
             s.hi.op() != Op::FloorDiv && s.hi.op() != Op::Mul) {
    hi = "(" + hi + ")";
  }
  done();
  line("for (int64_t " + i + " = " + lo + "; " + i + " < " + hi + "; " + next + ") {");
  indent_++;
  body(s.body);
  indent_--;
  line("}");
}

void Renderer::for_lanes(int lanes, const std::function<void()>& inside) {
  if (lanes == 1) return inside();
  const std::string head = "for (int lane = 0; lane < " + std::to_string(lanes) + "; lane++) ";
  const size_t begin = out_.size();
  line(head + "{");
  const size_t first = out_.size();
  indent_++;
  inside();
  indent_--;
  if (std::count(out_.begin() + static_cast<std::ptrdiff_t>(first), out_.end(), '\n') > 1) return line("}");
  const std::string only = out_.substr(out_.find_first_not_of(' ', first));  // one statement on one line
  out_.resize(begin);
  line(head + only.substr(0, only.size() - 1));
}

void Renderer::let(const Stmt& s) {
  const std::string type(c_type(s.value.type()));
  if (is_index(s.value)) {
    index_vars_.insert(s.name);
    if (not_negative(s.value)) natural_vars_.insert(s.name);
  }
  prepare({s.value});
  if (s.value.lanes() == 1) {
    const std::string value = text(s.value);
    line("const " + type + " " + c_name(s.name) + " = " + value + ";");
    return;
  }
  line(type + " " + c_name(s.name) + "[" + std::to_string(s.value.lanes()) + "];");
  for_lanes(s.value.lanes(), [&] {
    prepare_lanes({s.value});
    line(c_name(s.name) + "[lane] = " + text(s.value) + ";");
  });
}

void Renderer::store(const Stmt& s) {
  const Expr& index = s.index[0];
  Exprs roots{index, s.value};
  int lanes = std::max(index.lanes(), s.value.lanes());
  if (s.mask) {
    roots.push_back(s.mask);
    lanes = std::max(lanes, s.mask.lanes());
  }
  prepare(roots);
  // What is stored must not be read by later lanes.
  bool meets = false;
  const bool apart = index.op() == Op::Ramp && index.arg(1).is_const() && !index.arg(1).is_const(0);
  for (const auto& root : roots)
    visit(root, [&](const Expr& e) {
      if (e.lanes() > 1 && e.is_load() && e.symbol() == s.name) meets |= !apart || !(e.indices()[0] == index);
    });
  std::string values, masks;
  if (lanes > 1 && meets) {
    values = lanes_array(broadcast(s.value, lanes));
    if (s.mask) masks = lanes_array(broadcast(s.mask, lanes));
  }
  for_lanes(lanes, [&] {
    if (lanes > 1) prepare_lanes(values.empty() ? roots : Exprs{index});
    const std::string at = c_name(s.name) + "[" + text(index) + "]";
    const std::string value = values.empty() ? text(s.value) : values + "[lane]";
    const std::string assignment = at + " = " + value + ";";
    if (!s.mask) return line(assignment);
    line("if (" + (masks.empty() ? text(s.mask) : masks + "[lane]") + ") " + assignment);
  });
}

void Renderer::check(const Stmt& s) {
  const std::string failed = prelude_.check() + "(worker, " + std::to_string(s.number) + ");";
  prepare({s.value});
  for_lanes(s.value.lanes(), [&] {
    if (s.value.lanes() > 1) prepare_lanes({s.value});
    line("if (!(" + text(s.value) + ")) " + failed);
  });
}

void Renderer::alloc(const Stmt& s) {
  const std::string type(memory_type(s.dtype)), name = c_name(s.name);
  if (s.scope == Scope::Register) {
    const Size elements = simplify(product(s.shape));
    PTO_CHECK(elements.is_const(), kWhere, "the size of a register must be fixed: " + s.name.str());
    line(type + " " + name + "[" + std::to_string(std::max<int64_t>(elements.as_int(), 1)) + "];");
    return;
  }
  const std::string block = s.scope == Scope::Shared ? "worker->shared" : "worker->scratch";
  const Size& offset = offsets_.at(s.name);
  const std::string at = offset.is_const(0) ? block : "(" + block + " + " + scalar(offset) + ")";
  line(type + " *restrict " + name + " = (" + type + " *)" + at + ";");
}

}  // namespace pto::c_family
