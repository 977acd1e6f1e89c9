#include "job/toml_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

// With NDEBUG toml++ takes its assertions for promises to the compiler, and malformed keys break
// some of them: here they are neither checked nor promised.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace plimsoll::job {
namespace {

constexpr Bytes kLargestConfig{1 << 20};
// The library walks the parts of a key by recursion; no option has more than one.
constexpr int kMostDots = 64;
constexpr const char* kHex = "hex";

// UsageError where a line has more dots outside of quotes than any option can ask for.
void check_depth(const std::string& text, const std::string& where) {
  int line = 1;
  int dots = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      dots = 0;
      quote = 0;
    } else if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.' && ++dots > kMostDots) {
      throw UsageError({.where = where + ":" + std::to_string(line),
                        .got = fmt::format("a key of more than {} parts", kMostDots),
                        .expected = "expected a long option as a key"});
    }
  }
}

toml::table read_table(const std::filesystem::path& path) {
  std::string text;
  try {
    text = read_file(path, kLargestConfig);
  } catch (const DataError& error) {
    throw UsageError(error.complaint());
  }
  check_depth(text, path.string());
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    throw UsageError({.where = fmt::format("{}:{}:{}", path.string(), at.line, at.column),
                      .got = std::string(error.description()),
                      .expected = "expected a TOML file"});
  }
}

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    const char* end = text.data() + i + 2;
    const auto [rest, error] = std::from_chars(text.data() + i, end, byte, 16);
    if (error != std::errc() || rest != end || byte == 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::optional<OptionValue> value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* table = node.as_table(); table != nullptr && table->size() == 1)
    if (const auto hex = (*table)[kHex].value<std::string>())
      if (const auto bytes = from_hex(*hex)) return *bytes;
  return std::nullopt;
}

std::string toml_text(bool value) { return value ? "true" : "false"; }
std::string toml_text(std::int64_t value) { return std::to_string(value); }
std::string toml_text(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}
std::string toml_text(const std::string& value) {
  if (!is_utf8(value)) return fmt::format("{{ {} = \"{}\" }}", kHex, to_hex(value));
  std::ostringstream text;
  const toml::value<std::string> quoted(value);
  text << toml::toml_formatter(quoted, toml::format_flags::allow_unicode_strings);
  return text.str();
}

// As it is where TOML allows that, else in quotes.
std::string key_text(const std::string& key) {
  const bool is_bare = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return is_bare ? key : toml_text(key);
}

}  // namespace

std::string options_text(const std::map<std::string, OptionValue>& options) {
  std::string text;
  for (const auto& [name, value] : options)
    text += key_text(name) + " = " + std::visit([](const auto& v) { return toml_text(v); }, value) +
            "\n";
  return text;
}

const OptionValue& TomlOption::value() const {
  if (!found)
    throw UsageError({.where = where,
                      .got = "a list, table or date",
                      .expected = "expected a text, number or true/false"});
  return *found;
}

std::vector<TomlOption> read_options(const std::filesystem::path& path) {
  const toml::table table = read_table(path);
  std::vector<TomlOption> options;
  for (const auto& [key, node] : table)
    options.push_back({.key = std::string(key.str()),
                       .where = path.string() + ":" + std::to_string(node.source().begin.line),
                       .found = value_of(node)});
  return options;
}

}  // namespace plimsoll::job
