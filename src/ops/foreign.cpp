#include "ops/foreign.h"

#include <map>
#include <mutex>

#include "base/extents.h"
#include "ops/batching.h"
#include "ops/families.h"

namespace pto {
namespace {

std::mutex g_mutex;
std::map<int64_t, ForeignFunction>& functions() {
  // Never destroyed: what the functions hold (Python objects) may not outlive its own runtime.
  static auto& all = *new std::map<int64_t, ForeignFunction>;
  return all;
}

std::vector<TensorType> infer_foreign(const InferArgs& in) {
  return static_cast<const ForeignAttrs&>(in.attrs).result_types();
}

std::vector<BufferPtr> interpret_foreign(const Node& node, const std::vector<BufferPtr>& inputs,
                                         const Sizes& sizes) {
  return call_foreign(attrs_of<ForeignAttrs>(node), inputs, sizes, node.loc());
}

}  // namespace

void ForeignAttrs::add_result(const TensorType& type) {
  dtypes.emplace_back(pto::name(type.dtype));
  ranks.push_back(type.rank());
  sizes.insert(sizes.end(), type.shape.begin(), type.shape.end());
}

std::vector<TensorType> ForeignAttrs::result_types() const {
  std::vector<TensorType> types;
  size_t next = 0;
  for (size_t i = 0; i < dtypes.size(); i++) {
    const auto dtype = dtype_from_name(dtypes[i]);
    const int64_t left = static_cast<int64_t>(sizes.size() - next);
    PTO_CHECK(dtype && i < ranks.size() && ranks[i] >= 0 && ranks[i] <= left, "foreign",
              "malformed result types");
    const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(next);
    types.push_back({*dtype, {first, first + ranks[i]}});
    next += static_cast<size_t>(ranks[i]);
  }
  return types;
}

int64_t register_foreign(ForeignFunction function) {
  const std::lock_guard lock(g_mutex);
  static int64_t last = 0;
  functions().emplace(++last, std::move(function));
  return last;
}

void release_foreign(int64_t function) {
  ForeignFunction doomed;   // destroyed after the lock is given back: it may hold anything
  const std::lock_guard lock(g_mutex);
  const auto it = functions().find(function);
  if (it == functions().end()) return;
  doomed = std::move(it->second);
  functions().erase(it);
}

std::vector<BufferPtr> call_foreign(const ForeignAttrs& attrs, const std::vector<BufferPtr>& inputs,
                                    const Sizes& sizes, Loc loc) {
  ForeignFunction function;
  {
    const std::lock_guard lock(g_mutex);
    const auto it = functions().find(attrs.function);
    if (it != functions().end()) function = it->second;
  }
  if (!function)
    throw Error(attrs.name, "the function of this foreign call is not present in this process", loc);
  auto results = function(inputs);
  const auto types = attrs.result_types();
  auto fail = [&](const std::string& message, const std::string& expected, const std::string& got) {
    throw Error({.op = attrs.name, .message = message, .expected = expected, .got = got, .loc = loc});
  };
  if (results.size() != types.size())
    fail("the foreign function gave another number of results", std::to_string(types.size()),
         std::to_string(results.size()));
  for (size_t i = 0; i < types.size(); i++) {
    const auto shape = eval_shape(types[i].shape, sizes);
    if (!results[i] || results[i]->dtype != types[i].dtype || results[i]->shape != shape)
      fail("result " + std::to_string(i) + " of the foreign function is not as declared",
           type_text(types[i].dtype, shape),
           results[i] ? type_text(results[i]->dtype, results[i]->shape) : "nothing");
    results[i] = packed(results[i]);
  }
  return results;
}

Value after(const Value& x, const Values& others) {
  static const int64_t first =
      register_foreign([](const std::vector<BufferPtr>& inputs) { return std::vector{inputs[0]}; });
  auto attrs = std::make_shared<ForeignAttrs>();
  attrs->name = "after";
  attrs->function = first;
  attrs->add_result(x.type());
  attrs->batch = [](const Batch& b) {
    const Value first = b.batched[0] ? b.x[0] : with_batch(b.x[0], b.size);
    return Values{after(first, {b.x.begin() + 1, b.x.end()})};
  };
  Values operands{x};
  operands.insert(operands.end(), others.begin(), others.end());
  return {make_node(row("foreign"), std::move(operands), std::move(attrs), x.node->loc()), 0};
}

const std::vector<OpRow>& foreign_rows() {
  static const std::vector<OpRow> rows = {
      {.name = "foreign",
       .family = Family::Foreign,
       .min_inputs = 0,
       .max_inputs = -1,
       .doc = "A function outside the compiler, with declared result types.",
       .make_attrs = new_attrs<ForeignAttrs>,
       .infer = infer_foreign,
       .interpret = interpret_foreign,
       .batch = batch_foreign},
  };
  return rows;
}

}  // namespace pto
