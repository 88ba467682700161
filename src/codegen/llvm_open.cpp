// Opens libpto_llvm, which lies beside this library, at the first compilation.
#include <dlfcn.h>

#include "base/error.h"
#include "codegen/codegen.h"
#include "codegen/llvm/plugin.h"

namespace pto {
namespace {

constexpr const char* kLibrary = "libpto_llvm.so";

struct Plugin {
  decltype(&pto_llvm_generate) generate = nullptr;
  std::string why_not;
};

Plugin open_plugin() {
  std::string path = kLibrary;
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&llvm_available), &here) && here.dli_fname) {
    const std::string self = here.dli_fname;
    if (const size_t slash = self.rfind('/'); slash != self.npos) path = self.substr(0, slash + 1) + kLibrary;
  }
  Plugin plugin;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    plugin.why_not = dlerror();
    return plugin;
  }
  plugin.generate = reinterpret_cast<decltype(plugin.generate)>(dlsym(library, "pto_llvm_generate"));
  if (!plugin.generate) plugin.why_not = path + " has no pto_llvm_generate";
  return plugin;
}

const Plugin& plugin() {
  static const Plugin opened = open_plugin();
  return opened;
}

}  // namespace

bool llvm_available(std::string* why_not) {
  if (why_not) *why_not = plugin().why_not;
  return plugin().generate != nullptr;
}

std::string llvm_generate(const std::vector<LoopProgram>& programs, const Target& target, LlvmOutput output) {
  if (!llvm_available(nullptr))
    throw Error({.op = "compile", .message = "the code generator cannot be opened", .got = plugin().why_not});
  std::string result;
  const auto sink = [](void* user, const char* bytes, size_t size) {
    static_cast<std::string*>(user)->assign(bytes, size);
  };
  if (plugin().generate(programs.data(), programs.size(), &target, static_cast<int>(output), sink, &result) !=
      0)
    throw InternalError("codegen/llvm", result);
  return result;
}

}  // namespace pto
