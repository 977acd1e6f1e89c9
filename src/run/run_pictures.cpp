#include "run/run_pictures.h"

#include <algorithm>

#include "base/files.h"
#include "base/memory_usage.h"
#include "draw/mosaic.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostSamples = 1024;
constexpr double kSecondsBetweenPictures = 10;

// What is shown of a detector that is still learning; `predict` asks for more.
constexpr double kShownScore = 0.3;
constexpr std::size_t kMostShown = 100;  // boxes of a picture
constexpr std::size_t kMostScored = 10;

// The boxes that sample `at` of a batch is trained on.
std::vector<draw::DrawnBox> true_boxes(const Batch& batch, std::size_t at) {
  std::vector<draw::DrawnBox> boxes;
  if (batch.most_boxes == 0) return boxes;
  const std::vector<std::string>& names = batch.source->class_names();
  const auto own = batch.boxes.subspan(at * static_cast<std::size_t>(batch.most_boxes),
                                       static_cast<std::size_t>(batch.box_counts[at]));
  for (const PlacedBox& box : own.first(std::min(own.size(), kMostShown)))
    boxes.push_back({.x0 = static_cast<double>(box.x0),
                     .y0 = static_cast<double>(box.y0),
                     .x1 = static_cast<double>(box.x1),
                     .y1 = static_cast<double>(box.y1),
                     .name = names[static_cast<std::size_t>(box.label)],
                     .label = box.label});
  return boxes;
}

// Those that were found in it, on the canvas.
std::vector<draw::DrawnBox> found_boxes(const Task& task, const StepTensors& results,
                                        const Batch& batch, std::size_t at) {
  const CanvasPlacement& placed = batch.placements[at];
  const double across =
      static_cast<double>(placed.extent.width) / static_cast<double>(placed.image.width);
  const double down =
      static_cast<double>(placed.extent.height) / static_cast<double>(placed.image.height);
  std::vector<draw::DrawnBox> boxes;
  for (Prediction& one :
       task.predict(results, batch, static_cast<std::int64_t>(at), kMostShown, false))
    if (one.box && one.score >= kShownScore)
      boxes.push_back({.x0 = one.box->x0 * across,
                       .y0 = one.box->y0 * down,
                       .x1 = one.box->x1 * across,
                       .y1 = one.box->y1 * down,
                       .name = std::move(one.name),
                       .score = one.score,
                       .label = one.label});
  // On a tile, names alone fill the room between so many.
  if (boxes.size() > kMostScored)
    for (draw::DrawnBox& box : boxes) box.score = -1;
  return boxes;
}

double or_none(const std::optional<Evaluation>& found, std::size_t metric) {
  return found ? found->metrics[metric] : draw::kNoValue;
}

}  // namespace

RunPictures::RunPictures(const RunOptions& options, const Task& task, Recorder& recorder)
    : options_(options), task_(task), recorder_(recorder) {
  memory_.reserve(kMostSamples);
  note_memory();
}

void RunPictures::note_memory() {
  const std::scoped_lock lock(mutex_);
  if (seconds_++ % seconds_between_ != 0) return;
  if (memory_.size() == kMostSamples) {
    for (std::size_t i = 0; 2 * i < memory_.size(); ++i)
      memory_[i] = memory_[2 * i].resident_bytes > memory_[2 * i + 1].resident_bytes
                       ? memory_[2 * i]
                       : memory_[2 * i + 1];
    memory_.resize(kMostSamples / 2);
    seconds_between_ *= 2;
  }
  memory_.push_back({recorder_.seconds(), memory_usage().resident.count});
}

void RunPictures::draw(const Tally& tally, bool at_end) {
  if (!options_.leads()) return;
  if (!at_end && drawn_ && drawn_->seconds() < kSecondsBetweenPictures) return;
  drawn_.emplace();
  std::vector<draw::ResultPoint> points;
  const std::size_t headline = headline_of(task_);
  const Metric& metric = task_.metrics()[headline];
  for (const ResultsRow& row : recorder_.rows())
    points.push_back({.epoch = static_cast<double>(row.epoch),
                      .loss = row.loss,
                      .metric = metric.of_training ? row.metrics[headline] : draw::kNoValue,
                      .val_loss = row.validation ? row.validation->loss : draw::kNoValue,
                      .val_metric = or_none(row.validation, headline),
                      .lr = row.lr});
  const std::string name = options_.model + " on " + options_.data;
  const draw::ShownMetric shown{.name = metric.is_mean ? metric.name : metric.title,
                                .is_share = metric.unit == Metric::Unit::share,
                                .higher_is_better = metric.higher_is_better};
  recorder_.attempt("curves.svg", [&] {
    replace_file(options_.out / "curves.svg", draw::curves_picture(name, shown, points));
  });
  if (at_end) note_memory();
  std::vector<draw::MemorySample> samples;
  {
    const std::scoped_lock lock(mutex_);
    samples = memory_;
  }
  std::optional<std::int64_t> budget;
  if (options_.budget_bytes != kUnlimited.count) budget = options_.budget_bytes;
  recorder_.attempt("memory.svg", [&] {
    replace_file(options_.out / "memory.svg",
                 draw::memory_picture(name, samples, options_.predicted_bytes, budget));
  });
  for (const EvaluationPicture& picture : tally.pictures(name))
    recorder_.attempt(picture.file.c_str(),
                      [&] { replace_file(options_.out / picture.file, picture.svg); });
}

std::string RunPictures::draw_batch(const Batch& batch, std::int64_t height, std::int64_t width,
                                    std::int64_t channels) {
  if (!options_.leads()) return {};
  std::vector<draw::Tile> tiles;
  const auto bytes = static_cast<std::size_t>(height * width * channels);
  for (std::size_t i = 0; i < batch.samples.size() && i < kSheetTiles; ++i)
    tiles.push_back(
        {batch.pixels.subspan(i * bytes, bytes), task_.caption(batch, i), true_boxes(batch, i)});
  std::string png =
      draw::mosaic_png(tiles, {.width = width, .height = height, .channels = channels});
  recorder_.attempt("train_batch0.png",
                    [&] { replace_file(options_.out / "train_batch0.png", png); });
  return png;
}

void RunPictures::draw_validation(const StepTensors& results, const Batch& batch, bool is_last) {
  if (!options_.leads() || batch.first != 0 || batch.most_boxes == 0) return;
  if (!is_last && validation_drawn_ && validation_drawn_->seconds() < kSecondsBetweenPictures)
    return;
  validation_drawn_.emplace();
  const Shape& image = results.at("image").spec.shape;
  const draw::TileShape tile{.width = image[3], .height = image[2], .channels = image[1]};
  const auto bytes = static_cast<std::size_t>(tile.width * tile.height * tile.channels);
  std::vector<draw::Tile> tiles;
  for (std::size_t i = 0; i < batch.samples.size() && tiles.size() + 2 <= kSheetTiles; ++i) {
    const auto pixels = batch.pixels.subspan(i * bytes, bytes);
    std::vector<draw::DrawnBox> found = found_boxes(task_, results, batch, i);
    const std::string count = std::to_string(found.size()) + " found";
    tiles.push_back({pixels, "truth: " + task_.caption(batch, i), true_boxes(batch, i)});
    tiles.push_back({pixels, count, std::move(found)});
  }
  recorder_.attempt("val_batch0.png", [&] {
    replace_file(options_.out / "val_batch0.png", draw::mosaic_png(tiles, tile, true));
  });
  release_free_memory();
}

}  // namespace plimsoll
