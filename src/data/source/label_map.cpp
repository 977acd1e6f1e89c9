#include "data/source/label_map.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr int kDeepest = 32;

// Words, quoted strings and the characters { } : < > [ ] , ; of protobuf's text format.
class Tokens {
 public:
  Tokens(std::string_view text, std::string_view where) : text_(text), where_(where) { advance(); }

  bool at_end() const { return token_.empty() && !quoted_; }
  std::string_view token() const { return token_; }
  bool is(std::string_view mark) const { return !quoted_ && token_ == mark; }

  std::string take() {
    std::string result = token_;
    advance();
    return result;
  }
  void want(std::string_view mark) {
    if (!is(mark)) fail(at_end() ? "" : "'" + token_ + "'", "expected '" + std::string(mark) + "'");
    advance();
  }
  bool skip(std::string_view mark) {
    if (!is(mark)) return false;
    advance();
    return true;
  }

  // An empty `got` says that the file ends.
  [[noreturn]] void fail(const std::string& got, const std::string& expected) const {
    throw DataError({.where = std::string(where_) + ": line " + std::to_string(line_),
                     .got = got.empty() ? "the file ends" : got.substr(0, 120),
                     .expected = expected});
  }

 private:
  void advance() {
    token_.clear();
    quoted_ = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        line_ += c == '\n';
        ++at_;
      } else {
        break;
      }
    }
    if (at_ == text_.size()) return;
    const char first = text_[at_];
    if (first == '"' || first == '\'') {
      read_quoted(first);
    } else if (std::string_view("{}:<>[],;").find(first) != std::string_view::npos) {
      token_ = text_[at_++];
    } else {
      while (at_ < text_.size() && is_word(text_[at_])) token_ += text_[at_++];
      if (token_.empty()) token_ = text_[at_++];
    }
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '+' ||
           c == '.' || static_cast<unsigned char>(c) >= 128;
  }

  void read_quoted(char quote) {
    quoted_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\n') fail("a quoted text that does not end", "expected a quote");
      token_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? escaped() : text_[at_];
    }
    if (at_ == text_.size()) fail("a quoted text that does not end", "expected a quote");
    ++at_;
  }

  // The character that a backslash at at_ stands for; at_ is left on the last one of it. Protobuf
  // prints all that is not ASCII as bytes in octal.
  char escaped() {
    const auto digits = [this](unsigned base, std::size_t most) {
      unsigned value = 0;
      const char* end = text_.data() + std::min(at_ + 1 + most, text_.size());
      const auto read = std::from_chars(text_.data() + at_ + 1, end, value, static_cast<int>(base));
      at_ = static_cast<std::size_t>(read.ptr - text_.data()) - 1;
      return static_cast<char>(value);
    };
    const char c = text_[at_ + 1];
    if (c >= '0' && c <= '7') return digits(8, 3);
    ++at_;
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': {
        const bool has_digit = at_ + 1 < text_.size() &&
                               std::isxdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
        return has_digit ? digits(16, 2) : c;
      }
      default: return c;
    }
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string token_;
  bool quoted_ = false;
};

// Passes over `{ ... }` whose first brace is the current token.
void skip_block(Tokens& tokens) {
  int depth = 0;
  do {
    if (tokens.at_end()) tokens.fail("", "expected a closing brace");
    depth += tokens.is("{") || tokens.is("<");
    depth -= tokens.is("}") || tokens.is(">");
    if (depth > kDeepest) tokens.fail("too many braces", "expected a label map");
    tokens.take();
  } while (depth > 0);
}

struct Item {
  std::optional<std::int64_t> id;
  std::string name;
  std::string display_name;
};

Item parse_item(Tokens& tokens) {
  Item item;
  tokens.want("{");
  while (!tokens.skip("}")) {
    if (tokens.at_end()) tokens.fail("", "expected '}'");
    const std::string key = tokens.take();
    if (tokens.is("{") || tokens.is("<")) {
      skip_block(tokens);
      continue;
    }
    tokens.want(":");
    if (tokens.is("{") || tokens.is("<")) {
      skip_block(tokens);
    } else if (key == "id") {
      item.id = parse_integer(tokens.token());
      if (!item.id)
        tokens.fail(tokens.at_end() ? "" : "'" + std::string(tokens.token()) + "'",
                    "expected a number");
      tokens.take();
    } else {
      const std::string value = tokens.take();
      if (key == "name") item.name = value;
      if (key == "display_name") item.display_name = value;
    }
    if (!tokens.skip(",")) tokens.skip(";");
  }
  return item;
}

}  // namespace

LabelMap parse_label_map(std::string_view text, std::string_view where) {
  LabelMap map;
  Tokens tokens(text, where);
  while (!tokens.at_end()) {
    tokens.want("item");
    tokens.skip(":");
    const Item item = parse_item(tokens);
    if (!item.id) tokens.fail("an item without id", "expected item { id: 1 name: 'cat' }");
    const std::string& name = item.name.empty() ? item.display_name : item.name;
    if (name.empty()) tokens.fail("an item without name", "expected item { id: 1 name: 'cat' }");
    if (!map.emplace(*item.id, name).second)
      tokens.fail("id " + std::to_string(*item.id) + " a second time", "expected each once");
  }
  return map;
}

LabelMap parse_label_list(std::string_view text, std::string_view where) {
  LabelMap map;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty()) continue;
    auto id = static_cast<std::int64_t>(map.size());
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
      if (const auto given = parse_integer(line.substr(0, colon))) {
        id = *given;
        line = trim(line.substr(colon + 1));
      }
    if (!map.emplace(id, line).second)
      throw DataError({.where = std::string(where) + ": line " + std::to_string(number),
                       .got = "class " + std::to_string(id) + " a second time",
                       .expected = "expected each once"});
  }
  return map;
}

LabelMap load_label_map(const std::filesystem::path& path) {
  const std::string text = read_file(path, 16_MiB);
  const bool is_prototext = path.extension() == ".pbtxt" || trim(text).starts_with("item {") ||
                            trim(text).starts_with("item{");
  LabelMap map =
      is_prototext ? parse_label_map(text, path.string()) : parse_label_list(text, path.string());
  if (map.empty())
    throw DataError({.where = path.string(),
                     .got = "no class in it",
                     .expected = "expected item { id: 1 name: 'cat' }, or a name per line"});
  return map;
}

}  // namespace plimsoll
