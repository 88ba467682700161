#include "base/text.h"

#include <cctype>
#include <charconv>

#include "base/error.h"

namespace pto {

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); i++) {
    if (i) text += separator;
    text += parts[i];
  }
  return text;
}

uint64_t hash_bytes(std::string_view bytes, uint64_t seed) {
  uint64_t h = 0xCBF29CE484222325ull ^ seed;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001B3ull;
  h ^= h >> 32;
  h *= 0xFF51AFD7ED558CCDull;
  return h ^ (h >> 33);
}

Lexer::Lexer(std::string_view source, std::string_view what) : source_(source), what_(what) {}

Token Lexer::scan() {
  while (pos_ < source_.size()) {
    const char c = source_[pos_];
    if (c == '\n') {
      line_++;
      line_start_ = ++pos_;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      pos_++;
    } else if (c == '#') {
      while (pos_ < source_.size() && source_[pos_] != '\n') pos_++;
    } else {
      break;
    }
  }
  Token token;
  token.line = line_;
  token.column = static_cast<int>(pos_ - line_start_) + 1;
  const std::string_view rest = std::string_view(source_).substr(pos_);
  if (rest.empty()) return token;
  auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\''; };
  size_t n = 1;
  if (std::isalpha(static_cast<unsigned char>(rest[0])) || rest[0] == '_') {
    while (n < rest.size() &&
           (is_name(rest[n]) || (rest[n] == '.' && n + 1 < rest.size() && is_name(rest[n + 1]))))
      n++;
    token.kind = Token::Name;
  } else if (std::isdigit(static_cast<unsigned char>(rest[0]))) {
    auto digit = [&](size_t i) {
      return i < rest.size() && std::isdigit(static_cast<unsigned char>(rest[i]));
    };
    while (digit(n)) n++;
    if (n < rest.size() && rest[n] == '.' && digit(n + 1))
      for (n++; digit(n);) n++;
    if (n < rest.size() && (rest[n] == 'e' || rest[n] == 'E')) {
      const size_t sign = n + 1 < rest.size() && (rest[n + 1] == '-' || rest[n + 1] == '+');
      if (digit(n + 1 + sign))
        for (n += 1 + sign; digit(n);) n++;
    }
    token.kind = Token::Number;
  } else if (rest[0] == '"') {
    while (n < rest.size() && rest[n] != '"') n += rest[n] == '\\' ? 2 : 1;
    token.kind = Token::String;
    if (n >= rest.size()) {
      ahead_.clear();
      throw Error(what_, "unterminated string at line " + std::to_string(line_));
    }
    token.text = rest.substr(1, n - 1);
    pos_ += n + 1;
    return token;
  } else {
    // A character that is none of ours stays whole.
    while (n < rest.size() && (static_cast<unsigned char>(rest[n]) & 0xC0) == 0x80) n++;
    for (std::string_view two : {"->", "<<", ">>", "<=", ">=", "==", "!=", "//", ".."})
      if (rest.starts_with(two)) n = 2;
    token.kind = Token::Punct;
  }
  token.text = rest.substr(0, n);
  pos_ += n;
  return token;
}

const Token& Lexer::peek(int ahead) {
  while (static_cast<int>(ahead_.size()) <= ahead) ahead_.push_back(scan());
  return ahead_[ahead];
}

Token Lexer::next() {
  Token token = peek();
  ahead_.erase(ahead_.begin());
  return token;
}

bool Lexer::at(std::string_view text) {
  const Token& t = peek();
  return (t.kind == Token::Name || t.kind == Token::Punct) && t.text == text;
}

bool Lexer::accept(std::string_view text) {
  if (!at(text)) return false;
  next();
  return true;
}

void Lexer::expect(std::string_view text) {
  if (!accept(text)) fail("expected '" + std::string(text) + "'");
}

std::string Lexer::name() {
  if (peek().kind != Token::Name) fail("expected a name");
  return std::string(next().text);
}

int64_t Lexer::integer() {
  const bool negative = accept("-");
  if (peek().kind != Token::Number) fail("expected an integer");
  const Token token = peek();
  uint64_t value = 0;
  auto r = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (r.ec != std::errc() || r.ptr != token.text.data() + token.text.size() || value > uint64_t{1} << 63 ||
      (!negative && value == uint64_t{1} << 63))
    fail("expected a 64-bit integer");
  next();
  return static_cast<int64_t>(negative ? ~value + 1 : value);
}

std::string Lexer::string() {
  if (peek().kind != Token::String) fail("expected a string");
  const Token token = next();
  std::string out;
  for (size_t i = 0; i < token.text.size(); i++) {
    if (token.text[i] != '\\') {
      out += token.text[i];
      continue;
    }
    i++;
    out += token.text[i] == 'n' ? '\n' : token.text[i];
  }
  return out;
}

bool Lexer::done() { return peek().kind == Token::End; }

void Lexer::fail(const std::string& message) {
  const Token token = peek();
  const std::string found =
      token.kind == Token::End ? "the end of the text" : "'" + std::string(token.text) + "'";
  throw Error(what_, message + ", found " + found + " at line " + std::to_string(token.line) + ", column " +
                         std::to_string(token.column));
}

bool is_name(std::string_view text) {
  auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (text.empty() || !letter(text[0]) || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (size_t i = 1; i < text.size(); i++) {
    const bool inner = i + 1 < text.size() && (letter(text[i + 1]) || text[i + 1] == '\'');
    if (!letter(text[i]) && text[i] != '\'' && !(text[i] == '.' && inner)) return false;
  }
  return true;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace pto
