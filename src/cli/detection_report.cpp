#include "cli/detection_report.h"

#include <fmt/format.h>

#include <array>

namespace plimsoll::cli {
namespace {

// In the order of boxes::kCocoNumbers.
constexpr std::array<const char*, 12> kKeys{"map",        "map50",     "map75",     "map_small",
                                            "map_medium", "map_large", "ar1",       "ar10",
                                            "ar100",      "ar_small",  "ar_medium", "ar_large"};

std::string number(double value) { return value < 0 ? "-" : fmt::format("{:.4f}", value); }

}  // namespace

void add_scores(nlohmann::ordered_json& json, const boxes::DetectionScores& scores) {
  for (std::size_t i = 0; i < kKeys.size(); ++i) json[kKeys[i]] = scores.coco[i];
  json["voc2007"] = scores.voc_2007;
  json["voc2012"] = scores.voc_2012;
}

std::string scores_text(const boxes::DetectionScores& scores) {
  const auto& n = scores.coco;
  const auto row = [](const char* name, const std::array<std::string, 6>& cells) {
    std::string line = fmt::format("{:<18}", name);
    for (const std::string& cell : cells) line += fmt::format(" {:>9}", cell);
    return line + "\n";
  };
  const auto numbers = [](const std::array<double, 6>& values) {
    std::array<std::string, 6> cells;
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = number(values[i]);
    return cells;
  };
  return row("COCO", {"mAP", "mAP50", "mAP75", "small", "medium", "large"}) +
         row("average precision", numbers({n[0], n[1], n[2], n[3], n[4], n[5]})) +
         row("", {"of 1", "of 10", "of 100", "small", "medium", "large"}) +
         row("average recall", numbers({n[6], n[7], n[8], n[9], n[10], n[11]})) +
         fmt::format("VOC 2007 {} · VOC 2012 {}\n", number(scores.voc_2007),
                     number(scores.voc_2012));
}

}  // namespace plimsoll::cli
