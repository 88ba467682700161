#include "base/scalar.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace pto {

uint16_t f32_to_f16(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (x >> 16) & 0x8000, mag = x & 0x7FFFFFFF;
  if (mag > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((mag >> 13) & 0x3FF));
  if (mag >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // rounds to 2^16 or more
  if (mag < 0x38800000) {  // subnormal: let the float adder round at 2^-24
    const float rounded = std::bit_cast<float>(mag) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000));
  }
  return static_cast<uint16_t>(sign | ((mag - 0x38000000 + 0xFFF + ((mag >> 13) & 1)) >> 13));
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, mag = bits & 0x7FFF;
  if (mag >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | ((mag & 0x3FF) << 13));
  if (mag < 0x400) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(mag * 0x1p-24f));
  return std::bit_cast<float>(sign | ((mag << 13) + 0x38000000));
}

uint16_t f32_to_bf16(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  if ((x & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((x >> 16) | 0x40);
  return static_cast<uint16_t>((x + 0x7FFF + ((x >> 16) & 1)) >> 16);
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

namespace {

// A double rounded to a half type in one step: narrowing to float first with "round to odd"
// keeps the information that the second rounding needs.
float to_odd_float(double value) {
  const float near = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(near) == value || std::isinf(near)) return near;
  auto bits = std::bit_cast<uint32_t>(near);
  if (std::abs(static_cast<double>(near)) > std::abs(value)) bits -= 1;  // truncate
  return std::bit_cast<float>(bits | 1);
}

uint64_t mask_to(DType type, uint64_t bits) {
  const int width = size_of(type) * 8;
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

template <class T>
uint64_t saturate(double value) {
  if (std::isnan(value)) return 0;
  constexpr auto lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
  if (value <= static_cast<double>(lo)) return static_cast<uint64_t>(lo);
  if (value >= static_cast<double>(hi)) return static_cast<uint64_t>(hi);
  return static_cast<uint64_t>(static_cast<T>(value));
}

}  // namespace

Scalar Scalar::from_double(DType type, double value) {
  uint64_t bits = 0;
  switch (type) {
    case DType::Bool: bits = value != 0; break;
    case DType::I8: bits = saturate<int8_t>(value); break;
    case DType::I16: bits = saturate<int16_t>(value); break;
    case DType::I32: bits = saturate<int32_t>(value); break;
    case DType::I64: bits = saturate<int64_t>(value); break;
    case DType::U8: bits = saturate<uint8_t>(value); break;
    case DType::U16: bits = saturate<uint16_t>(value); break;
    case DType::U32: bits = saturate<uint32_t>(value); break;
    case DType::U64: bits = saturate<uint64_t>(value); break;
    case DType::F16: bits = f32_to_f16(to_odd_float(value)); break;
    case DType::BF16: bits = f32_to_bf16(to_odd_float(value)); break;
    case DType::F32: bits = std::bit_cast<uint32_t>(static_cast<float>(value)); break;
    case DType::F64: bits = std::bit_cast<uint64_t>(value); break;
  }
  return {type, mask_to(type, bits)};
}

Scalar Scalar::from_int(DType type, int64_t value) {
  if (type == DType::Bool) return from_bool(value != 0);
  // One rounding only: an int64 goes to float32 directly and to the halves through round-to-odd.
  if (type == DType::F32) return {type, std::bit_cast<uint32_t>(static_cast<float>(value))};
  if (type == DType::F64) return from_double(type, static_cast<double>(value));
  if (is_half(type)) {
    double wide = static_cast<double>(value);
    return from_double(type, wide);  // doubles hold 53 bits: enough for a half's 11 and its tie
  }
  return {type, mask_to(type, static_cast<uint64_t>(value))};
}

Scalar Scalar::from_bytes(DType type, const void* bytes) {
  Scalar s{type, 0};
  std::memcpy(&s.bits, bytes, static_cast<size_t>(size_of(type)));  // little endian
  return s;
}

void Scalar::to_bytes(void* bytes) const { std::memcpy(bytes, &bits, static_cast<size_t>(size_of(type))); }

double Scalar::to_double() const {
  switch (type) {
    case DType::F16: return f16_to_f32(static_cast<uint16_t>(bits));
    case DType::BF16: return bf16_to_f32(static_cast<uint16_t>(bits));
    case DType::F32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::F64: return std::bit_cast<double>(bits);
    case DType::U64: return static_cast<double>(bits);
    default: return static_cast<double>(to_int());
  }
}

int64_t Scalar::to_int() const {
  switch (type) {
    case DType::I8: return static_cast<int8_t>(bits);
    case DType::I16: return static_cast<int16_t>(bits);
    case DType::I32: return static_cast<int32_t>(bits);
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64: return static_cast<int64_t>(from_double(DType::I64, to_double()).bits);
    default: return static_cast<int64_t>(bits);
  }
}

bool Scalar::to_bool() const { return is_float(type) ? to_double() != 0 : bits != 0; }

Scalar convert(Scalar value, DType to) {
  if (value.type == to) return value;
  if (to == DType::Bool) return Scalar::from_bool(value.to_bool());
  if (is_float(value.type)) return Scalar::from_double(to, value.to_double());
  if (value.type == DType::U64 && is_float(to)) {
    if (to == DType::F32) return {to, std::bit_cast<uint32_t>(static_cast<float>(value.bits))};
    return Scalar::from_double(to, static_cast<double>(value.bits));
  }
  return Scalar::from_int(to, value.to_int());
}

std::string Scalar::str() const {
  if (type == DType::Bool) return bits ? "true" : "false";
  char buffer[64];
  if (!is_float(type)) {
    if (type == DType::U64)
      std::snprintf(buffer, sizeof buffer, "%llu", (unsigned long long)bits);
    else
      std::snprintf(buffer, sizeof buffer, "%lld", (long long)to_int());
    return buffer;
  }
  const double value = to_double();
  if (std::isnan(value)) {  // the payload is part of the value
    std::snprintf(buffer, sizeof buffer, "nan_0x%llx", (unsigned long long)bits);
    return buffer;
  }
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const auto end = type == DType::F64
                       ? std::to_chars(buffer, buffer + sizeof buffer, value)
                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  return std::string(buffer, end.ptr);
}

bool parse_scalar(std::string_view text, DType type, Scalar& out) {
  const char *first = text.data(), *last = first + text.size();
  if (text == "true" || text == "false") {
    out = convert(Scalar::from_bool(text == "true"), type);
    return true;
  }
  if (text.starts_with("nan_0x")) {
    uint64_t bits = 0;
    auto r = std::from_chars(first + 6, last, bits, 16);
    out = {type, bits};
    return r.ec == std::errc() && r.ptr == last && is_float(type);
  }
  if (is_float(type)) {
    double value = 0;
    auto r = std::from_chars(first, last, value);
    if (r.ec != std::errc() || r.ptr != last) return false;
    if (type == DType::F32) {
      float narrow = 0;
      std::from_chars(first, last, narrow);
      out = {type, std::bit_cast<uint32_t>(narrow)};
    } else {
      out = Scalar::from_double(type, value);
    }
    return true;
  }
  if (type == DType::U64) {
    uint64_t value = 0;
    auto r = std::from_chars(first, last, value);
    out = {type, value};
    return r.ec == std::errc() && r.ptr == last;
  }
  int64_t value = 0;
  auto r = std::from_chars(first, last, value);
  out = Scalar::from_int(type, value);
  return r.ec == std::errc() && r.ptr == last && out.to_int() == value;
}

}  // namespace pto
