#include "exec/reproducer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "ops/leaf_attrs.h"

namespace pto {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArgument = "\nargument ";
constexpr int64_t kMostBytes = 1 << 20;

// In the first of the folders that takes it; empty if none does. Equal texts share a file.
std::string write_file(const std::string& text, const CompileOptions& options) {
  std::ostringstream name;
  name << "pto-failure-" << std::hex << std::setw(16) << std::setfill('0') << hash_bytes(text) << ".pto";
  std::error_code error;
  std::vector<fs::path> folders;
  if (!options.cache_dir.empty()) folders.push_back(fs::path(options.cache_dir) / "failures");
  folders.push_back(fs::temp_directory_path(error));
  for (const auto& folder : folders) {
    fs::create_directories(folder, error);
    const fs::path path = folder / name.str();
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (out) return path.string();
  }
  return "";
}

std::string as_comment(const std::string& text) {
  size_t end = std::min<size_t>(text.size(), 2000);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    end--;   // whole characters
  std::istringstream lines(text.substr(0, end));
  std::string out;
  for (std::string line; std::getline(lines, line);) out += "# " + line + "\n";
  return out;
}

}  // namespace

std::string run_option(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [symbol, n] : sizes) parts.push_back(symbol.str() + "=" + std::to_string(n));
  std::sort(parts.begin(), parts.end());
  return parts.empty() ? "--run" : "--run --sizes=" + join(parts, ",");
}

void raise_reproducible(const InternalError& error, const std::string& text, const std::string& arguments,
                        const CompileOptions& options) {
  if (!error.file().empty()) throw error;
  const std::string& target = options.target.name;
  std::string command = arguments.starts_with("--run") ? "PTO_DEBUG=compare " : "";
  command += "pto-opt --target=" + target.substr(target.rfind('.') + 1) + " " + arguments;
  if (!options.passes_off.empty()) command += " --without=" + join(options.passes_off, ",");
  const std::string file = as_comment(error.what()) + "# " + command + "\n" + text;
  const std::string path = write_file(file, options);
  if (path.empty()) throw error;
  throw InternalError(error, path, command + " " + path);
}

std::string arguments_text(const std::vector<BufferPtr>& arguments) {
  int64_t bytes = 0;
  for (const auto& b : arguments) bytes += b->bytes();
  if (bytes > kMostBytes)
    return "\n# the arguments take " + std::to_string(bytes) + " bytes and are left out\n";
  std::string text;
  for (const auto& b : arguments) {
    ConstantAttrs attrs;
    attrs.value = packed(b);
    text += kArgument + attrs_text(attrs);
  }
  return text + "\n";
}

std::vector<BufferPtr> take_arguments(std::string& text) {
  const size_t line = text.find(kArgument);
  if (line == text.npos) return {};
  std::vector<BufferPtr> arguments;
  Lexer in(text.substr(line), "arguments");
  text.resize(line + 1);
  while (!in.done()) {
    in.expect("argument");
    ConstantAttrs attrs;
    parse_attrs(in, attrs);
    arguments.push_back(attrs.value);
  }
  return arguments;
}

std::string text_of(const KernelSource& source, const CompileOptions& options) {
  if (source.loop) return to_text(*source.loop);
  try {
    Scheduled made = scheduled(source, options);
    made.schedule.size_class.clear();   // for whatever sizes it is run
    return to_text(made.kernel) + to_text(made.schedule);
  } catch (const std::exception&) {
    return to_text(*source.kernel);
  }
}

}  // namespace pto
