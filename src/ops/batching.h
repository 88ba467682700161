#pragma once
// The batching rules of the rows (struct Batch of ops/row.h), and what they are written with.
#include "ops/row.h"

namespace pto {

// x with a new leading axis, along which it is repeated.
Value with_batch(const Value& x, const Size& size);
// x, which has the leading axis alone, with axes of size 1 behind it: it broadcasts over `rank` more axes.
Value over_axes(const Value& x, int rank);

Values batch_elementwise(const Batch&);
Values batch_reshape(const Batch&);
Values batch_permute(const Batch&);
Values batch_diagonal(const Batch&);
Values batch_broadcast(const Batch&);
Values batch_slice(const Batch&);
Values batch_pad(const Batch&);
Values batch_concat(const Batch&);
Values batch_reduce(const Batch&);
Values batch_contract(const Batch&);
Values batch_cumulative(const Batch&);
Values batch_gather(const Batch&);
Values batch_take_along_axis(const Batch&);
Values batch_scatter(const Batch&);
Values batch_sort(const Batch&);
Values batch_topk(const Batch&);
// Draws differ over the batch even where key and offset are the same for all of it.
Values batch_random_bits(const Batch&);
Values batch_foreign(const Batch&);

// The rules of rows that hold graphs walk these, and stand further down (autodiff/batch_control.cpp).
Values batch_cond(const Batch&);
Values batch_while_loop(const Batch&);
Values batch_scan_loop(const Batch&);

}  // namespace pto
