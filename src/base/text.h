#pragma once
// The tokeniser that the parsers of all levels share, and small text helpers.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pto {

std::string join(const std::vector<std::string>& parts, std::string_view separator);
// A stable 64-bit hash of bytes (FNV-1a, then mixed); the same in every process.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);
inline uint64_t hash_combine(uint64_t a, uint64_t b) {
  a ^= b + 0x9E3779B97F4A7C15ull + (a << 6) + (a >> 2);
  a *= 0xFF51AFD7ED558CCDull;
  return a ^ (a >> 33);
}

struct Token {
  enum Kind { End, Name, Number, String, Punct } kind = End;
  std::string_view text;  // a String's text excludes the quotes, escapes unresolved
  int line = 1, column = 1;
};

// Names are [A-Za-z_][A-Za-z0-9_.']*; numbers keep their sign out; `#` starts a comment to the
// end of the line; punctuation is one of -> << >> <= >= == != // .. or a single character.
class Lexer {
 public:
  explicit Lexer(std::string_view source, std::string_view what = "text");
  const Token& peek(int ahead = 0);
  Token next();
  bool at(std::string_view text);            // is the next token this name or punctuation?
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string name();                        // a Name, else an error
  int64_t integer();                         // an optional '-' and digits
  std::string string();                      // a quoted string, escapes resolved
  bool done();
  [[noreturn]] void fail(const std::string& message);  // pto::Error with line and column

 private:
  Token scan();
  std::string source_, what_;
  size_t pos_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  std::vector<Token> ahead_;
};

std::string quote(std::string_view text);
bool is_name(std::string_view text);          // is it one Name?

}  // namespace pto
