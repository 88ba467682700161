#pragma once
#include "expr/size.h"

namespace pto {

// Are they proved to be equal? Equal expressions are, without a proof.
inline bool known_equal(const Size& a, const Size& b) { return a == b || prove_equal(a, b) == true; }

}  // namespace pto
