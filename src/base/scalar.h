#pragma once
// One value of any element type. The bits are the value's own, zero-extended, so that
// equality of scalars is equality of bits (NaNs with equal payloads are equal).
#include <bit>
#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace pto {

// Conversions between float32 and the half types, rounding to nearest even; NaN stays NaN.
uint16_t f32_to_f16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float bf16_to_f32(uint16_t bits);

struct Scalar {
  DType type = DType::F32;
  uint64_t bits = 0;

  // Rounds to nearest even; integers wrap from int64 and saturate from double (NaN gives 0).
  static Scalar from_double(DType type, double value);
  static Scalar from_int(DType type, int64_t value);
  static Scalar from_bool(bool value) { return {DType::Bool, value ? 1u : 0u}; }
  static Scalar from_bytes(DType type, const void* bytes);
  void to_bytes(void* bytes) const;

  double to_double() const;   // exact for all but 64-bit integers
  int64_t to_int() const;     // integers and bool: two's complement; floats: saturating
  bool to_bool() const;       // not equal to zero (NaN is true)
  bool operator==(const Scalar&) const = default;

  std::string str() const;    // without the type; parse_scalar reads it back exactly
};

// The conversion that `cast` means, for every pair of types.
Scalar convert(Scalar value, DType to);
bool parse_scalar(std::string_view text, DType type, Scalar& out);

}  // namespace pto
