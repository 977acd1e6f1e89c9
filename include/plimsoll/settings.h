// What is asked of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <plimsoll/data.h>
#include <plimsoll/network.h>

namespace plimsoll::v1 {

struct Settings {
  Network network;
  Data data;
  // Of the whole process: "2GiB", "1.5GB", bytes, or "unlimited"; empty: what the container and the
  // machine leave.
  std::string memory;
  std::string batch = "32";  // images per update, or "max": the largest that fits
  std::int64_t epochs = 1;
  double learning_rate = 0.01;
  // The run directory. Where the same run was left unfinished, it goes on. Empty: the newest
  // unfinished one under runs/ that is the same run, or else a new one.
  std::string out;
  // Any other long option of `plimsoll train` by its name: {"optimizer", "adam"}, {"schedule",
  // "cosine"}; of a flag the value is "true". They win over the members above.
  std::map<std::string, std::string> options;
};

}  // namespace plimsoll::v1
