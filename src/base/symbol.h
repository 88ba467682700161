#pragma once
// Interned names. Two symbols are the same name exactly if they compare equal.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pto {

class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(std::string_view name);
  static Symbol from_id(uint32_t id) {
    Symbol s;
    s.id_ = id;
    return s;
  }
  const std::string& str() const;
  uint32_t id() const { return id_; }
  bool empty() const { return id_ == 0; }
  bool operator==(const Symbol&) const = default;
  auto operator<=>(const Symbol&) const = default;

 private:
  uint32_t id_ = 0;  // 0 is the empty name
};

}  // namespace pto

template <>
struct std::hash<pto::Symbol> {
  size_t operator()(pto::Symbol s) const noexcept { return s.id() * 0x9E3779B97F4A7C15ull; }
};
