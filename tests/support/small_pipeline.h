// A pipeline small enough to be looked at whole, and what comes out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch/pipeline.h"
#include "data/scan/scan.h"

namespace plimsoll {

inline const LargestImage kLargest = assume_largest(1'000'000, 3);

inline PipelineSettings small_settings() {
  PipelineSettings settings;
  settings.batch = 4;
  settings.image = {.height = 9, .width = 11};
  settings.seed = 5;
  settings.workers = 2;
  return settings;
}

// What a consumer saw: everything of every batch.
struct Seen {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> samples;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> firsts;

  bool operator==(const Seen&) const = default;
  void add(const Batch& batch) {
    pixels.insert(pixels.end(), batch.pixels.begin(), batch.pixels.end());
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    firsts.push_back(batch.first);
  }
};

inline Seen read(Pipeline& pipeline, int batches) {
  Seen seen;
  for (int i = 0; i < batches; ++i) seen.add(pipeline.next().value());
  return seen;
}

}  // namespace plimsoll
