// Runs a loop program as one worker would. Statements are compiled once, to lists of steps whose
// operands and results are places in memory that never move.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "expr/eval.h"
#include "loop/loop.h"
#include "loop/transform.h"

namespace pto {
namespace {

constexpr const char* kWhere = "loop/interpret";

// Places for scalars, in blocks.
class Places {
 public:
  Scalar* take(int lanes) {
    const auto n = static_cast<size_t>(lanes);
    for (; block_ < blocks_.size(); block_++, used_ = 0)
      if (used_ + n <= blocks_[block_].size()) return place(n);
    blocks_.emplace_back(std::max(n, kBlock));
    return place(n);
  }
  // What was taken may be taken again.
  void reuse() { block_ = used_ = 0; }

 private:
  Scalar* place(size_t n) {
    used_ += n;
    return blocks_[block_].data() + used_ - n;
  }

  static constexpr size_t kBlock = 1 << 12;
  std::vector<std::vector<Scalar>> blocks_;
  size_t block_ = 0, used_ = 0;
};

// A value at hand; one that is the same in all lanes has a stride of 0.
struct Operand {
  Scalar* at = nullptr;
  int stride = 0;
  const Scalar& lane(int i) const { return at[i * stride]; }
};

struct Array {
  Symbol name;
  BufferPtr buffer;
  std::vector<int64_t> shape;

  char* place(const std::vector<Operand>& index, size_t first, int lane) const {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); d++) {
      const auto i = static_cast<int64_t>(index[first + d].lane(lane).bits);
      if (i < 0 || i >= shape[d]) outside(index, first, lane);
      at = at * shape[d] + i;
    }
    return static_cast<char*>(buffer->data) + at * size_of(buffer->dtype);
  }
  [[noreturn]] void outside(const std::vector<Operand>& index, size_t first, int lane) const {
    std::vector<std::string> at, sizes;
    for (size_t d = 0; d < shape.size(); d++) {
      at.push_back(index[first + d].lane(lane).str());
      sizes.push_back(std::to_string(shape[d]));
    }
    throw InternalError(kWhere,
                        name.str() + "[" + join(at, ", ") + "] is outside [" + join(sizes, ", ") + "]");
  }
  // Not what a program may rely on: NaN, or -1.
  void spoil() const {
    const int byte = buffer->dtype == DType::Bool ? 1 : 0xFF;
    if (buffer->bytes() > 0) std::memset(buffer->data, byte, static_cast<size_t>(buffer->bytes()));
  }
};

struct Step {
  Op op;
  DType type;
  Op reduce_op;
  int lanes;
  Scalar* out;
  const Array* array;
  std::vector<Operand> args;
};

struct Code {
  StmtKind kind;
  std::vector<Step> steps;             // computes the operands
  std::vector<Operand> operands;       // For: lo, hi, step; Store: the indices
  Operand value, mask;
  int lanes = 1;
  Scalar* var = nullptr;               // For, Let
  const Array* array = nullptr;        // Store, Alloc
  int number = 0;
  std::vector<Code> body, orelse;
};

class Compiler {
 public:
  Compiler(const LoopProgram& p, const std::vector<BufferPtr>& buffers, const Sizes& sizes)
      : sizes_(sizes), messages_(p.messages.size()) {
    PTO_CHECK(buffers.size() == p.params.size(), kWhere, "one buffer a parameter");
    for (Symbol s : p.sizes) {
      const auto it = sizes.find(s);
      PTO_CHECK(it != sizes.end(), kWhere, "no size for " + s.str());
      *variable(s, 1) = Scalar::from_int(DType::I64, it->second);
    }
    for (size_t i = 0; i < buffers.size(); i++) {
      const LoopParam& param = p.params[i];
      Array& a = array(param.name, buffers[i], param.shape);
      int64_t elements = 1;
      for (int64_t d : a.shape) elements *= d;
      PTO_CHECK(
          buffers[i]->dtype == param.dtype && buffers[i]->contiguous() && buffers[i]->elements() == elements,
          kWhere, "the buffer of " + param.name.str() + " is of another type or size");
    }
  }

  std::vector<Code> body(const std::vector<StmtPtr>& stmts) {
    std::vector<Code> out;
    for (const auto& s : stmts) out.push_back(statement(*s));
    return out;
  }

