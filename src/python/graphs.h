#pragma once
// The graphs and traces that Python holds.
#include <memory>
#include <string>
#include <vector>

#include "python/bindings.h"
#include "python/tape.h"

namespace pto::python {

struct GraphHandle {
  GraphPtr graph;
};

// The gradient of a tensor from outside, where a trace meets it: the Tensor or None that it was, and that as the
// trace knows it.
struct MetGradient {
  std::shared_ptr<GradientSlot> slot;
  nb::object before;
  Value inside{};
};

// A graph in the making: while it is entered, operators belong to it.
struct TraceHandle {
  uint64_t id = 0;
  SizeContext sizes{};
  std::vector<NodePtr> inputs{};
  Values effects{};  // of impure nodes: computed whether they are used or not
  std::vector<MetGradient> gradients{};
  uint64_t outer = 0;
  TraceHandle* around = nullptr;
  std::unique_ptr<WithSizeContext> scope{};
};

// The innermost trace of this thread, or null.
TraceHandle* entered_trace();

struct NameScope {
  explicit NameScope(std::string name, bool whole) : name(std::move(name)), whole(whole) {}
  std::string name;
  bool whole;
  std::unique_ptr<WithName> scope;
};

}  // namespace pto::python
