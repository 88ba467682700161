#pragma once
// What gradient rules are written with.
#include "ops/compose.h"

namespace pto {

inline Value pass(const Vjp& v) { return v.d[0]; }
inline Value pass_negative(const Vjp& v) { return negative(v.d[0]); }
// d * factor, and 0 where d is 0: what is not selected further on does not matter here, however large the
// factor is. Linear in d.
inline Value scaled(const Value& d, Operand factor) {
  return binary("multiply_no_nan", std::move(factor), d);
}
// d / x, and 0 where d is 0.
Value quotient(const Value& d, const Value& x);

// A tensor as it was before axes were folded away: those are repeated.
Value unfolded(const Value& folded, const Shape& shape, const std::vector<int64_t>& axes);
Value zeros(const TensorType& type);
// s[i] = d[i] + w[i + 1] * s[i + 1] along an axis, from its end.
Value reverse_recurrence(const Value& d, const Value& w, int64_t axis);
// One axis moved by a place: the element before (or after, if `towards_start`), `edge` at the border.
Value shifted(const Value& x, int64_t axis, bool towards_start, double edge);
// The axis in which each element is followed by step - 1 zeros: n * step elements.
Value dilated(const Value& x, int64_t axis, int64_t step);
// x at the axes' equal indices, zero elsewhere: the transpose of the row diagonal.
Value embedded(const Value& x, const Shape& shape, const std::vector<int64_t>& axes);

}  // namespace pto
