#include "cli/config_file.h"

#include <toml++/toml.h>

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "tensor/attrs.h"

namespace plimsoll::cli {
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

std::string scalar_text(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return to_string(AttrValue(real->get()));
  if (const auto* table = node.as_table(); table != nullptr && table->size() == 1)
    if (const auto hex = (*table)[kHex].value<std::string>())
      if (const auto bytes = from_hex(*hex)) return *bytes;
  throw UsageError({.where = where,
                    .got = "a list, table or date",
                    .expected = "expected a text, number or true/false"});
}

}  // namespace

std::string config_text(const std::map<std::string, ConfigValue>& options) {
  toml::table table;
  for (const auto& [name, value] : options)
    std::visit(
        [&, &key = name]<class T>(const T& content) {
          if constexpr (std::is_same_v<T, std::string>)
            if (!is_utf8(content)) {
              table.insert(key, toml::table{{kHex, to_hex(content)}});
              table[key].as_table()->is_inline(true);
              return;
            }
          table.insert(key, content);
        },
        value);
  std::ostringstream text;
  text << toml::toml_formatter(table, toml::format_flags::allow_unicode_strings) << '\n';
  return text.str();
}

std::vector<std::string> config_words(const CLI::App& command, const std::filesystem::path& path) {
  const toml::table table = read_table(path);
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  std::vector<std::string> result;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = path.string() + ":" + std::to_string(node.source().begin.line);
    const CLI::Option* option = command.get_option_no_throw("--" + name);
    if (option == nullptr)
      throw UsageError(
          {.where = where,
           .got = "unknown key '" + name + "'",
           .expected = "expected a long option of `plimsoll " + command.get_name() + "`",
           .hint = did_you_mean(nearest(name, known))});
    if (const auto* flag = node.as_boolean()) {
      if (option->get_items_expected_max() != 0)
        throw UsageError(
            {.where = where, .got = name + " = true/false", .expected = "expected a value"});
      if (flag->get()) result.push_back("--" + name);
      continue;
    }
    result.push_back("--" + name + "=" + scalar_text(node, where));
  }
  return result;
}

std::optional<std::int64_t> find_in_config(const std::filesystem::path& path,
                                           const std::string& key) {
  try {
    return read_table(path)[key].value<std::int64_t>();
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace plimsoll::cli
