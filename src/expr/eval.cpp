#include "expr/eval.h"

#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <type_traits>

#include "base/error.h"
#include "expr/expand.h"

namespace pto {
namespace {

[[noreturn]] void unexpected(Op op, DType type) {
  throw InternalError("expr/eval", std::string(info(op).id) + " of " + std::string(name(type)));
}

Scalar eval_bool(Op op, bool x, bool y) {
  const auto result = [&] {
    switch (op) {
      case Op::Add:
      case Op::Max:
      case Op::Or: return x || y;
      case Op::Mul:
      case Op::Min:
      case Op::And: return x && y;
      case Op::Xor:
      case Op::Ne: return x != y;
      case Op::Eq: return x == y;
      case Op::Lt: return !x && y;
      case Op::Le: return !x || y;
      case Op::Not: return !x;
      default: unexpected(op, DType::Bool);
    }
  };
  return Scalar::from_bool(result());
}

// In 64 unsigned bits wherever wrapping is the meaning; from_int keeps the type's own bits.
template <class T>
Scalar eval_int(Op op, DType type, const Scalar* args, int arity) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr int kWidth = sizeof(T) * 8;
  const auto x = static_cast<T>(args[0].bits), y = static_cast<T>(arity > 1 ? args[1].bits : 0);
  const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const auto count = static_cast<Unsigned>(y);
  const auto wrap = [&](uint64_t value) { return Scalar::from_int(type, static_cast<int64_t>(value)); };
  const auto floor_mod = [&]() -> T {
    if (y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1))) return 0;
    const T rest = static_cast<T>(x % y);
    return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
  };
  switch (op) {
    case Op::Add: return wrap(ux + uy);
    case Op::Sub: return wrap(ux - uy);
    case Op::Mul: return wrap(ux * uy);
    case Op::FloorDiv: {
      if (y == 0) return wrap(0);
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return wrap(0 - ux);
      const T quotient = static_cast<T>(x / y);
      return wrap(static_cast<uint64_t>(quotient) - (floor_mod() != x % y ? 1 : 0));
    }
    case Op::Mod: return wrap(static_cast<uint64_t>(floor_mod()));
    case Op::Min: return wrap(x < y ? ux : uy);
    case Op::Max: return wrap(x < y ? uy : ux);
    case Op::Neg: return wrap(0 - ux);
    case Op::Abs: return wrap(x < 0 ? 0 - ux : ux);
    case Op::And: return wrap(ux & uy);
    case Op::Or: return wrap(ux | uy);
    case Op::Xor: return wrap(ux ^ uy);
    case Op::Not: return wrap(~ux);
    case Op::Shl: return wrap(count >= kWidth ? 0 : ux << count);
    case Op::Shr:
      if (count >= kWidth) return wrap(x < 0 ? ~uint64_t{0} : 0);
      return wrap(static_cast<uint64_t>(x >> count));
    case Op::Eq: return Scalar::from_bool(x == y);
    case Op::Ne: return Scalar::from_bool(x != y);
    case Op::Lt: return Scalar::from_bool(x < y);
    case Op::Le: return Scalar::from_bool(x <= y);
    default: unexpected(op, type);
  }
}

template <class T>
T floating(Op op, DType type, T x, T y, T z) {
  switch (op) {
    case Op::Add: return x + y;
    case Op::Sub: return x - y;
    case Op::Mul: return x * y;
    case Op::Div: return x / y;
    case Op::FloorDiv: return std::floor(x / y);
    case Op::Mod: {
      const T rest = std::fmod(x, y);
      if (rest == 0) return std::copysign(rest, y);
      return !std::isnan(rest) && (rest < 0) != (y < 0) ? rest + y : rest;
    }
    case Op::Min: return std::isnan(x) || x < y ? x : y;  // of two zeros the second
    case Op::Max: return std::isnan(x) || x > y ? x : y;
    case Op::Neg: return -x;
    case Op::Abs: return std::fabs(x);
    case Op::Floor: return std::floor(x);
    case Op::Ceil: return std::ceil(x);
    case Op::Trunc: return std::trunc(x);
    case Op::Round: return std::nearbyint(x);  // the rounding mode is never changed
    case Op::Sqrt: return std::sqrt(x);
    case Op::Fma: return std::fma(x, y, z);
    case Op::CopySign: return std::copysign(x, y);
    default: unexpected(op, type);
  }
}

