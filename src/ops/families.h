#pragma once
// The rows of each family, in the order in which table.cpp collects them.
#include <memory>
#include <vector>

#include "ops/row.h"

namespace pto {

const std::vector<OpRow>& leaf_rows();          // leaf.cpp: input, constant, iota, ...
const std::vector<OpRow>& elementwise_rows();
const std::vector<OpRow>& movement_rows();
const std::vector<OpRow>& reduction_rows();
const std::vector<OpRow>& contraction_rows();
const std::vector<OpRow>& scan_rows();
const std::vector<OpRow>& gather_rows();
const std::vector<OpRow>& scatter_rows();
const std::vector<OpRow>& sort_rows();
const std::vector<OpRow>& random_rows();
const std::vector<OpRow>& control_rows();
const std::vector<OpRow>& foreign_rows();

// For OpRow::make_attrs.
template <class T>
std::shared_ptr<Attrs> new_attrs() {
  return std::make_shared<T>();
}

}  // namespace pto
