#pragma once
// Lazy evaluation: values are recorded and computed when they are read, together with all that
// they need. Structures that were seen before cost no compilation.
#include <memory>

#include "exec/executable.h"

namespace pto {

// A leaf that holds data.
Value make_data(BufferPtr buffer, Loc loc = {});
// Computes all values that have no data yet, in one program where possible (large pending graphs
// are cut), and attaches the results to their nodes.
void materialise(const Values& values);
BufferPtr data_of(const Value& value);   // materialises if needed

}  // namespace pto
