#pragma once
// The functions of each family (functions_*.cpp), in the order in which functions.cpp collects them.
#include <vector>

#include "ops/functions.h"

namespace pto {

const std::vector<Function>& creation_functions();
const std::vector<Function>& elementwise_functions();
const std::vector<Function>& reduction_functions();
const std::vector<Function>& scan_functions();
const std::vector<Function>& linear_functions();
const std::vector<Function>& movement_functions();
const std::vector<Function>& indexing_functions();
const std::vector<Function>& normalisation_functions();
const std::vector<Function>& random_functions();

}  // namespace pto
