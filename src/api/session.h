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

// While a training step is recorded (in this thread), what is pending is computed in one program, and what a
// gradient will read of it is kept.
bool step_is_recorded();
void record_step(bool recorded);

// --- the tape -------------------------------------------------------------------------------------
// Where a gradient with respect to `value` begins: the same elements, of a node on the tape through which none
// passes to what made it.
Value make_variable(const Value& value, Loc loc = {});
// The same elements, on no tape.
Value detached(const Value& value);
// What leads to the values from where the tape begins is released, and its memory freed; a gradient through it
// is an error from now on. The beginnings stay.
void release_tape(const Values& values);

}  // namespace pto
