// How fast a phase of a run goes, and how much of its time is spent waiting for data.
#pragma once

#include <cstdint>

#include "base/stopwatch.h"

namespace plimsoll {

class SpeedMeter {
 public:
  void add(std::int64_t images, double waited_seconds) {
    images_ += images;
    waited_ += waited_seconds;
  }
  std::int64_t images() const { return images_; }
  double seconds() const { return watch_.seconds(); }
  double waited_seconds() const { return waited_; }
  double images_per_second() const { return static_cast<double>(images_) / seconds(); }
  double wait_percent() const { return 100 * waited_ / seconds(); }
  // For so many more images at this speed.
  double seconds_for(std::int64_t images) const {
    return images_ == 0 ? 0
                        : seconds() / static_cast<double>(images_) * static_cast<double>(images);
  }

 private:
  Stopwatch watch_;  // since it was made
  std::int64_t images_ = 0;
  double waited_ = 0;
};

}  // namespace plimsoll
