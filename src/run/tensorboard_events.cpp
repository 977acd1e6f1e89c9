#include "run/tensorboard_events.h"

#include <algorithm>

#include "base/memory_usage.h"
#include "tensor/convert.h"

namespace plimsoll {
namespace {

// Enough for a curve, not for every step of a long run.
constexpr std::int64_t kEverySteps = 10;
constexpr std::int64_t kHistogramValues = 1 << 14;

EventFileOptions options_for(std::int64_t resumed_at) {
  EventFileOptions options;
  if (resumed_at > 0) options.resumed_at = resumed_at;
  return options;
}

// Width and height of a PNG file.
std::pair<std::int64_t, std::int64_t> size_of_png(std::string_view png) {
  const auto number = [&](std::size_t at) {
    std::int64_t value = 0;
    for (std::size_t i = at; i < at + 4 && i < png.size(); ++i)
      value = value << 8 | static_cast<unsigned char>(png[i]);
    return value;
  };
  return {number(16), number(20)};
}

}  // namespace

TensorboardEvents::TensorboardEvents(const RunOptions& options, const Task& task,
                                     std::int64_t resumed_at)
    : task_(task) {
  if (!options.leads()) return;
  train_.emplace(options.out / "train", options_for(resumed_at));
  validation_.emplace(options.out / "validation", options_for(resumed_at));
}

void TensorboardEvents::step(const Progress& progress, double loss) {
  if (!train_ || (progress.step % kEverySteps != 0 && progress.step != 1)) return;
  train_->scalar("batch_loss", progress.step, loss);
  train_->scalar("learning_rate", progress.step, progress.lr);
  train_->scalar("speed/images_per_second", progress.step, progress.images_per_second);
  train_->scalar("speed/data_wait_percent", progress.step, progress.data_wait_percent);
  train_->scalar("memory/resident_bytes", progress.step,
                 static_cast<double>(memory_usage().resident.count));
}

void TensorboardEvents::epoch(const Progress& train, const std::optional<Evaluation>& validation) {
  if (!train_) return;
  train_->scalar("epoch_loss", train.epoch, train.loss);
  for (std::size_t m : metrics_of_training(task_))
    train_->scalar("epoch_" + task_.metrics()[m].name, train.epoch, train.metrics[m]);
  train_->scalar("epoch_learning_rate", train.epoch, train.lr);
  if (validation) {
    validation_->scalar("epoch_loss", train.epoch, validation->loss);
    for (std::size_t m = 0; m < task_.metrics().size(); ++m)
      validation_->scalar("epoch_" + task_.metrics()[m].name, train.epoch, validation->metrics[m]);
  }
  flush();
}

void TensorboardEvents::histograms(const Trainer& trainer, std::int64_t step) {
  if (!train_) return;
  std::vector<float> values(kHistogramValues);
  for (const NamedTensor& tensor : weight_tensors(trainer.session(), trainer.step_graph())) {
    const std::int64_t count = std::min(kHistogramValues, tensor.view.spec.shape.elements());
    const std::span<float> part = std::span(values).first(static_cast<std::size_t>(count));
    read_elements(tensor.view, 0, part);
    train_->histogram(tensor.name, step, part);
  }
}

void TensorboardEvents::first_batch(std::string_view png) {
  if (!train_) return;
  const auto [width, height] = size_of_png(png);
  train_->image("train_batch0", 0, width, height, png);
}

void TensorboardEvents::flush() {
  if (!train_) return;
  train_->flush();
  validation_->flush();
}

const std::string& TensorboardEvents::failure() const {
  static const std::string kNothing;
  if (!train_) return kNothing;
  return train_->failure().empty() ? validation_->failure() : train_->failure();
}

}  // namespace plimsoll
