// Where the user's program stands: the innermost frame that is not the package's.
#include <string>
#include <unordered_map>

#include "python/bindings.h"

#include <nanobind/stl/string.h>

namespace pto::python {
namespace {

// Code objects are kept, so that their addresses stay theirs.
struct CodeFacts {
  nb::object code;
  bool own = false;                        // the package's
  std::string file, name;
  std::unordered_map<int, Loc> locs;       // by instruction and path
};

CodeFacts& facts_of(PyCodeObject* code) {
  static auto* all = new std::unordered_map<PyCodeObject*, CodeFacts>();
  auto [it, fresh] = all->try_emplace(code);
  if (fresh) {
    it->second.code = nb::borrow(reinterpret_cast<PyObject*>(code));
    it->second.file = nb::cast<std::string>(it->second.code.attr("co_filename"));
    it->second.name = nb::cast<std::string>(it->second.code.attr("co_qualname"));
    it->second.own = it->second.file.starts_with(hooks().package);
  }
  return it->second;
}

}  // namespace

Loc caller_loc() {
  const LocInfo current = current_loc().known() ? current_loc().info() : LocInfo{};
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    CodeFacts& facts = facts_of(code);
    Py_DECREF(code);
    if (facts.own) {
      PyFrameObject* back = PyFrame_GetBack(frame);
      Py_DECREF(frame);
      frame = back;
      continue;
    }
    const int at = PyFrame_GetLasti(frame);
    auto it = current.path.empty() ? facts.locs.find(at) : facts.locs.end();
    Loc loc;
    if (it != facts.locs.end()) {
      loc = it->second;
    } else {
      LocInfo info{.file = facts.file, .line = PyFrame_GetLineNumber(frame), .path = current.path};
      int line, column, end_line, end_column;
      if (PyCode_Addr2Location(reinterpret_cast<PyCodeObject*>(facts.code.ptr()), at, &line, &column,
                               &end_line, &end_column) &&
          line == end_line && column >= 0) {
        info.column = column + 1;
        info.end_column = end_column + 1;
      }
      loc = Loc(info);
      if (current.path.empty()) facts.locs.emplace(at, loc);
    }
    Py_DECREF(frame);
    return loc;
  }
  return current_loc();
}

}  // namespace pto::python
