#include "base/symbol.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace pto {
namespace {

struct Interner {
  std::shared_mutex mutex;
  std::deque<std::string> names{""};  // a deque never moves its elements
  std::unordered_map<std::string_view, uint32_t> ids{{names[0], 0}};
};

Interner& interner() {
  static auto* instance = new Interner;  // never destroyed: symbols outlive static destructors
  return *instance;
}

}  // namespace

Symbol::Symbol(std::string_view name) {
  auto& in = interner();
  {
    std::shared_lock lock(in.mutex);
    if (auto it = in.ids.find(name); it != in.ids.end()) {
      id_ = it->second;
      return;
    }
  }
  std::unique_lock lock(in.mutex);
  if (auto it = in.ids.find(name); it != in.ids.end()) {
    id_ = it->second;
    return;
  }
  id_ = static_cast<uint32_t>(in.names.size());
  in.names.emplace_back(name);
  in.ids.emplace(in.names.back(), id_);
}

const std::string& Symbol::str() const {
  auto& in = interner();
  std::shared_lock lock(in.mutex);
  return in.names[id_];
}

}  // namespace pto
