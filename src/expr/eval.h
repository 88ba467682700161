#pragma once
// What the scalar operations do, executed: the one definition that the interpreters of all
// levels, the constant folder and the tests share.
#include <functional>

#include "expr/expr.h"

namespace pto {

// A lane vector; scalars have one lane.
using Lanes = std::vector<Scalar>;

// How `math` operations are computed: by the C library in double precision and rounded (what the
// operation means), or by the polynomial expansion that machine code uses (bit for bit).
enum class MathMode { Reference, Expanded };

// One operation of ops.def on scalars; `args` has its arity.
Scalar eval_op(Op op, const Scalar* args, MathMode mode = MathMode::Reference);

struct EvalEnv {
  std::function<Scalar(Symbol)> var;
  std::function<Scalar(Symbol, const std::vector<int64_t>&)> load;
  MathMode mode = MathMode::Reference;
};

// One lane or many; shared subexpressions are evaluated once. No recursion over depth is needed
// here: expressions are bounded by the compiler (kMaxExprNodes), graphs are not.
Lanes eval(const Expr& e, const EvalEnv& env);
Scalar eval_scalar(const Expr& e, const EvalEnv& env);

// The combination of lanes by HReduce: halves are combined until one is left; an odd lane is
// carried to the next round.
Scalar eval_hreduce(Op op, Lanes lanes);

}  // namespace pto
