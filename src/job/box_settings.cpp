#include "job/box_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "boxes/box.h"
#include "task/detection_anchors.h"

namespace plimsoll::job {
namespace {

constexpr std::int64_t kSmallestBase = 4;  // below, sides of flat anchors round to nothing
constexpr std::int64_t kLargestBase = 4096;
constexpr std::int64_t kLargestChosen = 48;  // where it is left to the program
constexpr double kReached = 0.5;             // IoU
constexpr double kWellCovered = 0.9;         // share of a class's boxes

std::optional<std::int64_t> parse_base(const std::string& text) {
  std::int64_t base = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), base);
  if (error != std::errc() || end != text.data() + text.size() || base < kSmallestBase ||
      base > kLargestBase)
    return std::nullopt;
  return base;
}

// The anchors of a network over its canvas.
std::vector<boxes::AnchorLevel> anchors_of(const ModelSettings& model, std::int64_t base) {
  const nn::Input input = model.input();
  return detection_anchors(input.image.h, input.image.w, model.levels(), base);
}

// The largest IoU of a box with an anchor: of each shape, with the four about its centre.
double best_iou(const std::vector<boxes::AnchorLevel>& levels, const boxes::Box<float>& box) {
  float best = 0;
  for (const boxes::AnchorLevel& level : levels) {
    const auto nearest = [](float centre, std::int64_t stride, std::int64_t cells) {
      const auto at = static_cast<std::int64_t>(std::floor(centre / static_cast<float>(stride)));
      return std::clamp<std::int64_t>(at, 0, cells - 1);
    };
    const std::int64_t row = nearest((box.y0 + box.y1) / 2, level.stride_y, level.rows);
    const std::int64_t column = nearest((box.x0 + box.x1) / 2, level.stride_x, level.columns);
    for (std::int64_t shape = 0; shape < std::ssize(level.shapes); ++shape)
      for (const std::int64_t r : {row, std::min(row + 1, level.rows - 1)})
        for (const std::int64_t c : {column, std::min(column + 1, level.columns - 1)})
          best = std::max(best, boxes::iou(level.box<float>(r, c, shape), box));
  }
  return static_cast<double>(best);
}

// What 5, 50 and 95 of a hundred stay below.
std::array<double, 3> percentiles(std::vector<double>& values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {at(0.05), at(0.5), at(0.95)};
}

struct Reached {
  std::vector<AnchorCoverage> classes;
  std::int64_t in_all = 0;
};

Reached find_reached(const ModelSettings& model, const Source& source, std::int64_t base) {
  const std::vector<boxes::AnchorLevel> levels = anchors_of(model, base);
  const nn::Input input = model.input();
  const Size canvas{.height = input.image.h, .width = input.image.w};
  Reached found;
  std::vector<std::vector<double>> sides(source.class_names().size());
  for (const std::string& name : source.class_names()) found.classes.push_back({.name = name});
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const Size frame = source.annotated_size(i);
    if (frame.height < 1 || frame.width < 1) continue;
    const Size extent = extent_of(frame, canvas, Fit::letterbox);
    const float x = static_cast<float>(extent.width) / static_cast<float>(frame.width);
    const float y = static_cast<float>(extent.height) / static_cast<float>(frame.height);
    for (const Box& box : source.boxes(i)) {
      if (!is_trained_on(box, frame)) continue;
      AnchorCoverage& own = found.classes[static_cast<std::size_t>(box.label)];
      ++own.boxes;
      sides[static_cast<std::size_t>(box.label)].push_back(
          std::sqrt(static_cast<double>((box.x1 - box.x0) * x * (box.y1 - box.y0) * y)));
      if (best_iou(levels, {box.x0 * x, box.y0 * y, box.x1 * x, box.y1 * y}) < kReached) continue;
      ++own.reached;
      ++found.in_all;
    }
  }
  for (std::size_t c = 0; c < sides.size(); ++c) found.classes[c].sides = percentiles(sides[c]);
  return found;
}

// By the worst class first: one that nothing reaches is never found, however many others are.
std::int64_t choose_base(const ModelSettings& model, const Source& source) {
  const std::int64_t stride = anchors_of(model, 1)[0].stride_y;
  std::int64_t best = 0;
  double best_share = -1;
  std::int64_t best_reached = -1;
  const std::int64_t step = std::max<std::int64_t>(1, stride / 4);
  for (std::int64_t base = std::max(kSmallestBase, stride * 3 / 2); base <= kLargestChosen;
       base += step) {
    const Reached found = find_reached(model, source, base);
    double worst = 1;
    for (const AnchorCoverage& one : found.classes) worst = std::min(worst, one.share());
    // Whole percents: a tenth more of one class is not worth less of all others.
    const double share = std::floor(worst * 100);
    if (share < best_share || (share == best_share && found.in_all <= best_reached)) continue;
    best = base;
    best_share = share;
    best_reached = found.in_all;
  }
  return best;
}

}  // namespace

double AnchorCoverage::share() const {
  return boxes == 0 ? 1 : static_cast<double>(reached) / static_cast<double>(boxes);
}

void BoxSettings::check() const {
  if (anchors.empty() || anchors == "auto" || parse_base(anchors)) return;
  throw UsageError({.where = "--anchors",
                    .got = "'" + anchors + "'",
                    .expected = fmt::format("expected auto, or {} to {} pixels: the side of the "
                                            "smallest anchor of the finest level",
                                            kSmallestBase, kLargestBase)});
}

std::int64_t BoxSettings::base(const zoo::Network& network) const {
  if (anchor_base > 0) return anchor_base;
  return parse_base(anchors).value_or(network.anchor_base);
}

void BoxSettings::settle_sizes(const Source& evaluated) {
  const Index& index = evaluated.index();
  most_boxes = std::max<std::int64_t>(1, index.max_boxes);
  most_truths = std::max<std::int64_t>(1, index.max_truths);
  most_truths_of_class = 1;
  if (!evaluated.has_boxes()) return;
  for (const std::int64_t count : index.per_class)
    most_truths_of_class = std::max(most_truths_of_class, count);
}

void BoxSettings::settle(const ModelSettings& model, const Source& train,
                         const Source* validation) {
  const Index& index = train.index();
  if (index.max_boxes == 0)
    throw UsageError(
        {.where = "DATA",
         .got = fmt::format("{} pictures without a box that can be trained on", index.samples),
         .expected = "expected boxes to find"});
  if (validation != nullptr) settle_sizes(*validation);
  most_boxes = validation == nullptr ? index.max_boxes : std::max(most_boxes, index.max_boxes);
  anchor_base = anchors == "auto" ? choose_base(model, train) : base(model.network());
}

std::vector<AnchorCoverage> anchor_coverage(const ModelSettings& model, const Source& source,
                                            std::int64_t base) {
  return find_reached(model, source, base).classes;
}

bool is_well_covered(const std::vector<AnchorCoverage>& found) {
  return std::ranges::all_of(found,
                             [](const AnchorCoverage& one) { return one.share() >= kWellCovered; });
}

std::string coverage_text(const std::vector<AnchorCoverage>& found, std::int64_t base) {
  std::vector<std::string> shares;
  for (const AnchorCoverage& one : found)
    if (one.boxes > 0) shares.push_back(fmt::format("{} {:.0f} %", one.name, 100 * one.share()));
  std::string text =
      fmt::format("anchors from {} px reach {} of the boxes", base, join(shares, ", "));
  if (!is_well_covered(found))
    text +=
        "; below 90 % boxes are missed for good: --anchors auto chooses others, a larger "
        "--image helps";
  return text;
}

}  // namespace plimsoll::job