 private:
  Code statement(const Stmt& s) {
    Code c{s.kind};
    begin(c);
    switch (s.kind) {
      case StmtKind::For:
        c.operands = {operand(s.lo), operand(s.hi), operand(s.step)};
        c.var = variable(s.name, 1);
        break;
      case StmtKind::If:
      case StmtKind::Check:
        c.value = operand(s.value);
        c.lanes = s.value.lanes();
        c.number = s.number;
        PTO_CHECK(s.kind == StmtKind::If || static_cast<size_t>(s.number) < messages_, kWhere,
                  "a check without a message");
        break;
      case StmtKind::Let:
        c.value = operand(s.value);
        c.lanes = s.value.lanes();
        c.var = variable(s.name, c.lanes);
        break;
      case StmtKind::Store:
        c.array = find(s.name);
        PTO_CHECK(s.index.size() == c.array->shape.size(), kWhere,
                  "a store of another rank to " + s.name.str());
        for (const auto& i : s.index) {
          c.operands.push_back(operand(i));
          c.lanes = std::max(c.lanes, i.lanes());
        }
        c.value = operand(s.value);
        c.lanes = std::max(c.lanes, s.value.lanes());
        if (!s.mask) break;
        c.mask = operand(s.mask);
        c.lanes = std::max(c.lanes, s.mask.lanes());
        break;
      case StmtKind::Alloc:
        c.array = &array(s.name, make_buffer(s.dtype, eval_shape(s.shape, sizes_)), s.shape);
        break;
      case StmtKind::Block:
      case StmtKind::Barrier: break;
    }
    c.body = body(s.body);
    c.orelse = body(s.orelse);
    return c;
  }

  Scalar* variable(Symbol name, int lanes) {
    Scalar* at = fixed_.take(lanes);
    vars_[name] = {at, lanes > 1 ? 1 : 0};
    return at;
  }

  Array& array(Symbol name, const BufferPtr& buffer, const Shape& shape) {
    owned_.push_back(std::make_unique<Array>(Array{name, buffer, eval_shape(shape, sizes_)}));
    arrays_[name] = owned_.back().get();
    return *owned_.back();
  }

  const Array* find(Symbol name) const {
    const auto it = arrays_.find(name);
    PTO_CHECK(it != arrays_.end(), kWhere, "unknown buffer " + name.str());
    return it->second;
  }

  // Temporaries last as long as a statement's operands.
  void begin(Code& code) {
    steps_ = &code.steps;
    temporaries_.reuse();
    done_.clear();
    alive_.clear();
  }

  Operand operand(const Expr& e) {
    alive_.push_back(as_computed(e));
    const Expr& whole = alive_.back();
    visit(whole, [&](const Expr& n) {
      if (!done_.count(n.get())) done_.emplace(n.get(), node(n));
    });
    return done_.at(whole.get());
  }

  Operand node(const Expr& e) {
    if (e.is_const()) {
      Scalar*& at = constants_[e];
      if (!at) *(at = fixed_.take(1)) = e.value();
      return {at, 0};
    }
    if (e.is_var()) {
      const auto it = vars_.find(e.symbol());
      PTO_CHECK(it != vars_.end(), kWhere, "unbound variable " + e.symbol().str());
      return it->second;
    }
    Step step{e.op(), e.type(), Op::Const, e.lanes(), nullptr, nullptr, {}};
    for (const auto& a : e.args()) step.args.push_back(done_.at(a.get()));
    if (e.op() == Op::Broadcast) return step.args[0];
    if (e.op() == Op::HReduce) {
      step.reduce_op = e.reduce_op();
      step.lanes = e.arg(0).lanes();
    }
    if (e.is_load()) {
      step.array = find(e.symbol());
      PTO_CHECK(e.indices().size() == step.array->shape.size() && step.array->buffer->dtype == e.type(),
                kWhere, "a load of another rank or type from " + e.symbol().str());
    }
    step.out = temporaries_.take(e.lanes());
    steps_->push_back(std::move(step));
    return {steps_->back().out, e.lanes() > 1 ? 1 : 0};
  }

  const Sizes& sizes_;
  const size_t messages_;
  Places fixed_, temporaries_;
  std::unordered_map<Symbol, Operand> vars_;
  std::unordered_map<Symbol, Array*> arrays_;
  std::vector<std::unique_ptr<Array>> owned_;
  std::unordered_map<Expr, Scalar*, ExprHash> constants_;
  // Of the current statement.
  std::vector<Step>* steps_ = nullptr;
  std::unordered_map<const ExprNode*, Operand> done_;
  Exprs alive_;
};

