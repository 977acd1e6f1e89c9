// What detectors add to the graph of a step, by their number of stages.
#pragma once

#include <string_view>

#include "task/detection.h"
#include "task/detection_anchors.h"

namespace plimsoll {

inline constexpr std::int64_t kMostDetections = 300;  // of a picture, by any detector
inline constexpr double kSuppression = 0.5;           // IoU within a class

// Keys the draws of an evaluation.
inline constexpr std::string_view kLots = "lots";

// The boxes of a step, as inputs.
struct TruthInputs {
  ValueId boxes, labels, counts, extent;  // extent may be kNoValue
};
TruthInputs add_truth(Graph& graph, const DetectionOptions& options, bool with_extent);

// The anchors of each level.
std::vector<boxes::AnchorLevel> anchors_over(const Graph& graph,
                                             const std::vector<nn::Level>& levels,
                                             const DetectionOptions& options);

// A value of that name that records find.
ValueId named_sum(Graph& graph, const Values& terms, const std::string& name);

// What is left of the candidates, as "detections" and "detections/counts".
Values append_detections(Graph& graph, const Values& candidates, std::int64_t keep);

// Of one stage: adds the truth, too.
TaskValues append_one_stage(Graph& graph, const nn::Heads& heads, const DetectionOptions& options,
                            bool training);

// Of two: the truth and the regions while the network is built, losses and detections behind it.
nn::Regions make_regions(Graph& graph, const std::vector<nn::Level>& levels,
                         const nn::RegionOptions& regions, const DetectionOptions& options,
                         bool training);
TaskValues append_two_stages(Graph& graph, const nn::Heads& heads, const DetectionOptions& options,
                             bool training);

}  // namespace plimsoll
