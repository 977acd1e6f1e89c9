// What an evaluation of a detector shows, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "task/detection_tally.h"

namespace plimsoll::cli {

// COCO's twelve numbers and VOC's two: "map", "map50", ..., "ar100", ..., "voc2007", "voc2012". -1
// where there is no truth to find, as in pycocotools.
void add_scores(nlohmann::ordered_json& json, const boxes::DetectionScores& scores);

// The same as a table.
std::string scores_text(const boxes::DetectionScores& scores);

}  // namespace plimsoll::cli
