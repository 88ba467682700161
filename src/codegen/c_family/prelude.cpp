#include "codegen/c_family/prelude.h"

#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace pto::c_family {
namespace {

constexpr const char* kWhere = "codegen/c_family";

std::string unsigned_type(DType type) { return "uint" + std::to_string(size_of(type) * 8) + "_t"; }

// Replaces $T, $U, $N and so on.
std::string filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [key, value] : values)
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + value.size()))
      text.replace(at, key.size(), value);
  return text;
}

const char* int_body(Op op, bool is_signed) {
  switch (op) {
    case Op::Add: return "($T a, $T b) { return ($T)(($W)a + ($W)b); }";
    case Op::Sub: return "($T a, $T b) { return ($T)(($W)a - ($W)b); }";
    case Op::Mul: return "($T a, $T b) { return ($T)(($W)a * ($W)b); }";
    case Op::Neg: return "($T a) { return ($T)(0 - ($W)a); }";
    case Op::Abs:
      return is_signed ? "($T a) { return a < 0 ? ($T)(0 - ($W)a) : a; }" : "($T a) { return a; }";
    case Op::Not: return "($T a) { return ($T)~a; }";
    case Op::And: return "($T a, $T b) { return ($T)(a & b); }";
    case Op::Or: return "($T a, $T b) { return ($T)(a | b); }";
    case Op::Xor: return "($T a, $T b) { return ($T)(a ^ b); }";
    case Op::Min: return "($T a, $T b) { return a < b ? a : b; }";
    case Op::Max: return "($T a, $T b) { return a < b ? b : a; }";
    case Op::Shl: return "($T a, $T n) { return ($U)n < $B ? ($T)(($W)a << ($U)n) : 0; }";
    case Op::Shr:
      return is_signed ? "($T a, $T n) { return ($T)(a >> (($U)n < $B ? ($U)n : $B - 1)); }"
                       : "($T a, $T n) { return n < $B ? ($T)(a >> n) : 0; }";
    case Op::FloorDiv:
      return is_signed ? "($T a, $T b) {\n"
                         "  if (b == 0) return 0;\n"
                         "  if (b == -1) return ($T)(0 - ($W)a);\n"
                         "  return ($T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));\n"
                         "}"
                       : "($T a, $T b) { return b == 0 ? 0 : ($T)(a / b); }";
    case Op::Mod:
      return is_signed ? "($T a, $T b) {\n"
                         "  if (b == 0 || b == -1) return 0;\n"
                         "  $T r = ($T)(a % b);\n"
                         "  return r != 0 && (r < 0) != (b < 0) ? ($T)(r + b) : r;\n"
                         "}"
                       : "($T a, $T b) { return b == 0 ? 0 : ($T)(a % b); }";
    default: return nullptr;
  }
}

const char* float_body(Op op) {
  switch (op) {
    case Op::Min: return "($T a, $T b) { return a != a || a < b ? a : b; }";
    case Op::Max: return "($T a, $T b) { return a != a || a > b ? a : b; }";
    case Op::FloorDiv: return "($T a, $T b) { return floor$F(a / b); }";
    case Op::Mod:
      return "($T a, $T b) {\n"
             "  $T r = fmod$F(a, b);\n"
             "  if (r == 0) return copysign$F(r, b);\n"
             "  return r == r && (r < 0) != (b < 0) ? r + b : r;\n"
             "}";
    default: return nullptr;
  }
}

const char* kToOdd =
    "/* Narrows towards zero and sets the last bit if anything was lost, for a second rounding to see. */\n"
    "static inline float pto_to_odd(double x) {\n"
    "  float near = (float)x;\n"
    "  uint32_t bits;\n"
    "  memcpy(&bits, &near, 4);\n"
    "  if (x != x || (double)near == x || isinf(near)) return near;\n"
    "  if (fabs((double)near) > fabs(x)) bits -= 1;\n"
    "  bits |= 1;\n"
    "  memcpy(&near, &bits, 4);\n"
    "  return near;\n"
    "}\n\n";

