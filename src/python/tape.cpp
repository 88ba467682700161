// Recording of gradients, as Python switches it, and tensors at which tapes begin.
#include "python/tape.h"

#include <nanobind/stl/string.h>

#include <mutex>
#include <unordered_map>

#include "api/session.h"
#include "autodiff/vjp.h"
#include "ops/gradient_mode.h"
#include "python/graphs.h"
#include "python/recording.h"

namespace pto::python {
namespace {

// Kept for the process: at exit, tensors go later than statics.
struct Slots {
  std::mutex mutex;
  std::unordered_map<const Node*, std::weak_ptr<GradientSlot>> by_node;
};
Slots& slots() {
  static auto& all = *new Slots;
  return all;
}

bool requires_gradient(const TensorHandle& t) { return t.value.node->taped() && is_float(t.value.dtype()); }

void require_gradient(TensorHandle& t, bool wanted) {
  if (wanted == requires_gradient(t)) return;
  if (t.trace != current_trace())
    throw Error({.op = "requires_grad",
                 .message = "in a compiled function this cannot be set for a tensor from outside",
                 .got = t.value.type().str(),
                 .loc = caller_loc()});
  if (!wanted) {
    if (!t.slot)
      throw Error({.op = "requires_grad",
                   .message =
                       "the tensor was computed from others that require a gradient; detach() gives one "
                       "that does not",
                   .got = t.value.type().str(),
                   .loc = caller_loc()});
    t.slot.reset();
    t.value = detached(t.value);
    return;
  }
  if (!is_float(t.value.dtype()))
    throw Error({.op = "requires_grad",
                 .message = "only floating tensors have gradients",
                 .expected = "a floating type",
                 .got = t.value.type().str(),
                 .loc = caller_loc()});
  const AtCaller at;
  t.value = make_variable(t.value, current_loc());
  t.slot = std::make_shared<GradientSlot>();
  t.slot->trace = current_trace();
  begin_tape(t.slot, t.value);
}

nb::object gradient(const TensorHandle& t) { return t.slot ? gradient_in(t.slot) : nb::object(nb::none()); }

void set_gradient(TensorHandle& t, nb::handle g) {
  auto refuse = [&](const std::string& message, const std::string& got) {
    throw Error({.op = "grad",
                 .message = message,
                 .expected = t.value.type().str(),
                 .got = got,
                 .loc = caller_loc()});
  };
  if (!g.is_none() && !is_tensor(g))
    refuse("a gradient is a tensor or None", nb::cast<std::string>(nb::str(g.type())));
  if (!g.is_none() && !(tensor_handle(g).value.type() == t.value.type()))
    refuse("the gradient has another type than the tensor", tensor_handle(g).value.type().str());
  if (!t.slot) {
    if (g.is_none()) return;
    refuse("the tensor has no gradient: it is no leaf that requires one",
           tensor_handle(g).value.type().str());
  }
  set_gradient_in(t.slot, nb::borrow(g));
}

// Adds to the slots of what the tensor was computed from.
void backward(nb::handle tensor, nb::handle gradient, bool retain) {
  const Value y = value_of(tensor);
  auto refuse = [&](const std::string& message, const std::string& expected = "") {
    throw Error({.op = "backward",
                 .message = message,
                 .expected = expected,
                 .got = y.type().str(),
                 .loc = caller_loc()});
  };
  const AtCaller at;
  const Values loss{y};
  const char* twice =
      "the tape was released by an earlier backward(); retain_graph=True keeps it for a further one";
  if (!is_float(y.dtype())) refuse("only floating tensors have gradients", "a floating type");
  if (y.node->released()) refuse(twice);
  Value seed;
  if (gradient.is_none()) {
    for (const auto& size : y.shape())
      if (!size.is_const() || size.as_int() != 1)
        refuse(
            "the tensor has not exactly one element; give the gradient of its elements, or reduce it first");
    seed = full(y.shape(), Scalar::from_double(y.dtype(), 1));
  } else {
    seed = value_of(gradient);
    if (!(seed.type() == y.type()))
      throw Error({.op = "backward",
                   .message = "the gradient that is given has another type than the tensor",
                   .expected = y.type().str(),
                   .got = seed.type().str(),
                   .loc = caller_loc()});
  }
  Values beginnings;
  std::vector<std::shared_ptr<GradientSlot>> found;
  for (const auto& node : topological(loss, [](const Node& n) { return !n.taped(); })) {
    if (!node->taped()) {
      if (node->released()) refuse(twice);
      continue;
    }
    const auto slot = slot_of(node);
    if (!slot) continue;
    found.push_back(slot);
    beginnings.push_back({node, 0});
  }
  if (found.empty()) refuse("the tensor depends on nothing that requires a gradient");
  const WithoutTape plain;
  const Values gradients = vjp(loss, {seed}, beginnings, [](const Node& n) { return !n.taped(); });
  std::vector<nb::object> sums;
  for (const auto& slot : found) sums.push_back(gradient_in(slot));
  if (!retain) release_tape(loss);
  for (size_t i = 0; i < found.size(); i++) {
    if (!gradients[i]) continue;
    if (sums[i].is_none())
      set_gradient_in(found[i], wrap(gradients[i]));
    else
      tensor_handle(sums[i]).value = add(value_of(sums[i]), gradients[i]);
  }
}

}  // namespace

void rebind(TensorHandle& t, Value value, uint64_t trace) {
  if (!t.slot) {
    t.value = std::move(value);
    t.trace = trace;
    if (!trace) note_pending(t);
    return;
  }
  const TensorType before = t.value.type();
  if (!is_float(value.dtype()))
    throw Error({.op = "in-place",
                 .message = "the tensor requires a gradient, which only floating tensors have",
                 .expected = before.str(),
                 .got = value.type().str(),
                 .loc = caller_loc()});
  t.value = make_variable(value, value.node->loc());
  t.trace = trace;
  if (!trace) note_pending(t);
  begin_tape(t.slot, t.value);
  if (!(t.value.type() == before)) t.slot->gradient = nb::none();
}

namespace {

// Notes that the current trace meets a gradient from outside.
void meet(const std::shared_ptr<GradientSlot>& slot) {
  TraceHandle* trace = entered_trace();
  if (!trace || slot->trace == trace->id) return;
  for (const auto& met : trace->gradients)
    if (met.slot == slot) return;
  if (trace->outer != 0)
    throw Error({.op = "grad",
                 .message =
                     "inside a branch or a loop body the gradients of tensors from outside are neither read "
                     "nor set; pypto.grad gives gradients there",
                 .loc = caller_loc()});
  MetGradient met{slot, slot->gradient};
  if (!met.before.is_none()) {
    met.inside = value_of(met.before);
    slot->gradient = wrap(met.inside);
  }
  trace->gradients.push_back(std::move(met));
}

}  // namespace

nb::object gradient_in(const std::shared_ptr<GradientSlot>& slot) {
  meet(slot);
  return slot->gradient;
}

void set_gradient_in(const std::shared_ptr<GradientSlot>& slot, nb::object gradient) {
  meet(slot);
  slot->gradient = std::move(gradient);
}

GradientSlot::~GradientSlot() {
  const std::lock_guard lock(slots().mutex);
  for (const auto& [address, node] : beginnings) {
    const auto it = slots().by_node.find(address);
    if (it != slots().by_node.end() && it->second.expired()) slots().by_node.erase(it);
  }
}

void begin_tape(const std::shared_ptr<GradientSlot>& slot, const Value& value) {
  const std::lock_guard lock(slots().mutex);
  auto& by_node = slots().by_node;
  std::erase_if(slot->beginnings, [&](const auto& beginning) {
    if (!beginning.second.expired()) return false;
    // Another slot's node may have the address by now.
    const auto it = by_node.find(beginning.first);
    if (it != by_node.end() && it->second.lock() == slot) by_node.erase(it);
    return true;
  });
  slot->beginnings.emplace_back(value.node.get(), value.node);
  by_node[value.node.get()] = slot;
}

std::shared_ptr<GradientSlot> slot_of(const NodePtr& node) {
  const std::lock_guard lock(slots().mutex);
  const auto it = slots().by_node.find(node.get());
  const auto slot = it == slots().by_node.end() ? nullptr : it->second.lock();
  if (slot)
    for (const auto& [address, beginning] : slot->beginnings)
      if (address == node.get() && beginning.lock() == node) return slot;
  return nullptr;
}

void bind_tape(nb::module_& m) {
  m.def("gradients_enabled", &gradients_enabled);
  m.def("set_gradients_enabled", &set_gradients_enabled);
  m.def("requires_gradient", [](nb::handle t) { return requires_gradient(tensor_handle(t)); });
  m.def("require_gradient", [](nb::handle t, bool wanted) { require_gradient(tensor_handle(t), wanted); });
  m.def("rebind", [](nb::handle t, nb::handle other) {
    rebind(tensor_handle(t), tensor_handle(other).value, tensor_handle(other).trace);
  });
  m.def("gradient", [](nb::handle t) { return gradient(tensor_handle(t)); });
  m.def(
      "set_gradient", [](nb::handle t, nb::handle g) { set_gradient(tensor_handle(t), g); }, nb::arg("t"),
      nb::arg("g").none());
  m.def("is_leaf", [](nb::handle t) {
    return !requires_gradient(tensor_handle(t)) || tensor_handle(t).slot != nullptr;
  });
  m.def(
      "backward", [](nb::handle t, nb::handle gradient, bool retain) { backward(t, gradient, retain); },
      nb::arg("t"), nb::arg("gradient").none(), nb::arg("retain"));
  // A trace's tensor stands for one from outside: what is computed from it is recorded if it would be outside.
  m.def("continue_tape", [](nb::handle inside, nb::handle outside) {
    TensorHandle &t = tensor_handle(inside), &from = tensor_handle(outside);
    if (!requires_gradient(from)) return;
    t.value.node->tape();
    t.slot = from.slot;
    if (t.slot) begin_tape(t.slot, t.value);
  });
  m.def("detached", [](nb::handle t) { return wrap(detached(value_of(t))); });
}

}  // namespace pto::python
