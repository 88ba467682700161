#pragma once
// Sizes that must agree while a graph is being built. Sizes that are proved different are the
// user's error; sizes that are neither proved equal nor different are compared by their hints (the
// actual sizes of the call that is being traced) and the comparison becomes a guard.
#include "expr/size.h"

namespace pto {

struct SizeContext {
  Sizes hints;
  Exprs guards;
};

// The innermost context of this thread; there is always one (the outermost has no hints: then equality is
// assumed and recorded as a guard).
SizeContext& size_context();
class WithSizeContext {
 public:
  explicit WithSizeContext(SizeContext& context);
  ~WithSizeContext();

 private:
  SizeContext* previous_;
};

// Do they agree (recording a guard if that is not proved)?
bool sizes_agree(const Size& a, const Size& b);
// A boolean expression's truth: proved, or by hints (recording a guard); nothing if neither.
std::optional<bool> decide(const Expr& condition);
// For conditions without which an operation makes no sense: as `decide`, but what is neither proved nor
// hinted at is assumed, and becomes a guard.
inline bool assume(const Expr& condition) {
  if (const auto known = decide(condition)) return *known;
  size_context().guards.push_back(condition);
  return true;
}

}  // namespace pto