const char* kF32ToF16 =
    "static inline uint16_t pto_f32_to_f16(float x) {\n"
    "  uint32_t b, m, r;\n"
    "  memcpy(&b, &x, 4);\n"
    "  m = b & 0x7FFFFFFF;\n"
    "  if (m > 0x7F800000) r = 0x7E00 | (m >> 13 & 0x3FF);\n"
    "  else if (m >= 0x477FF000) r = 0x7C00;\n"
    "  else if (m >= 0x38800000) r = (m + 0xFFF + (m >> 13 & 1) - 0x38000000) >> 13;\n"
    "  else {\n"
    "    float half = 0.5f + fabsf(x); /* rounds at the last place of a subnormal */\n"
    "    memcpy(&r, &half, 4);\n"
    "    r -= 0x3F000000;\n"
    "  }\n"
    "  return (uint16_t)(r | (b >> 16 & 0x8000));\n"
    "}\n\n";

const char* kF16ToF32 =
    "static inline float pto_f16_to_f32(uint16_t h) {\n"
    "  uint32_t m = h & 0x7FFF, b;\n"
    "  float x = (float)m * 0x1p-24f; /* a subnormal */\n"
    "  memcpy(&b, &x, 4);\n"
    "  if (m >= 0x7C00) b = m << 13 | 0x7F800000;\n"
    "  else if (m >= 0x400) b = (m << 13) + 0x38000000;\n"
    "  b |= (uint32_t)(h & 0x8000) << 16;\n"
    "  memcpy(&x, &b, 4);\n"
    "  return x;\n"
    "}\n\n";

const char* kF32ToBF16 =
    "static inline uint16_t pto_f32_to_bf16(float x) {\n"
    "  uint32_t b;\n"
    "  memcpy(&b, &x, 4);\n"
    "  if (x != x) return (uint16_t)(b >> 16 | 0x40);\n"
    "  return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);\n"
    "}\n\n";

const char* kBF16ToF32 =
    "static inline float pto_bf16_to_f32(uint16_t h) {\n"
    "  uint32_t b = (uint32_t)h << 16;\n"
    "  float x;\n"
    "  memcpy(&x, &b, 4);\n"
    "  return x;\n"
    "}\n\n";