template <class T>
bool compare(Op op, T x, T y) {
  switch (op) {
    case Op::Eq: return x == y;
    case Op::Ne: return x != y;
    case Op::Lt: return x < y;
    default: return x <= y;
  }
}

double reference(Op op, double x, double y) {
  switch (op) {
    case Op::Exp: return std::exp(x);
    case Op::Exp2: return std::exp2(x);
    case Op::Expm1: return std::expm1(x);
    case Op::Log: return std::log(x);
    case Op::Log2: return std::log2(x);
    case Op::Log10: return std::log10(x);
    case Op::Log1p: return std::log1p(x);
    case Op::Sin: return std::sin(x);
    case Op::Cos: return std::cos(x);
    case Op::Tan: return std::tan(x);
    case Op::Asin: return std::asin(x);
    case Op::Acos: return std::acos(x);
    case Op::Atan: return std::atan(x);
    case Op::Atan2: return std::atan2(x, y);
    case Op::Sinh: return std::sinh(x);
    case Op::Cosh: return std::cosh(x);
    case Op::Tanh: return std::tanh(x);
    case Op::Erf: return std::erf(x);
    case Op::Erfc: return std::erfc(x);
    case Op::Pow: return std::pow(x, y);
    default: unexpected(op, DType::F64);
  }
}

// The expansion of each operation and type, of the variables x and y.
Scalar expanded(Op op, const Scalar* args) {
  static std::array<std::array<Expr, kNumDTypes>, static_cast<size_t>(Op::Pow) + 1> table;
  static std::mutex mutex;
  static const Symbol names[] = {Symbol("x"), Symbol("y")};
  const DType type = args[0].type;
  Expr body;
  {
    std::lock_guard lock(mutex);
    Expr& entry = table[static_cast<size_t>(op)][static_cast<size_t>(type)];
    if (!entry) {
      Exprs operands;
      for (int i = 0; i < info(op).arity; i++) operands.push_back(var(names[i], type));
      entry = form_fma(expand_all_math(promote_halves(make(op, std::move(operands)))));
    }
    body = entry;
  }
  EvalEnv env;
  env.var = [&](Symbol s) { return args[s == names[0] ? 0 : 1]; };
  return eval_scalar(body, env);
}

Scalar eval_float(Op op, DType type, const Scalar* args, int arity) {
  const OpClass cls = info(op).cls;
  if (type == DType::F64) {
    double v[3] = {};
    for (int i = 0; i < arity; i++) v[i] = args[i].to_double();
    if (cls == OpClass::cmp) return Scalar::from_bool(compare(op, v[0], v[1]));
    return Scalar::from_double(type, floating(op, type, v[0], v[1], v[2]));
  }
  float v[3] = {};
  for (int i = 0; i < arity; i++) v[i] = static_cast<float>(args[i].to_double());
  if (cls == OpClass::cmp) return Scalar::from_bool(compare(op, v[0], v[1]));
  return Scalar::from_double(type, floating(op, type, v[0], v[1], v[2]));
}

Scalar lane_of(const Lanes& lanes, size_t i) { return lanes[lanes.size() == 1 ? 0 : i]; }

Lanes eval_ramp(const Expr& e, Scalar base, Scalar stride) {
  Lanes out{base};
  while (static_cast<int>(out.size()) < e.lanes()) {
    const Scalar step[] = {Scalar::from_int(e.type(), static_cast<int64_t>(out.size())), stride};
    const Scalar sum[] = {base, eval_op(Op::Mul, step)};
    out.push_back(eval_op(Op::Add, sum));
  }
  return out;
}

Lanes eval_load(const Expr& e, const std::vector<const Lanes*>& args, const EvalEnv& env) {
  const size_t first = e.op() == Op::LoadIf ? 2 : 0;
  Lanes out;
  std::vector<int64_t> index(args.size() - first);
  for (size_t lane = 0; lane < static_cast<size_t>(e.lanes()); lane++) {
    if (first && !lane_of(*args[0], lane).to_bool()) {
      out.push_back(lane_of(*args[1], lane));
      continue;
    }
    for (size_t i = first; i < args.size(); i++) index[i - first] = lane_of(*args[i], lane).to_int();
    out.push_back(env.load(e.symbol(), index));
  }
  return out;
}

