#include "run/run_advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

// A run that waits more than this share of its time for data is bound by it.
constexpr double kInputBoundPercent = 20;
constexpr std::int64_t kInputBoundSteps = 20;

}  // namespace

std::string input_bound_text(const Progress& progress, const Pipeline& data) {
  if (progress.batch < kInputBoundSteps || progress.data_wait_percent < kInputBoundPercent)
    return {};
  const Pipeline::Work work = data.work();
  const double per_picture =
      work.seconds / static_cast<double>(std::max<std::int64_t>(1, work.pictures));
  const double could = progress.images_per_second / (1 - progress.data_wait_percent / 100);
  return fmt::format(
      "watchdog: input-bound: {:.0f} % of the time is spent waiting for data; {} workers deliver "
      "{:.1f} images/s at {:.1f} ms of reading, decoding and augmenting each, the network could "
      "take {:.1f}. Smaller files, less --augment, more cores or a faster disk would help",
      progress.data_wait_percent, data.workers(), progress.images_per_second, 1000 * per_picture,
      could);
}

}  // namespace plimsoll