std::string short_name(Op op) {
  std::string text(info(op).id);
  for (auto& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

}  // namespace

std::string_view c_type(DType type) { return type == DType::Bool ? "bool" : memory_type(type); }

std::string_view memory_type(DType type) {
  switch (type) {
    case DType::Bool:
    case DType::U8: return "uint8_t";
    case DType::I8: return "int8_t";
    case DType::I16: return "int16_t";
    case DType::I32: return "int32_t";
    case DType::I64: return "int64_t";
    case DType::U32: return "uint32_t";
    case DType::U64: return "uint64_t";
    case DType::F32: return "float";
    case DType::F64: return "double";
    default: return "uint16_t";  // u16, and the bits of halves
  }
}

std::string literal(Scalar value) {
  char text[64];
  switch (value.type) {
    case DType::Bool: return value.bits ? "true" : "false";
    case DType::F32:
    case DType::F64: {
      const double x = value.to_double();
      const bool wide = value.type == DType::F64;
      if (std::isnan(x)) return wide ? "(double)NAN" : "NAN";
      if (std::isinf(x)) return std::string(x < 0 ? "-" : "") + (wide ? "(double)INFINITY" : "INFINITY");
      // Decimal where it is short and exact.
      std::snprintf(text, sizeof text, "%.9g", x);
      if (std::strtod(text, nullptr) != x) std::snprintf(text, sizeof text, "%a", x);
      std::string s = text;
      if (s.find_first_of(".epx") == std::string::npos) s += ".0";
      return wide ? s : s + "f";
    }
    case DType::F16:
    case DType::BF16:
      std::snprintf(text, sizeof text, "0x%04llX", static_cast<unsigned long long>(value.bits));
      return text;
    case DType::U64: return std::to_string(value.bits) + "u";
    case DType::U32: return std::to_string(value.bits) + "u";
    case DType::I64:
      if (value.to_int() == INT64_MIN) return "INT64_MIN";
      if (std::llabs(value.to_int()) > INT32_MAX) return "INT64_C(" + std::to_string(value.to_int()) + ")";
      return std::to_string(value.to_int());
    case DType::I32:
      if (value.to_int() == INT32_MIN) return "INT32_MIN";
      return std::to_string(value.to_int());
    default: return std::to_string(value.to_int());
  }
}

std::string c_operator(Op op, DType type) {
  if (type == DType::Bool) {
    switch (op) {
      case Op::Add:
      case Op::Max:
      case Op::Or: return "|";
      case Op::Mul:
      case Op::Min:
      case Op::And: return "&";
      case Op::Xor:
      case Op::Ne: return "!=";
      case Op::Eq: return "==";
      case Op::Lt: return "<";  // of 0 and 1
      case Op::Le: return "<=";
      default: return "";
    }
  }
  switch (op) {
    case Op::Eq: return "==";
    case Op::Ne: return "!=";
    case Op::Lt: return "<";
    case Op::Le: return "<=";
    case Op::Div: return "/";
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
      // What is narrower than int is promoted to it.
      if (is_float(type) || type == DType::U32 || type == DType::U64)
        return op == Op::Add ? "+" : op == Op::Sub ? "-" : "*";
      return "";
    case Op::And:
    case Op::Or:
    case Op::Xor:
      if (size_of(type) >= 4) return op == Op::And ? "&" : op == Op::Or ? "|" : "^";
      return "";
    default: return "";
  }
}

std::string c_function(Op op, DType type) {
  if (!is_float(type)) return "";
  const char* name = nullptr;
  switch (op) {
    case Op::Abs: name = "fabs"; break;
    case Op::Floor: name = "floor"; break;
    case Op::Ceil: name = "ceil"; break;
    case Op::Trunc: name = "trunc"; break;
    case Op::Round: name = "rint"; break;
    case Op::Sqrt: name = "sqrt"; break;
    case Op::Fma: name = "fma"; break;
    case Op::CopySign: name = "copysign"; break;
    default: return "";
  }
  return std::string(name) + (type == DType::F32 ? "f" : "");
}

std::string Prelude::define(const std::string& name, const std::string& definition) {
  if (defined_.emplace(name, true).second) text_ += definition;
  return name;
}

std::string Prelude::op(Op op, DType type) {
  PTO_CHECK(!is_half(type) && !is_math(op), kWhere,
            std::string(info(op).text) + " of " + std::string(pto::name(type)) +
                " should have been rewritten by a loop pass");
  const std::string name = "pto_" + short_name(op) + "_" + std::string(pto::name(type));
  const char* body = type == DType::Bool ? nullptr
                     : is_float(type)    ? float_body(op)
                                         : int_body(op, is_signed(type));
  PTO_CHECK(body, kWhere, "no text for " + name);
  const std::string t(memory_type(type));
  const std::string wide = size_of(type) == 8 ? "uint64_t" : "uint32_t";
  return define(name, filled("static inline $T " + name + body + "\n\n",
                             {{"$T", t},
                              {"$U", is_float(type) ? "" : unsigned_type(type)},
                              {"$W", wide},
                              {"$B", std::to_string(size_of(type) * 8)},
                              {"$F", type == DType::F32 ? "f" : ""}}));
}

std::string Prelude::to_odd() { return define("pto_to_odd", kToOdd); }

std::string Prelude::bitcast(DType from, DType to) {
  const std::string name = "pto_bits_" + std::string(pto::name(from)) + "_as_" + std::string(pto::name(to));
  return define(name, filled("static inline $T " + name +
                                 "($S x) {\n  $T y;\n  memcpy(&y, &x, sizeof y);\n  return y;\n}\n\n",
                             {{"$T", std::string(memory_type(to))}, {"$S", std::string(memory_type(from))}}));
}

// Empty: C's own cast.
std::string Prelude::cast(DType from, DType to) {
  const std::string name = "pto_" + std::string(pto::name(from)) + "_to_" + std::string(pto::name(to));
  if (from == DType::F32 && to == DType::F16) return define(name, kF32ToF16);
  if (from == DType::F16 && to == DType::F32) return define(name, kF16ToF32);
  if (from == DType::F32 && to == DType::BF16) return define(name, kF32ToBF16);
  if (from == DType::BF16 && to == DType::F32) return define(name, kBF16ToF32);
  const std::string t(c_type(to)), s(c_type(from));
  const std::string head = "static inline " + t + " " + name + "(" + s + " x) { return ";
  if (is_half(from)) {
    const std::string inner = cast(from, DType::F32), outer = cast(DType::F32, to);
    const std::string wide = inner + "(x)";
    return define(name, head +
                            (to == DType::Bool ? wide + " != 0"
                             : outer.empty()   ? "(" + t + ")" + wide
                                               : outer + "(" + wide + ")") +
                            "; }\n\n");
  }
  if (is_half(to)) {
    const std::string outer = cast(DType::F32, to);
    const bool exact = size_of(from) <= 2;  // in a float
    if (!exact) to_odd();
    return define(name, head + outer + (exact ? "((float)x)" : "(pto_to_odd((double)x))") + "; }\n\n");
  }
  if (!is_float(from) || is_float(to) || to == DType::Bool) return "";
  const int power = size_of(to) * 8 - (is_signed(to) ? 1 : 0);
  const std::string max = (is_signed(to) ? "INT" : "UINT") + std::to_string(size_of(to) * 8) + "_MAX";
  const std::string min = is_signed(to) ? "INT" + std::to_string(size_of(to) * 8) + "_MIN" : "0";
  const std::string suffix = from == DType::F32 ? "f" : "", p = "0x1p" + std::to_string(power) + suffix;
  const std::string low = is_signed(to) ? "-" + p : "0";
  return define(name, "static inline " + t + " " + name + "(" + s +
                          " x) {\n  if (x != x) return 0;\n  if (x >= " + p + ") return " + max +
                          ";\n  return x <= " + low + " ? " + min + " : (" + t + ")x;\n}\n\n");
}

std::string Prelude::hreduce(Op op, DType type) {
  const std::string name = "pto_lanes_" + short_name(op) + "_" + std::string(pto::name(type));
  const DType computed = is_half(type) ? DType::F32 : type;
  std::string low = "v[i]", high = "v[half + i]";
  if (is_half(type)) {
    const std::string wide = cast(type, DType::F32);
    low = wide + "(" + low + ")";
    high = wide + "(" + high + ")";
  }
  const std::string infix = c_operator(op, computed);
  std::string combined =
      infix.empty() ? this->op(op, computed) + "(" + low + ", " + high + ")" : low + " " + infix + " " + high;
  if (is_half(type)) combined = cast(DType::F32, type) + "(" + combined + ")";
  return define(name, filled("/* Halves of the lanes are combined until one is left. */\n"
                             "static inline $T " +
                                 name +
                                 "($T *v, int n) {\n"
                                 "  while (n > 1) {\n"
                                 "    int half = n / 2, odd = n % 2;\n"
                                 "    for (int i = 0; i < half; i++) v[i] = $C;\n"
                                 "    if (odd) v[half] = v[n - 1];\n"
                                 "    n = half + odd;\n"
                                 "  }\n"
                                 "  return v[0];\n"
                                 "}\n\n",
                             {{"$T", std::string(c_type(type))}, {"$C", combined}}));
}

std::string Prelude::check() {
  return define("pto_failed",
                "static void pto_failed(pto_worker *worker, int32_t number) {\n"
                "  int32_t none = 0;\n"
                "  __atomic_compare_exchange_n(worker->error, &none, number + 1, 0, __ATOMIC_RELAXED, "
                "__ATOMIC_RELAXED);\n"
                "}\n\n");
}

}  // namespace pto::c_family
