#pragma once
// Elementary functions as machine code, beside the C library with more digits than the type has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "codegen/codegen.h"
#include "expr/expr.h"
#include "loop_passes/pipeline.h"
#include "runtime/cpu/abi.h"

namespace pto::testing {

struct Function {
  Op op;
  double (*of_double)(double);
  long double (*of_long)(long double);
  double bound32, bound64;   // in units of the last place
  enum Symmetry { None, Odd, Even } symmetry = None;
  bool keeps_tiny = false;   // f(x) is x where x is denormal

  std::string name() const { return std::string(info(op).text); }
};

inline void PrintTo(const Function& f, std::ostream* out) { *out << f.name(); }

inline const std::vector<Function>& functions() {
#define PTO_BOTH(f) [](double x) { return std::f(x); }, [](long double x) { return std::f(x); }
  static const std::vector<Function> all = {
      {Op::Exp, PTO_BOTH(exp), 2, 2},
      {Op::Exp2, PTO_BOTH(exp2), 2, 2},
      {Op::Expm1, PTO_BOTH(expm1), 4, 4, Function::None, true},
      {Op::Log, PTO_BOTH(log), 2, 2},
      {Op::Log2, PTO_BOTH(log2), 2, 2},
      {Op::Log10, PTO_BOTH(log10), 4, 4},
      {Op::Log1p, PTO_BOTH(log1p), 4, 4, Function::None, true},
      {Op::Sin, PTO_BOTH(sin), 2, 2, Function::Odd, true},
      {Op::Cos, PTO_BOTH(cos), 2, 2, Function::Even},
      {Op::Tan, PTO_BOTH(tan), 4, 4, Function::Odd, true},
      {Op::Asin, PTO_BOTH(asin), 4, 4, Function::Odd, true},
      {Op::Acos, PTO_BOTH(acos), 4, 4},
      {Op::Atan, PTO_BOTH(atan), 4, 4, Function::Odd, true},
      {Op::Sinh, PTO_BOTH(sinh), 4, 4, Function::Odd, true},
      {Op::Cosh, PTO_BOTH(cosh), 4, 4, Function::Even},
      {Op::Tanh, PTO_BOTH(tanh), 2, 4, Function::Odd, true},
      {Op::Erf, PTO_BOTH(erf), 2, 4, Function::Odd},
      {Op::Erfc, PTO_BOTH(erfc), 4, 4},
  };
#undef PTO_BOTH
  return all;
}

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, float>    ? DType::F32
                          : std::is_same_v<T, double> ? DType::F64
                                                      : DType::F16;
template <class T>
using BitsOf =
    std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <class T>
T from_bits(uint64_t bits) {
  return std::bit_cast<T>(static_cast<BitsOf<T>>(bits));
}

constexpr int kLanes = 16;   // what arrays are padded to

// Machine code of one operation over arrays, run by the calling thread alone.
class Compiled {
 public:
  Compiled(Op op, DType type, const Target& target) : arity_(info(op).arity) {
    LoopProgram p;
    p.name = Symbol("f");
    p.sizes = {Symbol("N")};
    const Expr n = var("N"), i = ramp(var("i"), Expr(1), kLanes);
    Exprs operands;
    for (int k = 0; k < arity_; k++) {
      const Symbol name("x" + std::to_string(k));
      p.params.push_back({name, type, {n}, false});
      operands.push_back(load(name, type, {i}));
    }
    p.params.push_back({Symbol("y"), type, {n}, true});
    p.body = {for_loop(ForKind::Serial, Symbol("i"), Expr(0), n, Expr(kLanes),
                       {store(Symbol("y"), {i}, make(op, operands))})};
    p = run_loop_passes(p, target);
    object_ = LoadedObject::load(llvm_generate({p}, target, LlvmOutput::Object));
    code_ = reinterpret_cast<pto_kernel>(object_->symbol("f"));
  }

  // `count` is a multiple of kLanes.
  void operator()(const void* x, const void* y, void* out, int64_t count) const {
    void* both[] = {const_cast<void*>(x), const_cast<void*>(y), out};
    void* one[] = {const_cast<void*>(x), out};
    int32_t error = 0;
    pto_worker worker{};
    worker.count = 1;
    worker.error = &error;
    code_(arity_ == 2 ? both : one, &count, &worker);
  }

  template <class T>
  std::vector<T> operator()(std::vector<T> x, std::vector<T> y = {}) const {
    const size_t count = x.size(), padded = (count + kLanes - 1) / kLanes * kLanes;
    x.resize(padded);
    y.resize(padded);
    std::vector<T> out(padded);
    (*this)(x.data(), y.data(), out.data(), static_cast<int64_t>(padded));
    out.resize(count);
    return out;
  }

 private:
  int arity_;
  std::shared_ptr<LoadedObject> object_;
  pto_kernel code_ = nullptr;
};

inline int exponent_of(double x) {   // quicker than the library's, which the sweeps over all values feel
  return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff) - 1022;
}
inline int exponent_of(long double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent;
}
inline double scaled(double x, int exponent) {
  return x * from_bits<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}
inline long double scaled(long double x, int exponent) { return std::ldexp(x, exponent); }

// How far `got` is from `want`, in units of the last place that a T has at `want`. An infinity stands where
// the next number would. Infinite if one is NaN alone, if an exact infinity or zero is not met with its
// sign, or if the sign is wrong.
template <class T, class Wide>
double distance(T got, Wide want) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(want)) return kWrong;
  if (std::isinf(want) || want == 0) return static_cast<Wide>(got) == want ? 0 : kWrong;
  const Wide beyond = scaled(Wide(1), Limits::max_exponent);
  const Wide a = std::min(std::abs(want), beyond),
             b = std::isinf(got) ? beyond : std::abs(static_cast<Wide>(got));
  const int exponent = std::min(std::max(exponent_of(a), Limits::min_exponent), Limits::max_exponent);
  return static_cast<double>(scaled(std::abs(a - b), Limits::digits - exponent));
}

// The largest distance, and where.
struct Worst {
  double ulps = 0, x = 0, y = 0, got = 0, want = 0;
  void add(double distance, double at_x, double at_y, double is, double should) {
    if (distance > ulps) *this = {distance, at_x, at_y, is, should};
  }
  void add(const Worst& other) {
    if (other.ulps > ulps) *this = other;
  }
  std::string str() const {
    char text[200];
    std::snprintf(text, sizeof text, "%.3f ulp at %a, %a: %a for %a", ulps, x, y, got, want);
    return text;
  }
};

}  // namespace pto::testing
