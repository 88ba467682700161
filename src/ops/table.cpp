// All rows, collected from their families.
#include <unordered_map>

#include "ops/families.h"

namespace pto {
namespace {

struct Table {
  std::vector<const OpRow*> all;
  std::unordered_map<std::string_view, const OpRow*> by_name;

  Table() {
    for (const auto* family : {&leaf_rows(), &elementwise_rows(), &movement_rows(), &reduction_rows(),
                               &contraction_rows(), &scan_rows(), &gather_rows(), &scatter_rows(),
                               &sort_rows(), &random_rows(), &control_rows(), &foreign_rows()})
      for (const auto& row : *family) {
        all.push_back(&row);
        PTO_CHECK(by_name.emplace(row.name, &row).second, "ops/table", "two rows named " + row.name);
      }
  }
};

const Table& table() {
  static const auto& t = *new Table;   // never destroyed: nodes in static variables point at rows
  return t;
}

}  // namespace

std::string_view name(Family family) {
  switch (family) {
    case Family::Leaf: return "leaf";
    case Family::Elementwise: return "elementwise";
    case Family::Movement: return "movement";
    case Family::Reduction: return "reduction";
    case Family::Scan: return "scan";
    case Family::Contraction: return "contraction";
    case Family::Gather: return "gather";
    case Family::Scatter: return "scatter";
    case Family::Sort: return "sort";
    case Family::Random: return "random";
    case Family::Control: return "control";
    case Family::Foreign: return "foreign";
  }
  return "";
}

const std::vector<const OpRow*>& all_rows() { return table().all; }

const OpRow* find_row(std::string_view name) {
  const auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}

const OpRow& row(std::string_view name) {
  const OpRow* found = find_row(name);
  PTO_CHECK(found, "ops/table", "no row " + std::string(name));
  return *found;
}

}  // namespace pto