Lanes eval_node(const Expr& e, const std::vector<const Lanes*>& args, const EvalEnv& env) {
  switch (e.op()) {
    case Op::Const: return {e.value()};
    case Op::Var:
      PTO_CHECK(e.lanes() == 1, "expr/eval", "a vector variable: " + e.str());
      return {env.var(e.symbol())};
    case Op::Load:
    case Op::LoadIf: return eval_load(e, args, env);
    case Op::Ramp: return eval_ramp(e, args[0]->front(), args[1]->front());
    case Op::Broadcast: return Lanes(static_cast<size_t>(e.lanes()), args[0]->front());
    case Op::HReduce: return {eval_hreduce(e.reduce_op(), *args[0])};
    default: break;
  }
  Lanes out;
  Scalar operands[3];
  for (size_t lane = 0; lane < static_cast<size_t>(e.lanes()); lane++) {
    for (size_t i = 0; i < args.size(); i++) operands[i] = lane_of(*args[i], lane);
    switch (e.op()) {
      case Op::Select: out.push_back(operands[operands[0].to_bool() ? 1 : 2]); break;
      case Op::Cast: out.push_back(convert(operands[0], e.type())); break;
      case Op::Bitcast: out.push_back({e.type(), operands[0].bits}); break;
      default: out.push_back(eval_op(e.op(), operands, env.mode));
    }
  }
  return out;
}

}  // namespace

Scalar eval_op(Op op, const Scalar* args, MathMode mode) {
  const DType type = args[0].type;
  const int arity = info(op).arity;
  if (is_math(op)) {
    if (mode == MathMode::Expanded) return expanded(op, args);
    return Scalar::from_double(type, reference(op, args[0].to_double(), arity > 1 ? args[1].to_double() : 0));
  }
  switch (type) {
    case DType::Bool: return eval_bool(op, args[0].bits != 0, arity > 1 && args[1].bits != 0);
    case DType::I8: return eval_int<int8_t>(op, type, args, arity);
    case DType::I16: return eval_int<int16_t>(op, type, args, arity);
    case DType::I32: return eval_int<int32_t>(op, type, args, arity);
    case DType::I64: return eval_int<int64_t>(op, type, args, arity);
    case DType::U8: return eval_int<uint8_t>(op, type, args, arity);
    case DType::U16: return eval_int<uint16_t>(op, type, args, arity);
    case DType::U32: return eval_int<uint32_t>(op, type, args, arity);
    case DType::U64: return eval_int<uint64_t>(op, type, args, arity);
    default: return eval_float(op, type, args, arity);
  }
}

Lanes eval(const Expr& e, const EvalEnv& env) {
  std::unordered_map<const ExprNode*, Lanes> done;
  std::vector<const Lanes*> args;
  visit(e, [&](const Expr& n) {
    args.clear();
    for (const auto& a : n.args()) args.push_back(&done.at(a.get()));  // elements of a map stay in place
    Lanes lanes = eval_node(n, args, env);
    done.emplace(n.get(), std::move(lanes));
  });
  return std::move(done.at(e.get()));
}

Scalar eval_scalar(const Expr& e, const EvalEnv& env) {
  if (e.is_const()) return e.value();
  PTO_CHECK(e.lanes() == 1, "expr/eval", "a scalar was expected: " + e.str());
  return eval(e, env).front();
}

Scalar eval_hreduce(Op op, Lanes lanes) {
  PTO_CHECK(!lanes.empty(), "expr/eval", "no lanes to combine");
  while (lanes.size() > 1) {
    const size_t half = lanes.size() / 2;
    const bool odd = lanes.size() % 2;
    for (size_t i = 0; i < half; i++) {
      const Scalar pair[] = {lanes[i], lanes[half + i]};
      lanes[i] = eval_op(op, pair);
    }
    if (odd) lanes[half] = lanes.back();
    lanes.resize(half + (odd ? 1 : 0));
  }
  return lanes.front();
}

}  // namespace pto
