#pragma once
// Calls into functions outside the compiler (pto.foreign in Python).
#include <functional>

#include "ops/row.h"

namespace pto {

// foreign: (operand...) -> results of the declared types, by the function registered as `function`.
struct ForeignAttrs : AttrsOf<ForeignAttrs> {
  std::string name = "foreign";      // in messages and tools
  int64_t function = 0;              // from register_foreign; 0 is none
  bool pure = true;                  // equal calls may be merged, unused ones dropped
  // Types of the results: the dtypes' names, the ranks, and all sizes in a row.
  std::vector<std::string> dtypes;
  std::vector<int64_t> ranks;
  Exprs sizes;
  // No part of the text:
  std::shared_ptr<const void> registration;  // keeps `function` registered
  std::function<Values(const Batch&)> batch;   // its batching rule, if it has one
  void visit(AttrVisitor& v) override {
    v.field("name", name);
    v.field("function", function);
    v.field("pure", pure);
    v.field("dtypes", dtypes);
    v.field("ranks", ranks);
    v.field("sizes", sizes);
  }
  void add_result(const TensorType& type);
  std::vector<TensorType> result_types() const;   // InternalError if the lists do not fit together
};

// May be called from any thread, one call at a time. Throws what the user is to see.
using ForeignFunction = std::function<std::vector<BufferPtr>(const std::vector<BufferPtr>&)>;
int64_t register_foreign(ForeignFunction function);
void release_foreign(int64_t function);
// Calls the function, and checks that its results are of the declared types.
std::vector<BufferPtr> call_foreign(const ForeignAttrs& attrs, const std::vector<BufferPtr>& inputs,
                                    const Sizes& sizes, Loc loc);
// x, which is there only once the others have been computed.
Value after(const Value& x, const Values& others);

}  // namespace pto
