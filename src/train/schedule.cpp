#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {

Schedule::Schedule(const ScheduleOptions& options, double peak, std::int64_t steps)
    : cosine_(options.name == "cosine"), peak_(peak), warmup_(options.warmup), steps_(steps) {
  const std::vector<std::string> names{"constant", "cosine"};
  if (std::find(names.begin(), names.end(), options.name) == names.end())
    throw UsageError({.where = "--schedule",
                      .got = "there is no schedule '" + options.name + "'",
                      .expected = "expected one of " + join(names, ", "),
                      .hint = did_you_mean(nearest(options.name, names))});
  if (warmup_ < 0)
    throw UsageError(
        {.where = "--warmup", .got = std::to_string(warmup_), .expected = "expected 0 or more"});
}

double Schedule::rate(std::int64_t step) const {
  if (step < warmup_)
    return peak_ * static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
  if (!cosine_) return peak_;
  constexpr double kPi = 3.14159265358979323846;
  const double done = static_cast<double>(step - warmup_) /
                      static_cast<double>(std::max<std::int64_t>(1, steps_ - warmup_));
  return peak_ * 0.5 * (1 + std::cos(kPi * std::min(1.0, done)));
}

}  // namespace plimsoll
