// Words of the command line, bound to the settings they are for. Options come in groups, those that
// are used most first.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/job.h"

namespace plimsoll::cli {

void add_options(CLI::App& command, job::ModelSettings& settings);
void add_options(CLI::App& command, job::MemorySettings& settings);
void add_options(CLI::App& command, job::DataSettings& settings);
// Network, memory, data and optimiser. `data`: what to say of DATA.
void add_options(CLI::App& command, job::TrainingSettings& settings, const std::string& data);
// All of those, and what only `train` has.
void add_options(CLI::App& command, job::RunSettings& settings, const std::string& data);

void add_weights(CLI::App& command, job::TrainingSettings& settings);
// Of BatchNorms, where a batch has parts.
void add_shared_statistics(CLI::App& command, job::MemorySettings& settings);
void add_kernels(CLI::App& command, std::string& kernels);
void add_threads(CLI::App& command, std::optional<std::int64_t>& threads);
// For those who use weights that do not say how pictures are prepared for them.
void add_normalise(CLI::App& command, std::string& normalise);

// What the program does beside its work.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  std::string config;

  void add_to(CLI::App& command);
  bool is_quiet() const { return quiet || json; }
};

// The group of options that are added from here on.
void begin_group(CLI::App& command, const std::string& name);
inline constexpr const char* kOutputGroup = "output";

// The budget, with a warning on standard error where more was asked for than there is.
job::Budget budget_of(const job::MemorySettings& settings);

}  // namespace plimsoll::cli
