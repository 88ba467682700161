#include "base/loc.h"

#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>

namespace pto {
namespace {

using Key = std::tuple<std::string, int, int, int, std::string>;

struct Table {
  std::shared_mutex mutex;
  std::deque<LocInfo> infos{LocInfo{}};
  std::map<Key, uint32_t> ids;
};

Table& table() {
  static auto* instance = new Table;
  return *instance;
}

}  // namespace

Loc::Loc(const LocInfo& info) {
  auto& t = table();
  std::unique_lock lock(t.mutex);
  auto [it, fresh] =
      t.ids.try_emplace(Key{info.file, info.line, info.column, info.end_column, info.path}, t.infos.size());
  if (fresh) t.infos.push_back(info);
  id_ = it->second;
}

const LocInfo& Loc::info() const {
  auto& t = table();
  std::shared_lock lock(t.mutex);
  return t.infos[id_];
}

std::string Loc::str() const {
  const auto& i = info();
  std::string text = i.file.empty() ? "" : i.file + ":" + std::to_string(i.line);
  if (!i.path.empty()) text += (text.empty() ? "(" : " (") + i.path + ")";
  return text;
}

}  // namespace pto
