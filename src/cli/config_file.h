// Options as TOML: what --config reads, and args.toml, which a resumed run reads again.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plimsoll::cli {

// By the type the option has, so that a folder named 007 stays one. Text may hold any bytes but
// NUL: what is not UTF-8, which TOML cannot hold, is written as { hex = "..." }.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string>;
std::string config_text(const std::map<std::string, ConfigValue>& options);

// The file's keys as words of the command line, "--key=value". UsageError, with the line, if the
// file cannot be read, is no TOML, has a key that is no long option of the command (naming the
// nearest), or a value of a wrong type.
std::vector<std::string> config_words(const CLI::App& command, const std::filesystem::path& path);

// The number behind a key; nothing if the file or the key is not there, or it is no number.
std::optional<std::int64_t> find_in_config(const std::filesystem::path& path,
                                           const std::string& key);

}  // namespace plimsoll::cli
