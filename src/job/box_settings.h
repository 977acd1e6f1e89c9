// What is asked of a detector's boxes, and what the data says of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/data.h"
#include "job/model_settings.h"

namespace plimsoll::job {

struct BoxSettings {
  std::string anchors;  // "auto", or a number of pixels; empty: the network's own

  // From the data, where there is any.
  std::int64_t anchor_base = 0;  // 0: as `anchors` says
  std::int64_t most_boxes = 100;
  std::int64_t most_truths = 100;
  std::int64_t most_truths_of_class = 10'000;

  // UsageError unless `anchors` is one of those.
  void check() const;
  // The side of the smallest anchor, of a network that detects.
  std::int64_t base(const zoo::Network& network) const;
  // Takes sizes from what is evaluated; pictures without annotations have one box, which is none.
  void settle_sizes(const Source& evaluated);
  // Takes sizes from what is trained and validated on (null: nothing), and chooses anchors where
  // that was left to it. UsageError where there is no box at all.
  void settle(const ModelSettings& model, const Source& train, const Source* validation);
};

// Of the boxes of one class, how many an anchor reaches: IoU 0.5 at least.
struct AnchorCoverage {
  std::string name;
  std::int64_t boxes = 0;
  std::int64_t reached = 0;
  // Sides (roots of areas) on the canvas, pixels: what 5, 50 and 95 % of the boxes stay below.
  std::array<double, 3> sides = {};
  double share() const;  // 1 where there are none
};

// On the canvas of the network, by anchors of that base; a class each.
std::vector<AnchorCoverage> anchor_coverage(const ModelSettings& model, const Source& source,
                                            std::int64_t base);

// In words: "anchors from 16 px reach RBC 99 %, Platelets 88 %"; with advice below 90 %.
bool is_well_covered(const std::vector<AnchorCoverage>& found);
std::string coverage_text(const std::vector<AnchorCoverage>& found, std::int64_t base);

}  // namespace plimsoll::job
