#include "base/dtype.h"

#include <algorithm>
#include <array>

namespace pto {
namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kInfo{{
    {"bool", "bool", 1, false, false, false},
    {"i8", "int8", 1, false, true, true},
    {"i16", "int16", 2, false, true, true},
    {"i32", "int32", 4, false, true, true},
    {"i64", "int64", 8, false, true, true},
    {"u8", "uint8", 1, false, false, true},
    {"u16", "uint16", 2, false, false, true},
    {"u32", "uint32", 4, false, false, true},
    {"u64", "uint64", 8, false, false, true},
    {"f16", "float16", 2, true, false, false},
    {"bf16", "bfloat16", 2, true, false, false},
    {"f32", "float32", 4, true, false, false},
    {"f64", "float64", 8, true, false, false},
}};

}  // namespace

const DTypeInfo& info(DType type) { return kInfo[static_cast<int>(type)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; i++)
    if (kInfo[i].name == name || kInfo[i].numpy == name) return static_cast<DType>(i);
  return std::nullopt;
}

const std::vector<DType>& all_dtypes() {
  static const auto types = [] {
    std::vector<DType> result;
    for (int i = 0; i < kNumDTypes; i++) result.push_back(static_cast<DType>(i));
    return result;
  }();
  return types;
}

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) {
    if (is_half(a) && is_half(b)) return DType::F32;
    return std::max(a, b);  // the enumeration is ordered by width
  }
  if (is_signed(a) == is_signed(b)) return std::max(a, b);
  const DType s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  switch (u) {  // the smallest signed type that holds every value of both
    case DType::U8: return DType::I16;
    case DType::U16: return DType::I32;
    case DType::U32: return DType::I64;
    default: return std::nullopt;
  }
}

DType accumulator_type(DType type) { return is_half(type) ? DType::F32 : type; }

}  // namespace pto