class Machine {
 public:
  Machine(const LoopProgram& program, std::string* error) : p_(program), error_(error) {}

  void run(const std::vector<Code>& body) {
    for (const Code& c : body) run(c);
  }

 private:
  void run(const Code& c) {
    for (const Step& s : c.steps) run(s);
    switch (c.kind) {
      case StmtKind::For: loop(c); break;
      case StmtKind::If: run(c.value.at->to_bool() ? c.body : c.orelse); break;
      case StmtKind::Let:
        for (int i = 0; i < c.lanes; i++) c.var[i] = c.value.lane(i);
        break;
      case StmtKind::Store:
        for (int i = 0; i < c.lanes; i++)
          if (!c.mask.at || c.mask.lane(i).to_bool())
            c.value.lane(i).to_bytes(c.array->place(c.operands, 0, i));
        break;
      case StmtKind::Alloc: c.array->spoil(); break;
      case StmtKind::Check:
        for (int i = 0; i < c.lanes; i++)
          if (!c.value.lane(i).to_bool() && error_ && error_->empty())
            *error_ = p_.messages[static_cast<size_t>(c.number)];
        break;
      case StmtKind::Block: run(c.body); break;
      case StmtKind::Barrier: break;
    }
  }

  void loop(const Code& c) {
    int64_t i = c.operands[0].at->to_int();
    const int64_t hi = c.operands[1].at->to_int(), step = c.operands[2].at->to_int();
    PTO_CHECK(step > 0, kWhere, "a loop whose step is " + std::to_string(step));
    while (i < hi) {
      *c.var = Scalar::from_int(DType::I64, i);
      run(c.body);
      const auto left = static_cast<uint64_t>(hi) - static_cast<uint64_t>(i);
      if (left <= static_cast<uint64_t>(step)) break;
      i += step;
    }
  }

  void run(const Step& s) {
    const std::vector<Operand>& args = s.args;
    switch (s.op) {
      case Op::Load:
      case Op::LoadIf: {
        const size_t first = s.op == Op::LoadIf ? 2 : 0;
        for (int i = 0; i < s.lanes; i++)
          s.out[i] = first && !args[0].lane(i).to_bool()
                         ? args[1].lane(i)
                         : Scalar::from_bytes(s.type, s.array->place(args, first, i));
        break;
      }
      case Op::Ramp: {
        Scalar stride[] = {Scalar::from_int(s.type, 0), *args[1].at};
        for (int i = 0; i < s.lanes; i++) {
          stride[0] = Scalar::from_int(s.type, i);
          const Scalar sum[] = {*args[0].at, eval_op(Op::Mul, stride)};
          s.out[i] = eval_op(Op::Add, sum);
        }
        break;
      }
      case Op::HReduce: {
        Lanes lanes;
        for (int i = 0; i < s.lanes; i++) lanes.push_back(args[0].lane(i));
        *s.out = eval_hreduce(s.reduce_op, std::move(lanes));
        break;
      }
      case Op::Select:
        for (int i = 0; i < s.lanes; i++) s.out[i] = args[args[0].lane(i).to_bool() ? 1 : 2].lane(i);
        break;
      case Op::Cast:
        for (int i = 0; i < s.lanes; i++) s.out[i] = convert(args[0].lane(i), s.type);
        break;
      case Op::Bitcast:
        for (int i = 0; i < s.lanes; i++) s.out[i] = {s.type, args[0].lane(i).bits};
        break;
      default: {
        Scalar operands[3];
        for (int i = 0; i < s.lanes; i++) {
          for (size_t a = 0; a < args.size(); a++) operands[a] = args[a].lane(i);
          s.out[i] = eval_op(s.op, operands);
        }
      }
    }
  }

  const LoopProgram& p_;
  std::string* error_;
};

}  // namespace

void interpret(const LoopProgram& program, const std::vector<BufferPtr>& buffers, const Sizes& sizes,
               std::string* error) {
  Compiler compiler(program, buffers, sizes);
  const std::vector<Code> code = compiler.body(program.body);
  Machine(program, error).run(code);
}

}  // namespace pto
