// The man page and the shell completion, made from the commands themselves so that they cannot
// tell another story than `plimsoll help`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plimsoll::cli {

// plimsoll.1, as troff. `version`: what `plimsoll --version` prints.
std::string manual_page(const CLI::App& app, const std::string& version);

// A bash script that completes commands, options, and the names of networks after --model.
std::string bash_completion(const CLI::App& app);

}  // namespace plimsoll::cli
