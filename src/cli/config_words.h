// Words of the command line that come from files, and whether words can be held.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plimsoll::cli {

// Words of the command line with those of a resumed run's args.toml and of `--config FILE.toml` put
// before the user's own, so that the user's win. UsageError, with the line, if a file cannot be
// read, is no TOML, has a key that is no long option of the command (naming the nearest), or a
// value of a wrong type.
std::vector<std::string> with_config(const CLI::App& command,
                                     const std::vector<std::string>& words);

// UsageError for a whole number that is too large to be held: the parser takes the largest instead.
void check_numbers(const CLI::App& command);

}  // namespace plimsoll::cli
