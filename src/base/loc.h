#pragma once
// Where a node comes from: the user's file, line and columns, and the path of names
// ("Block.forward / softmax") that leads to it. Interned, so that a node carries one integer.
#include <cstdint>
#include <string>
#include <string_view>

namespace pto {

struct LocInfo {
  std::string file;
  int line = 0;           // from 1; 0 means unknown
  int column = 0, end_column = 0;
  std::string path;       // name path; may be empty
};

class Loc {
 public:
  Loc() = default;
  explicit Loc(const LocInfo& info);
  const LocInfo& info() const;
  bool known() const { return id_ != 0; }
  uint32_t id() const { return id_; }
  bool operator==(const Loc&) const = default;
  std::string str() const;  // "model.py:12 (Block.forward / softmax)"

 private:
  uint32_t id_ = 0;
};

}  // namespace pto
