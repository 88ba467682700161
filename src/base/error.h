#pragma once
// Two kinds of failure. A user's mistake is an Error with its facts in fields; a compiler bug is
// an InternalError that names where it was noticed. Nothing else is thrown across the API.
#include <stdexcept>
#include <string>
#include <vector>

#include "base/loc.h"

namespace pto {

struct ErrorInfo {
  std::string op;                     // operator or function, as the user knows it
  std::string message;                // one sentence: what is wrong
  std::string expected, got;          // may be empty
  std::vector<std::string> operands;  // "x: f32[2,3]"
  std::string label;                  // axis or index label at fault
  Loc loc;
};

class Error : public std::runtime_error {
 public:
  explicit Error(ErrorInfo info);
  Error(std::string op, std::string message, Loc loc = {});
  const ErrorInfo& info() const { return info_; }

 private:
  ErrorInfo info_;
};

class InternalError : public std::logic_error {
 public:
  InternalError(std::string where, std::string message, std::string reproducer = "");
  // The same, with a file that shows it and the command to run on it.
  InternalError(const InternalError& error, std::string file, const std::string& command);
  const std::string& where() const { return where_; }
  const std::string& reproducer() const { return reproducer_; }  // IR text, or empty
  const std::string& file() const { return file_; }              // that the message names, or empty

 private:
  std::string where_, reproducer_, file_;
};

// For invariants of the compiler itself: PTO_CHECK(a == b, "tile/lower", "text").
#define PTO_CHECK(condition, where, ...)                              \
  do {                                                                \
    if (!(condition)) throw ::pto::InternalError(where, __VA_ARGS__); \
  } while (false)

}  // namespace pto
