// Options as TOML: what --config reads, and args.toml, which a resumed run reads again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plimsoll::job {

// By the type the option has, so that a folder named 007 stays one. Text may hold any bytes but
// NUL: what is not UTF-8, which TOML cannot hold, is written as { hex = "..." }.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;
// One line for each. A double is the shortest text that reads back as itself.
std::string options_text(const std::map<std::string, OptionValue>& options);

struct TomlOption {
  std::string key;
  std::string where;                 // "args.toml:3"
  std::optional<OptionValue> found;  // nothing: a list, a table or a date

  // UsageError where there is none.
  const OptionValue& value() const;
};

// By key. UsageError, with the line, if the file cannot be read or is no TOML.
std::vector<TomlOption> read_options(const std::filesystem::path& path);

}  // namespace plimsoll::job
