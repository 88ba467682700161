#include "base/error.h"

#include <fstream>

namespace pto {
namespace {

std::string source_excerpt(const LocInfo& loc) {
  if (loc.file.empty() || loc.line <= 0) return "";
  std::string text = "\n  at " + loc.file + ":" + std::to_string(loc.line);
  std::ifstream in(loc.file);
  std::string line;
  for (int i = 0; i < loc.line; i++)
    if (!std::getline(in, line)) return text;
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string::npos) return text;
  text += "\n    " + line.substr(start);
  const int from = std::max(0, loc.column - static_cast<int>(start));
  const int to = std::max(from + 1, loc.end_column - static_cast<int>(start));
  if (loc.end_column > loc.column) text += "\n    " + std::string(from, ' ') + std::string(to - from, '^');
  return text;
}

std::string format(const ErrorInfo& e) {
  std::string text = e.op.empty() ? e.message : "[" + e.op + "] " + e.message;
  if (!e.expected.empty()) text += "\n  expected: " + e.expected;
  if (!e.got.empty()) text += "\n  got: " + e.got;
  if (!e.operands.empty()) {
    text += "\n  operands:";
    for (const auto& operand : e.operands) text += " " + operand + ";";
    text.pop_back();
  }
  return text + source_excerpt(e.loc.info());
}

}  // namespace

Error::Error(ErrorInfo info) : std::runtime_error(format(info)), info_(std::move(info)) {}

Error::Error(std::string op, std::string message, Loc loc)
    : Error(ErrorInfo{std::move(op), std::move(message), "", "", {}, "", loc}) {}

InternalError::InternalError(std::string where, std::string message, std::string reproducer)
    : std::logic_error("internal error in " + where + ": " + message),
      where_(std::move(where)),
      reproducer_(std::move(reproducer)) {}

InternalError::InternalError(const InternalError& error, std::string file, const std::string& command)
    : std::logic_error(std::string(error.what()) + "\n  to reproduce: " + command),
      where_(error.where()),
      reproducer_(error.reproducer()),
      file_(std::move(file)) {}

}  // namespace pto
