#pragma once
// Element types, their facts, and the promotion of two of them (docs/numbers.md).
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pto {

enum class DType : uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };
inline constexpr int kNumDTypes = 13;

struct DTypeInfo {
  std::string_view name;   // in every IR text: "f32"
  std::string_view numpy;  // in Python: "float32"
  int bytes;
  bool is_float, is_signed, is_int;  // bool is none of them; is_signed holds for signed integers only
};

const DTypeInfo& info(DType type);
inline std::string_view name(DType type) { return info(type).name; }
inline int size_of(DType type) { return info(type).bytes; }
inline bool is_float(DType type) { return info(type).is_float; }
inline bool is_int(DType type) { return info(type).is_int; }
inline bool is_signed(DType type) { return info(type).is_signed; }
inline bool is_half(DType type) { return type == DType::F16 || type == DType::BF16; }

// Accepts both spellings ("f32", "float32").
std::optional<DType> dtype_from_name(std::string_view name);
const std::vector<DType>& all_dtypes();

// The type of a binary operation on two tensors; nothing for uint64 with a signed integer.
std::optional<DType> promote(DType a, DType b);
// The type in which sums and products of `type` accumulate: f32 for halves, else the type itself.
DType accumulator_type(DType type);

}  // namespace pto
