#include "cli/config_words.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "job/toml_options.h"
#include "tensor/attrs.h"

namespace plimsoll::cli {
namespace {

// The value that follows a long option, the last one given; empty if it is not there.
std::string value_behind(const std::vector<std::string>& words, const std::string& option) {
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(option + "=")) value = words[i].substr(option.size() + 1);
  }
  return value;
}

// As the command line would say it.
std::string word_of(const job::OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return to_string(AttrValue(std::get<double>(value)));
}

// The file's keys as "--key=value".
std::vector<std::string> config_words(const CLI::App& command, const std::filesystem::path& path) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  std::vector<std::string> result;
  for (const job::TomlOption& given : job::read_options(path)) {
    const std::string& name = given.key;
    const CLI::Option* option = command.get_option_no_throw("--" + name);
    if (option == nullptr)
      throw UsageError(
          {.where = given.where,
           .got = "unknown key '" + name + "'",
           .expected = "expected a long option of `plimsoll " + command.get_name() + "`",
           .hint = did_you_mean(nearest(name, known))});
    if (const bool* flag = std::get_if<bool>(&given.value())) {
      if (option->get_items_expected_max() != 0)
        throw UsageError(
            {.where = given.where, .got = name + " = true/false", .expected = "expected a value"});
      if (*flag) result.push_back("--" + name);
      continue;
    }
    result.push_back("--" + name + "=" + word_of(given.value()));
  }
  return result;
}

}  // namespace

void check_numbers(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_type_name() != "INT") continue;
    for (const std::string& text : option->results()) {
      std::int64_t value = 0;
      std::string_view digits = text;
      if (digits.starts_with('+')) digits.remove_prefix(1);
      if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec ==
          std::errc::result_out_of_range)
        throw UsageError(
            {.where = option->get_name(), .got = text, .expected = "expected a number below 2^63"});
    }
  }
}

std::vector<std::string> with_config(const CLI::App& command,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> result;
  const auto add = [&](const std::vector<std::string>& more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  const std::string run = value_behind(words, "--resume");
  if (!run.empty() && command.get_option_no_throw("--resume") != nullptr) {
    add(config_words(command, std::filesystem::path(run) / "args.toml"));
    result.push_back("--out=" + run);
  }
  const std::string config = value_behind(words, "--config");
  if (!config.empty()) add(config_words(command, config));
  add(words);
  return result;
}

}  // namespace plimsoll::cli
