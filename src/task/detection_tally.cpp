#include "task/detection_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/packed.h"
#include "data/batch/placed_boxes.h"
#include "draw/line_chart.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kRow = 6;  // of detections: box, score, class

boxes::TruthBox truth_of(const Box& box) {
  return {.x = static_cast<double>(box.x0),
          .y = static_cast<double>(box.y0),
          .width = static_cast<double>(box.x1) - static_cast<double>(box.x0),
          .height = static_cast<double>(box.y1) - static_cast<double>(box.y0),
          .area = static_cast<double>(box.area),
          .label = box.label,
          .crowd = box.crowd,
          .difficult = box.difficult};
}

}  // namespace

void find_in(const StepTensors& results, const Batch& batch, std::int64_t at,
             std::vector<boxes::FoundBox>& found) {
  const CanvasPlacement& placed = batch.placements[static_cast<std::size_t>(at)];
  const double x_scale =
      static_cast<double>(placed.image.width) / static_cast<double>(placed.extent.width);
  const double y_scale =
      static_cast<double>(placed.image.height) / static_cast<double>(placed.extent.height);
  const float* row = results.at("detections").image<float>(at);
  found.resize(static_cast<std::size_t>(results.at("detections/counts").at<std::int32_t>(at)));
  for (boxes::FoundBox& one : found) {
    one = {.x = static_cast<double>(row[0]) * x_scale,
           .y = static_cast<double>(row[1]) * y_scale,
           .width = static_cast<double>(row[2] - row[0]) * x_scale,
           .height = static_cast<double>(row[3] - row[1]) * y_scale,
           .score = row[4],
           .label = static_cast<std::int32_t>(row[5])};
    row += kRow;
  }
}

DetectionTally::DetectionTally(const boxes::EvaluationSize& size,
                               const std::filesystem::path& directory,
                               const std::vector<std::string>& names, std::size_t first_metric)
    : size_(size),
      precision_(size, directory),
      names_(names),
      first_metric_(first_metric),
      annotated_(static_cast<std::size_t>(size.truths_of_a_picture)),
      boxes_of_class_(static_cast<std::size_t>(size.classes)) {}

void DetectionTally::clear() {
  if (precision_.found() > 0) precision_.finish();
  std::ranges::fill(boxes_of_class_, 0);
  scores_ = {};
}

void DetectionTally::look_at(const StepTensors& results, const Batch& batch, std::int64_t at) {
  truths_.clear();
  const CanvasPlacement& placed = batch.placements[static_cast<std::size_t>(at)];
  const std::int64_t annotated =
      upright_truth(*batch.source, batch.samples[static_cast<std::size_t>(at)], placed, annotated_);
  // What cannot be found is no truth, as it is none for training.
  for (const Box& box : std::span(annotated_).first(static_cast<std::size_t>(annotated)))
    if (is_usable(box, placed.image)) truths_.push_back(truth_of(box));
  find_in(results, batch, at, found_);
}

void DetectionTally::add_picture() {
  for (const boxes::TruthBox& truth : truths_)
    if (!truth.crowd) ++boxes_of_class_[static_cast<std::size_t>(truth.label)];
  precision_.add_picture(truths_, found_);
}

void DetectionTally::add(const StepTensors& results, const Batch& batch) {
  for (std::int64_t i = 0; i < batch.count; ++i) {
    look_at(results, batch, i);
    add_picture();
  }
}

std::string DetectionTally::evidence(const StepTensors& results, const Batch& batch) {
  Packer packer;
  packer.put(batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    look_at(results, batch, i);
    packer.put_all(std::span<const boxes::TruthBox>(truths_));
    packer.put_all(std::span<const boxes::FoundBox>(found_));
  }
  return packer.bytes();
}

void DetectionTally::add_evidence(std::string_view evidence) {
  Unpacker unpacker(evidence, kEvidence);
  const auto is_known = [&](const auto& box) {
    return box.label >= 0 && box.label < size_.classes;
  };
  const auto pictures = unpacker.take<std::int64_t>();
  for (std::int64_t i = 0; i < pictures; ++i) {
    unpacker.take_all(truths_);
    unpacker.take_all(found_);
    if (std::ssize(truths_) > size_.truths_of_a_picture ||
        std::ssize(found_) > size_.found_in_a_picture || !std::ranges::all_of(truths_, is_known) ||
        !std::ranges::all_of(found_, is_known))
      unpacker.fail("boxes of other data");
    add_picture();
  }
  unpacker.end();
}

void DetectionTally::finish(std::span<double> metrics) {
  scores_ = precision_.finish();
  metrics[first_metric_] = std::max(scores_.coco[0], 0.0);
  metrics[first_metric_ + 1] = std::max(scores_.coco[1], 0.0);
}

ClassTable DetectionTally::classes() const {
  using Unit = ClassTable::Unit;
  ClassTable table{.columns = {{"boxes", "boxes", Unit::count},
                               {"ap", "AP", Unit::number},
                               {"ap50", "AP50", Unit::number},
                               {"voc2007", "VOC 2007", Unit::number},
                               {"voc2012", "VOC 2012", Unit::number}},
                   .remark_title = {},
                   .rows = {}};
  for (std::size_t c = 0; c < scores_.classes.size() && c < names_.size(); ++c) {
    const boxes::ClassPrecision& one = scores_.classes[c];
    table.rows.push_back({.name = names_[c],
                          .values = {static_cast<double>(boxes_of_class_[c]), one.ap, one.ap50,
                                     one.voc_2007, one.voc_2012},
                          .remark = {}});
  }
  return table;
}

std::vector<EvaluationPicture> DetectionTally::pictures(const std::string& title) const {
  if (scores_.coco[1] < 0 || scores_.classes.empty()) return {};
  const auto series = [](std::string name, const boxes::RecallCurve& curve) {
    draw::Series made{.name = std::move(name), .points = {}};
    for (std::size_t i = 0; i < curve.size(); ++i)
      made.points.push_back({static_cast<double>(i) * 0.01, curve[i]});
    return made;
  };
  draw::Panel panel{.title = "precision at IoU 0.5", .low = 0, .high = 1, .height = 360};
  for (std::size_t c = 0; c < scores_.curves50.size() && c < names_.size(); ++c)
    if (scores_.classes[c].ap50 >= 0 && scores_.classes.size() > 1)
      panel.series.push_back(series(
          fmt::format("{}: AP50 {:.3f}", names_[c], scores_.classes[c].ap50), scores_.curves50[c]));
  const bool is_alone = panel.series.empty();
  panel.series.push_back(
      series(fmt::format("{}: AP50 {:.3f}", is_alone ? "all classes" : "mean", scores_.coco[1]),
             scores_.precision50));
  panel.series.back().colour = "#222222";
  panel.series.back().dashed = !is_alone;
  return {
      {"precision_recall.svg",
       draw::line_chart_svg({.title = title,
                             .subtitle = fmt::format("mAP {:.3f} (IoU 0.5 to 0.95), mAP50 {:.3f}",
                                                     scores_.coco[0], scores_.coco[1]),
                             .x_name = "recall",
                             .panels = {std::move(panel)}})}};
}

}  // namespace plimsoll
