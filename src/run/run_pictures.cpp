#include "run/run_pictures.h"

#include <algorithm>

#include "base/files.h"
#include "base/memory_usage.h"
#include "draw/confusion_chart.h"
#include "draw/mosaic.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostSamples = 1024;
constexpr double kSecondsBetweenPictures = 10;

double or_none(const std::optional<double>& value) { return value.value_or(draw::kNoValue); }

}  // namespace

RunPictures::RunPictures(const RunOptions& options, Recorder& recorder)
    : options_(options), recorder_(recorder) {
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

void RunPictures::draw(const ClassCounts& counts, bool at_end) {
  if (!at_end && drawn_ && drawn_->seconds() < kSecondsBetweenPictures) return;
  drawn_.emplace();
  std::vector<draw::ResultPoint> points;
  for (const ResultsRow& row : recorder_.rows())
    points.push_back({.epoch = static_cast<double>(row.epoch),
                      .loss = row.loss,
                      .accuracy = row.accuracy,
                      .val_loss = or_none(row.val_loss),
                      .val_accuracy = or_none(row.val_accuracy),
                      .lr = row.lr});
  const std::string name = options_.model + " on " + options_.data;
  recorder_.attempt("curves.svg", [&] {
    replace_file(options_.out / "curves.svg", draw::curves_picture(name, points));
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
  if (!counts.has_confusion() || counts.classes() != std::ssize(options_.class_names)) return;
  if (std::all_of(counts.confusion().begin(), counts.confusion().end(),
                  [](std::int64_t count) { return count == 0; }))
    return;
  recorder_.attempt("confusion.svg", [&] {
    replace_file(options_.out / "confusion.svg",
                 draw::confusion_chart_svg(name, options_.class_names, counts.confusion()));
  });
}

std::string RunPictures::draw_batch(const Batch& batch, std::int64_t height, std::int64_t width,
                                    std::int64_t channels) {
  std::vector<draw::Tile> tiles;
  const auto bytes = static_cast<std::size_t>(height * width * channels);
  for (std::size_t i = 0; i < batch.labels.size() && i < kSheetTiles; ++i)
    tiles.push_back({batch.pixels.subspan(i * bytes, bytes),
                     options_.class_names[static_cast<std::size_t>(batch.labels[i])]});
  std::string png =
      draw::mosaic_png(tiles, {.width = width, .height = height, .channels = channels});
  recorder_.attempt("train_batch0.png",
                    [&] { replace_file(options_.out / "train_batch0.png", png); });
  return png;
}

}  // namespace plimsoll
