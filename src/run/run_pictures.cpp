#include "run/run_pictures.h"

#include <algorithm>

#include "base/files.h"
#include "base/memory_usage.h"
#include "draw/mosaic.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostSamples = 1024;
constexpr double kSecondsBetweenPictures = 10;

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
  const draw::ShownMetric shown{.name = metric.name,
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
  std::vector<draw::Tile> tiles;
  const auto bytes = static_cast<std::size_t>(height * width * channels);
  for (std::size_t i = 0; i < batch.samples.size() && i < kSheetTiles; ++i)
    tiles.push_back({batch.pixels.subspan(i * bytes, bytes), task_.caption(batch, i)});
  std::string png =
      draw::mosaic_png(tiles, {.width = width, .height = height, .channels = channels});
  recorder_.attempt("train_batch0.png",
                    [&] { replace_file(options_.out / "train_batch0.png", png); });
  return png;
}

}  // namespace plimsoll
