#pragma once
// The graphs and traces that Python holds.
#include <memory>
#include <string>
#include <vector>

#include "python/bindings.h"

namespace pto::python {

struct GraphHandle {
  GraphPtr graph;
};

// A graph in the making: while it is entered, operators belong to it.
struct TraceHandle {
  uint64_t id = 0;
  SizeContext sizes{};
  std::vector<NodePtr> inputs{};
  Values effects{};               // of impure nodes: computed whether they are used or not
  uint64_t outer = 0;
  TraceHandle* around = nullptr;
  std::unique_ptr<WithSizeContext> scope{};
};

struct NameScope {
  explicit NameScope(std::string name, bool whole) : name(std::move(name)), whole(whole) {}
  std::string name;
  bool whole;
  std::unique_ptr<WithName> scope;
};

}  // namespace pto::python
