#include "tile/opaque.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "expr/eval.h"
#include "tile/point_eval.h"

namespace pto {
namespace {

PointArray array_of(const BufferPtr& buffer) {
  return {buffer->dtype, buffer->shape, static_cast<char*>(buffer->data), buffer};
}

template <class T>
std::shared_ptr<Attrs> make_attrs() {
  return std::make_shared<T>();
}

void check_params(const Kernel& k, std::string_view where, size_t inputs, size_t least, size_t most,
                  int64_t axis) {
  size_t in = 0;
  for (const auto& p : k.params) in += !p.output;
  const size_t out = k.params.size() - in;
  PTO_CHECK(in == inputs && out >= least && out <= most, std::string(where),
            k.opaque + " of " + std::to_string(in) + " inputs and " + std::to_string(out) + " outputs");
  PTO_CHECK(axis >= 0 && axis < static_cast<int64_t>(k.params[0].shape.size()), std::string(where),
            k.opaque + " along axis " + std::to_string(axis) + " of rank " +
                std::to_string(k.params[0].shape.size()));
  PTO_CHECK(k.values.empty() && k.stores.empty() && k.checks.empty(), std::string(where),
            "an opaque kernel with values or stores");
}

// --- sort, topk -----------------------------------------------------------------------------------

// Writes the order of each line of `x` along `axis` to the outputs, as far as they reach.
void sort_lines(const PointArray& x, int64_t axis, bool descending, PointArray* values, PointArray* indices) {
  std::vector<int64_t> others = x.shape;
  const int64_t n = others[axis];
  const int64_t kept = (values ? values : indices)->shape[axis];
  others[axis] = 1;
  std::vector<int64_t> order(n);
  std::vector<Scalar> line(n);
  for_each_point(others, [&](std::vector<int64_t> at) {
    for (int64_t i = 0; i < n; i++) {
      at[axis] = i;
      line[i] = x.read(x.offset(at));
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return sorts_before(line[a], line[b], descending); });
    for (int64_t i = 0; i < kept; i++) {
      at[axis] = i;
      if (values) values->write(values->offset(at), line[order[i]]);
      if (indices) indices->write(indices->offset(at), Scalar::from_int(DType::I64, order[i]));
    }
  });
}

void verify_sort(const Kernel& k, std::string_view where) {
  const auto& attrs = opaque_attrs<SortAttrs>(k);
  check_params(k, where, 1, 1, attrs.by_index ? 1 : 2, attrs.axis);
  for (const auto& p : k.params)
    PTO_CHECK(p.shape == k.params[0].shape, std::string(where), "sort to another shape");
  for (size_t i = 1; i < k.params.size(); i++)
    PTO_CHECK(k.params[i].dtype == (i == 1 && !attrs.by_index ? k.params[0].dtype : DType::I64),
              std::string(where), "sort to another type");
}

void interpret_sort(const Kernel& k, const std::vector<BufferPtr>& buffers, const Sizes&, std::string*) {
  const auto& attrs = opaque_attrs<SortAttrs>(k);
  PointArray first = array_of(buffers[1]), second;
  if (buffers.size() > 2) second = array_of(buffers[2]);
  sort_lines(array_of(buffers[0]), attrs.axis, attrs.descending, attrs.by_index ? nullptr : &first,
             attrs.by_index ? &first
             : second.data  ? &second
                            : nullptr);
}

void verify_topk(const Kernel& k, std::string_view where) {
  const auto& attrs = opaque_attrs<TopKAttrs>(k);
  check_params(k, where, 1, 2, 2, attrs.axis);
  Shape kept = k.params[0].shape;
  kept[attrs.axis] = attrs.k;
  PTO_CHECK(k.params[1].dtype == k.params[0].dtype && k.params[2].dtype == DType::I64 &&
                k.params[1].shape == kept && k.params[2].shape == kept,
            std::string(where), "topk to other types or shapes");
}

void interpret_topk(const Kernel& k, const std::vector<BufferPtr>& buffers, const Sizes&, std::string*) {
  const auto& attrs = opaque_attrs<TopKAttrs>(k);
  PointArray values = array_of(buffers[1]), indices = array_of(buffers[2]);
  sort_lines(array_of(buffers[0]), attrs.axis, attrs.largest, &values, &indices);
}

// --- scatter --------------------------------------------------------------------------------------

void verify_scatter(const Kernel& k, std::string_view where) {
  const auto& attrs = opaque_attrs<ScatterAttrs>(k);
  check_params(k, where, 3, 1, 1, attrs.axis);
  const Param &x = k.params[0], &index = k.params[1], &updates = k.params[2], &y = k.params[3];
  Op op;
  PTO_CHECK(attrs.combine == "set" || scatter_op(attrs.combine, op), std::string(where),
            "scatter's combine \"" + attrs.combine + "\"");
  PTO_CHECK(is_int(index.dtype) && updates.dtype == x.dtype && y.dtype == x.dtype && y.shape == x.shape,
            std::string(where), "scatter's types or shapes");
  PTO_CHECK(index.shape.size() == 1 || index.shape.size() == x.shape.size(), std::string(where),
            "scatter with an index of rank " + std::to_string(index.shape.size()));
  PTO_CHECK(updates.shape.size() == x.shape.size(), std::string(where), "scatter's updates");
}

void interpret_scatter(const Kernel& k, const std::vector<BufferPtr>& buffers, const Sizes&,
                       std::string* error) {
  const auto& attrs = opaque_attrs<ScatterAttrs>(k);
  const PointArray x = array_of(buffers[0]), index = array_of(buffers[1]), updates = array_of(buffers[2]);
  PointArray y = array_of(buffers[3]);
  for (int64_t i = 0; i < x.elements(); i++) y.write(i, x.read(i));
  Op op;
  const bool set = !scatter_op(attrs.combine, op);
  for_each_point(updates.shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> to = at;
    const int64_t i = index.shape.size() == 1 ? index.offset({at[attrs.axis]}) : index.offset(at);
    to[attrs.axis] = index.read(i).to_int();
    if (to[attrs.axis] < 0 || to[attrs.axis] >= y.shape[attrs.axis]) {
      if (error && error->empty()) *error = scatter_message(attrs, k.params[0].shape[attrs.axis]);
      return;
    }
    const int64_t offset = y.offset(to);
    const Scalar update = updates.read(updates.offset(at));
    const Scalar operands[] = {y.read(offset), update};
    y.write(offset, set ? update : eval_op(op, operands));
  });
}

const OpaqueTemplate kTemplates[] = {
    {"sort", make_attrs<SortAttrs>, verify_sort, interpret_sort},
    {"topk", make_attrs<TopKAttrs>, verify_topk, interpret_topk},
    {"scatter", make_attrs<ScatterAttrs>, verify_scatter, interpret_scatter},
};

}  // namespace

const OpaqueTemplate* find_opaque(std::string_view name) {
  for (const auto& t : kTemplates)
    if (t.name == name) return &t;
  return nullptr;
}

const OpaqueTemplate& opaque_template(const Kernel& kernel) {
  const OpaqueTemplate* t = find_opaque(kernel.opaque);
  PTO_CHECK(t, "tile", "unknown template " + kernel.opaque);
  return *t;
}

}  // namespace pto
