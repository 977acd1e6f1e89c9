#include "task/detection.h"

#include <algorithm>

#include "base/error.h"
#include "task/detection_stages.h"
#include "task/detection_tally.h"

namespace plimsoll {
namespace {

// Places in metrics().
enum : std::size_t { kClassLoss, kBoxLoss, kMap, kMap50 };

class Detection final : public Task {
 public:
  explicit Detection(const DetectionOptions& options) : o_(options) {}

  std::string_view name() const override { return "detection"; }

  nn::Regions regions(Graph& graph, const std::vector<nn::Level>& levels,
                      const nn::RegionOptions& options, bool training) const override {
    return make_regions(graph, levels, options, o_, training);
  }

  TaskValues append(Graph& graph, const nn::Heads& heads, bool training) const override {
    return heads.second.scores ? append_two_stages(graph, heads, o_, training)
                               : append_one_stage(graph, heads, o_, training);
  }

  void fill(const Batch& batch, std::int64_t first, std::int64_t count,
            const StepTensors& inputs) const override {
    const TensorView boxes = inputs.at("boxes");
    const TensorView labels = inputs.at("box_labels");
    const TensorView counts = inputs.at("box_count");
    const std::optional<TensorView> extent = inputs.find("extent");
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(first + i);
      const std::int32_t found = batch.box_counts.empty() ? 0 : batch.box_counts[at];
      counts.at<std::int32_t>(i) = found;
      float* corner = boxes.image<float>(i);
      std::int32_t* label = labels.image<std::int32_t>(i);
      std::fill_n(corner, 4 * o_.most_boxes, 0.0F);
      std::fill_n(label, o_.most_boxes, 0);
      const auto own = batch.boxes.subspan(at * static_cast<std::size_t>(batch.most_boxes),
                                           static_cast<std::size_t>(found));
      for (const PlacedBox& box : own) {
        for (const float value : {box.x0, box.y0, box.x1, box.y1}) *corner++ = value;
        *label++ = box.label;
      }
      if (!extent) continue;
      const Size& covered = batch.placements[at].extent;
      extent->at<float>(i, 0) = static_cast<float>(covered.height);
      extent->at<float>(i, 1) = static_cast<float>(covered.width);
    }
    if (const auto lots = inputs.find(kLots)) {
      lots->at<std::int64_t>(0) = batch.samples[static_cast<std::size_t>(first)];
      lots->at<std::int64_t>(1) = 0;
    }
  }

  // Eight boxes a picture, of sides from a tenth to a half of the canvas.
  void fill_synthetic(const StepTensors& step, std::int64_t count) const override {
    const Shape& canvas = step.at("image").spec.shape;
    const auto height = static_cast<float>(canvas[2]);
    const auto width = static_cast<float>(canvas[3]);
    const std::int64_t boxes = std::min<std::int64_t>(8, o_.most_boxes);
    for (std::int64_t n = 0; n < count; ++n) {
      step.at("box_count").at<std::int32_t>(n) = static_cast<std::int32_t>(boxes);
      for (std::int64_t b = 0; b < boxes; ++b) {
        const float side = 0.1F + 0.05F * static_cast<float>(b);
        const float left = 0.06F * static_cast<float>((b + n) % 8);
        float* corner = step.at("boxes").image<float>(n) + 4 * b;
        corner[0] = left * width;
        corner[1] = left * height;
        corner[2] = (left + side) * width;
        corner[3] = (left + side) * height;
        step.at("box_labels").image<std::int32_t>(n)[b] =
            static_cast<std::int32_t>((n + b) % o_.classes);
      }
      if (const auto extent = step.find("extent")) {
        extent->at<float>(n, 0) = height;
        extent->at<float>(n, 1) = width;
      }
    }
    if (const auto lots = step.find(kLots))
      lots->at<std::int64_t>(0) = lots->at<std::int64_t>(1) = 0;
  }

  const std::vector<Metric>& metrics() const override {
    static const std::vector<Metric> kMetrics = [] {
      const auto loss = [](const char* name, const char* title, const char* brief) {
        return Metric{.name = name,
                      .sum = name,
                      .title = title,
                      .brief = brief,
                      .unit = Metric::Unit::number,
                      .higher_is_better = false,
                      .column = Metric::Column::behind};
      };
      const auto precision = [](const char* name, const char* title) {
        return Metric{.name = name,
                      .sum = name,
                      .title = title,
                      .brief = title,
                      .unit = Metric::Unit::number,
                      .of_training = false,
                      .column = Metric::Column::behind,
                      .is_mean = false};
      };
      return std::vector<Metric>{loss("cls_loss", "class loss", "cls"),
                                 loss("box_loss", "box loss", "box"), precision("map", "mAP"),
                                 precision("map50", "mAP50")};
    }();
    return kMetrics;
  }
  void read(const StepTensors& results, std::span<double> sums) const noexcept override {
    const auto images = static_cast<double>(results.at("box_count").spec.shape[0]);
    sums[kClassLoss] = static_cast<double>(results.at("cls_loss").at<float>(0)) * images;
    sums[kBoxLoss] = static_cast<double>(results.at("box_loss").at<float>(0)) * images;
    sums[kMap] = sums[kMap50] = 0;
  }

  std::unique_ptr<Tally> make_tally(const std::filesystem::path& directory) const override {
    return std::make_unique<DetectionTally>(evaluation_size(), directory, o_.class_names, kMap);
  }
  Bytes tally_bytes() const override { return boxes::AveragePrecision::memory(evaluation_size()); }

  std::vector<Prediction> predict(const StepTensors& results, const Batch& batch, std::int64_t at,
                                  std::size_t most, bool) const override {
    std::vector<boxes::FoundBox> found;
    find_in(results, batch, at, found);
    std::vector<Prediction> predictions;
    for (const boxes::FoundBox& one : found) {
      if (predictions.size() == most) break;
      predictions.push_back(
          {.name = name_of(one.label),
           .score = static_cast<double>(one.score),
           .box = boxes::Box<double>{one.x, one.y, one.x + one.width, one.y + one.height},
           .label = one.label});
    }
    return predictions;
  }
  std::string caption(const Batch& batch, std::size_t at) const override {
    const std::int32_t found = batch.box_counts[at];
    return std::to_string(found) + (found == 1 ? " box" : " boxes");
  }

 private:
  boxes::EvaluationSize evaluation_size() const {
    return {.classes = o_.classes,
            .truths_of_a_picture = std::max<std::int64_t>(1, o_.most_truths),
            .found_in_a_picture = kMostDetections,
            .truths_of_a_class = std::max<std::int64_t>(1, o_.most_truths_of_class)};
  }
  std::string name_of(std::int32_t label) const {
    const auto at = static_cast<std::size_t>(label);
    return at < o_.class_names.size() ? o_.class_names[at] : std::to_string(label);
  }

  DetectionOptions o_;
};

}  // namespace

TaskPtr make_detection(const DetectionOptions& options) {
  expect(options.most_boxes >= 1 && options.classes >= 1, "a detector has something to find");
  return std::make_shared<Detection>(options);
}

}  // namespace plimsoll
