// RUN/args.toml: the settings of a run, by the names of the long options of `train`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "job/run_settings.h"

namespace plimsoll::job {

// Everything but where the run is, with what was worked out (batch, sizes, threads) in place of
// what was asked for, and places so that they are found again from anywhere.
std::string args_text(const RunSettings& settings, const nn::Input& input, int threads);

// Puts what the file names into `settings`. UsageError, with the line, if it cannot be read, has an
// unknown key (naming the nearest), or a value of a wrong type.
void read_args(const std::filesystem::path& path, RunSettings& settings);

// One of them, as the command line would say it; a flag is "true" or "false". UsageError.
void set_option(RunSettings& settings, const std::string& name, const std::string& text);

// All that can stand there, sorted.
std::vector<std::string> args_names();

// The threads that args.toml says a run had; nothing if the file or the key is not there.
std::optional<std::int64_t> threads_before(const std::filesystem::path& path);

}  // namespace plimsoll::job
