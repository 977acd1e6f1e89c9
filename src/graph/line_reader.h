// Words and numbers of one line of a graph's text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/attrs.h"

namespace plimsoll {

// Reads one line, remembering where it is so that complaints can name line and column.
class LineReader {
 public:
  LineReader(std::string_view source, int line, std::string_view text)
      : source_(source), line_(line), text_(text) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string_view rest = text_.substr(at_, 24);
    throw UsageError({.where = std::string(source_) + ":" + std::to_string(line_) + ":" +
                               std::to_string(at_ + 1),
                      .got = rest.empty() ? "the line ends" : "found '" + std::string(rest) + "'",
                      .expected = expected + " expected"});
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  // A whole word, not the beginning of a longer one.
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_name_char(text_[end])) return false;
    at_ = end;
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) refuse("'" + std::string(token) + "'");
  }
  std::string name(const std::string& what) {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (at_ == begin) refuse(what);
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::int64_t integer(const std::string& what) {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse(what);
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  AttrValue attribute() {
    skip_spaces();
    if (take("[")) {
      Ints ints;
      if (take("]")) return ints;
      do {
        ints.push_back(integer("an integer"));
      } while (take(","));
      need("]");
      return ints;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ') ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const char* first = word.data();
    const char* last = first + word.size();
    std::int64_t whole = 0;
    if (const auto r = std::from_chars(first, last, whole); r.ec == std::errc() && r.ptr == last)
      return whole;
    double real = 0;
    if (const auto r = std::from_chars(first, last, real); r.ec == std::errc() && r.ptr == last)
      return real;
    if (word.empty()) refuse("a value");
    return std::string(word);
  }

 private:
  static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == ':' || c == '~' || c == '.' || c == '-';
  }

  std::string_view source_;
  int line_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace plimsoll
