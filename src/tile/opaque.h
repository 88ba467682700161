#pragma once
// Kernels that the five kinds of value do not express: loop templates, known by name, over whole
// parameters. Their meaning stands in ops/opaque_attrs.h; the code that machines run is a template of
// the same name in src/loop (opaque_*.cpp).
#include <string>
#include <vector>

#include "ops/opaque_attrs.h"
#include "tile/kernel.h"

namespace pto {

struct OpaqueTemplate {
  std::string name;
  std::shared_ptr<Attrs> (*make_attrs)();
  // Throws InternalError naming `where` unless the parameters are as stated above.
  void (*verify)(const Kernel&, std::string_view where);
  void (*interpret)(const Kernel&, const std::vector<BufferPtr>&, const Sizes&, std::string* error);
};

const OpaqueTemplate* find_opaque(std::string_view name);   // nullptr if there is none
const OpaqueTemplate& opaque_template(const Kernel& kernel);

template <class T>
const T& opaque_attrs(const Kernel& kernel) {
  return static_cast<const T&>(*kernel.opaque_attrs);
}

}  // namespace pto
