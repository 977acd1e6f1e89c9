// Options that mean the same in every command.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "nn/nn.h"
#include "step/step_graph.h"
#include "zoo/zoo.h"

namespace plimsoll::cli {

struct ModelOptions {
  std::string model = "inception_v3";
  std::int64_t batch = 32;
  bool batch_max = false;     // --batch max: the largest that fits; `batch` is then found
  std::string image;          // "299", "200x300"; empty: the network's own
  std::int64_t channels = 0;  // 0: the network's own
  std::int64_t classes = 0;   // 0: the network's own
  double dropout = -1;
  bool auxiliary = false;

  void add_to(CLI::App& command);
  void set_batch(const std::string& text);
  // Checked values. UsageError names the option.
  const zoo::Network& network() const { return zoo::find_network(model); }
  nn::Input input() const;
  std::int64_t class_count() const;
  NetworkFactory factory() const;
};

struct CommonOptions {
  std::optional<std::int64_t> threads;  // none: what the process may use
  bool json = false;
  bool quiet = false;
  std::string config;

  void add_to(CLI::App& command);
  // Sets the size of the OpenMP team and returns it.
  int apply_threads() const;
};

// "299" or "200x300"; UsageError on anything else.
nn::Size2 parse_image_size(const std::string& text);

// UsageError for a whole number that is too large to be held: the parser takes the largest instead.
void check_numbers(const CLI::App& command);

// Words of the command line with those of a resumed run's args.toml and of `--config FILE.toml` put
// before the user's own, so that the user's win. UsageError names an unknown key and the nearest
// known one.
std::vector<std::string> with_config(const CLI::App& command,
                                     const std::vector<std::string>& words);

}  // namespace plimsoll::cli
