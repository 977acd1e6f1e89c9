#include "run/run_options.h"

#include <algorithm>

namespace plimsoll {

std::int64_t RunOptions::samples_per_epoch(std::int64_t train_samples) const {
  const bool drops = drop_last && train_samples >= batch;
  return drops ? train_samples / batch * batch : train_samples;
}

std::int64_t RunOptions::steps_in_all(std::int64_t steps_per_epoch) const {
  const std::int64_t all = steps_per_epoch * epochs;
  return steps > 0 ? std::min(steps, all) : all;
}

std::int64_t RunOptions::resident_bytes() const {
  const auto files = std::ranges::find(ledger.lines, kFilesLine, &LedgerLine::line);
  return predicted_bytes - (files == ledger.lines.end() ? 0 : files->bytes);
}

}  // namespace plimsoll
