// What is measured by `plimsoll bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/mpirun.h"
#include "cli/options.h"

namespace plimsoll::cli {

struct BenchSettings {
  CommonOptions common;
  std::optional<std::int64_t> threads;
  job::ModelSettings model;
  OptimizerOptions optimizer;
  std::int64_t steps = 5;
  bool layers = false;
  std::string kernels;
  std::string tune;
  job::MemorySettings memory;
  RankOptions ranks;
};

}  // namespace plimsoll::cli
