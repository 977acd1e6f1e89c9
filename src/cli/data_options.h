// Options that say how DATA is read, the same wherever data is.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "data/data.h"

namespace plimsoll::cli {

struct DataOptions {
  std::string part;
  std::string cache;
  std::string images;
  std::string label_map;
  std::string record_image;
  std::string record_label;
  std::string record_boxes;
  std::optional<std::int64_t> first_label;

  void add_to(CLI::App& command);
  SourceOptions source_options() const;
};

}  // namespace plimsoll::cli
