#pragma once
// Sums of products of any number of tensors whose axes have labels: what einsum, matmul and the
// functions of linear algebra are made of.
#include <string>
#include <string_view>
#include <vector>

#include "ops/builder.h"

namespace pto {

struct Labelled {
  Value value;
  std::vector<std::string> labels;   // one for each axis; twice the same is a diagonal
};

// The sum over all labels that are not in `out` of the product of the operands. An axis of size 1
// (the constant) fits any size. Operands are promoted to one type; halves are summed in float32,
// and only the result is rounded. `fn` is the function's name in messages.
Value sum_of_products(std::string_view fn, std::vector<Labelled> operands,
                      const std::vector<std::string>& out);

}  // namespace pto
