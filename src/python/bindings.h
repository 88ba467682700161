#pragma once
// The Python extension: a thin layer that converts between Python objects and the core's. The
// package python/pypto gives it its classes and hooks (set_classes).
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "exec/executable.h"
#include "ops/functions.h"
#include "ops/size_context.h"

namespace pto::python {
namespace nb = nanobind;

struct GradientSlot;   // python/tape.h
struct Recording;      // python/recording.h

// A handle to an immutable value; the Python class Tensor derives from it. `trace` is the trace
// that made the value, 0 outside of traces. `slot` is there if a tape begins at this handle.
struct TensorHandle {
  Value value;
  uint64_t trace = 0;
  std::shared_ptr<GradientSlot> slot{};
  std::shared_ptr<Recording> recording{};   // which it is listed in

  TensorHandle(Value value = {}, uint64_t trace = 0) : value(std::move(value)), trace(trace) {}
  ~TensorHandle();
  TensorHandle(const TensorHandle&) = delete;
  TensorHandle& operator=(const TensorHandle&) = delete;
};

// A symbolic number: a size (i64), or a run-time Python scalar (i64, f64).
struct SizeHandle {
  Expr expr;
};

// What the package registers.
struct Hooks {
  nb::object tensor_class;   // derives from TensorHandle
  nb::list dtypes;           // Python dtype objects, by DType
  nb::object dtype_class;
  nb::object as_dtype;       // anything that names a dtype -> dtype object
  nb::object as_tensor;      // NumPy arrays, DLPack exporters, nested lists -> Tensor
  nb::object lift;           // a Tensor of another trace -> the current trace's Tensor for it
  nb::object error_class;
  nb::object internal_error;   // (message, where, program at fault, its file) -> exception
  std::string package;       // the package's folder: its frames are not the user's
};
Hooks& hooks();

// --- values.cpp -----------------------------------------------------------------------------------
uint64_t current_trace();
void set_current_trace(uint64_t trace);
nb::object wrap(Value value);                       // a Tensor of the current trace
nb::object wrap_outside(Value value);               // a Tensor of no trace: it holds data
nb::object wrap_all(const Values& values, bool single);
bool is_tensor(nb::handle h);
TensorHandle& tensor_handle(nb::handle h);
int64_t integer_of(nb::handle h);  // a Python int; an error if it does not fit in 64 bits
Value value_of(nb::handle h);  // lifts what other traces made; converts arrays
nb::object dtype_object(DType type);
DType dtype_of(nb::handle h);
int64_t integer_of(nb::handle h);  // an int of 64 bits
nb::object size_object(const Expr& size);  // int if it is constant
Expr size_of_object(nb::handle h);  // int or Size, else TypeError
Shape shape_of_object(nb::handle h);  // a sequence of them, or one
nb::tuple shape_object(const Shape& shape);
bool to_scalar_expr(nb::handle h, Expr& out);  // int, float, bool, Size
bool to_operand(nb::handle h, Operand& out);  // false: not something an operator takes
Arg to_arg(nb::handle h, const Parameter* parameter);

// --- caller.cpp -----------------------------------------------------------------------------------
Loc caller_loc();  // the innermost frame outside the package
// Sets the location of the nodes that are built in this scope to the caller's.
class AtCaller {
 public:
  AtCaller() : loc_(caller_loc()) {}

 private:
  WithLoc loc_;
};

void bind_errors(nb::module_& m);
void bind_values(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_exchange(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_exec(nb::module_& m);
void bind_calls(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_tape(nb::module_& m);
void bind_recording(nb::module_& m);

}  // namespace pto::python
