#pragma once
// Random expressions.
#include <random>

#include "expr/size.h"

namespace pto::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine_() % uint64_t(hi - lo + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  uint64_t bits() { return engine_(); }
  template <class T>
  const T& one_of(const std::vector<T>& from) {
    return from[static_cast<size_t>(between(0, static_cast<int64_t>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

// Of i64 variables a, b, c, d and small constants.
inline Expr random_size(Random& r, int depth) {
  if (depth == 0 || r.chance(15))
    return r.chance(60) ? var(std::string(1, static_cast<char>('a' + r.between(0, 3))))
                        : Expr(r.between(-4, 12));
  const auto operand = [&] { return random_size(r, depth - 1); };
  const auto divisor = [&] {
    return r.chance(75) ? Expr(r.one_of<int64_t>({-3, 0, 1, 2, 3, 4, 6, 8, 16})) : operand();
  };
  switch (r.between(0, 10)) {
    case 0:
    case 1: return operand() + operand();
    case 2: return operand() - operand();
    case 3:
    case 4: return operand() * (r.chance(70) ? Expr(r.between(-3, 8)) : operand());
    case 5: return floordiv(operand(), divisor());
    case 6: return mod(operand(), divisor());
    case 7: return min(operand(), operand());
    case 8: return max(operand(), operand());
    case 9: return select(operand() < operand(), operand(), operand());
    default: {
      // The index of an element, taken apart and put together.
      const Expr x = operand(), n = Expr(r.one_of<int64_t>({2, 3, 4, 8}));
      return floordiv(x, n) * n + mod(x, n);
    }
  }
}

}  // namespace pto::testing
