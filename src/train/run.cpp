#include "train/run.h"

#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/memory_usage.h"
#include "base/stopwatch.h"
#include "train/records.h"

namespace plimsoll {
namespace {

// Means over the samples of one phase of one epoch, and where its time went.
struct Tally {
  Stopwatch watch;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double loss_sum = 0;
  double waiting = 0;  // seconds

  void count(const StepResult& result, std::int64_t batch) {
    samples += batch;
    correct += result.correct;
    loss_sum += result.loss * static_cast<double>(batch);
  }
  void describe(Progress* progress) const {
    const auto count = static_cast<double>(samples);
    const double elapsed = watch.seconds();
    progress->loss = loss_sum / count;
    progress->accuracy = static_cast<double>(correct) / count;
    progress->images_per_second = count / elapsed;
    progress->data_wait_percent = 100 * waiting / elapsed;
    progress->seconds_left = elapsed / static_cast<double>(progress->batch) *
                             static_cast<double>(progress->batches - progress->batch);
  }
};

// Puts pictures [first, first + count) of a batch into the tensors of a step.
void fill(const Batch& batch, const Normalisation& how, const TensorView& image,
          const TensorView& label, std::int64_t first, std::int64_t count) {
  const Shape& shape = image.spec.shape;
  const Size size{.height = shape[2], .width = shape[3]};
  const std::int64_t bytes = shape[1] * shape[2] * shape[3];
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    normalise(batch.pixels.data() + (first + i) * bytes, size, static_cast<int>(shape[1]), how,
              image.image<float>(i));
    label.at<std::int32_t>(i) = batch.labels[static_cast<std::size_t>(first + i)];
  }
}

// The next batch and the seconds it kept us waiting.
std::optional<Batch> next_batch(Pipeline& pipeline, double* waiting) {
  const Stopwatch watch;
  std::optional<Batch> batch = pipeline.next();
  *waiting += watch.seconds();
  return batch;
}

Progress evaluate(Trainer& trainer, const RunData& data, std::int64_t batch_size, Progress progress,
                  RunObserver& observer) {
  Tally tally;
  progress.phase = Phase::evaluate;
  progress.batch = 0;
  progress.batches = (data.validation_samples + batch_size - 1) / batch_size;
  data.validation->start(0, 0);
  while (const auto batch = next_batch(*data.validation, &tally.waiting)) {
    fill(*batch, data.normalisation, trainer.image(Phase::evaluate, batch->count),
         trainer.label(Phase::evaluate, batch->count), 0, batch->count);
    tally.count(trainer.evaluate_step(batch->count), batch->count);
    ++progress.batch;
    tally.describe(&progress);
    observer.on_progress(progress);
  }
  return progress;
}

Metadata checkpoint_metadata(const RunOptions& options, std::int64_t steps, std::int64_t epoch,
                             std::int64_t position, std::int64_t samples) {
  return {{"format", "plimsoll 1"},
          {"model", options.model},
          {"seed", std::to_string(options.seed)},
          {"step", std::to_string(steps)},
          {"epoch", std::to_string(epoch)},
          {"position", std::to_string(position)},
          {"samples", std::to_string(samples)}};
}

void save_checkpoint(const Trainer& trainer, const std::filesystem::path& path,
                     const Metadata& metadata) {
  std::vector<NamedTensor> tensors = weight_tensors(trainer.session(), trainer.step_graph());
  for (NamedTensor& slot : slot_tensors(trainer.session(), trainer.step_graph()))
    tensors.push_back(std::move(slot));
  save_tensors(path, tensors, metadata);
}

}  // namespace

std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last) {
  std::vector<std::int64_t> sizes;
  if (samples >= batch) sizes.push_back(batch);
  if (samples % batch != 0 && (!drop_last || sizes.empty())) sizes.push_back(samples % batch);
  return sizes;
}

RunReport run_training(Trainer& trainer, const RunData& data, const RunOptions& options,
                       RunObserver& observer, const std::atomic<int>& interrupt) {
  const Stopwatch watch;
  const bool drops = options.drop_last && data.train_samples >= options.batch;
  const std::int64_t per_epoch =
      drops ? data.train_samples / options.batch * options.batch : data.train_samples;
  const std::int64_t steps_per_epoch = (per_epoch + options.batch - 1) / options.batch;
  const std::int64_t all_steps = steps_per_epoch * options.epochs;
  const Schedule schedule(options.schedule, options.lr,
                          options.steps > 0 ? std::min(options.steps, all_steps) : all_steps);
  ResultsFile results(options.out / "results.csv");
  RunReport report{.model = options.model, .stopped_by = "epochs"};
  Progress progress{.epochs = options.epochs};
  double training_seconds = 0;
  double waiting = 0;
  std::int64_t position = 0;
  std::int64_t epoch = 0;
  bool stop = false;
  const auto save = [&] {
    const std::filesystem::path checkpoint = options.out / "weights" / "last.safetensors";
    make_directories(checkpoint.parent_path());
    save_checkpoint(trainer, checkpoint,
                    checkpoint_metadata(options, report.steps, epoch, position, report.images));
    observer.on_saved(checkpoint);
  };
  const auto next_or_save = [&](double* seconds) {
    try {
      return next_batch(data.train, seconds);
    } catch (const DataError&) {
      save();
      throw;
    }
  };
  data.train.start(0, 0);
  while (epoch < options.epochs && !stop) {
    Tally tally;
    progress.phase = Phase::train;
    progress.epoch = epoch + 1;
    progress.batch = 0;
    progress.batches = steps_per_epoch;
    for (position = 0; position < per_epoch && !stop;) {
      const std::optional<Batch> batch = next_or_save(&tally.waiting);
      expect(batch && batch->epoch == epoch && batch->first == position,
             "the pipeline and the run are at the same place");
      const std::int64_t count = batch->count;
      const StepResult result = trainer.train_batch(
          count, static_cast<float>(schedule.rate(report.steps)), report.steps, report.images,
          [&](const TensorView& image, const TensorView& label, std::int64_t first,
              std::int64_t part) { fill(*batch, data.normalisation, image, label, first, part); });
      if (!std::isfinite(result.gradient_norm)) {
        report.stopped_by = "not finite";
        stop = true;
        break;
      }
      tally.count(result, count);
      position += count;
      report.images += count;
      ++report.steps;
      ++progress.batch;
      tally.describe(&progress);
      observer.on_progress(progress);
      if (options.steps > 0 && report.steps >= options.steps) report.stopped_by = "steps";
      if (interrupt.load(std::memory_order_relaxed) != 0) report.stopped_by = "interrupt";
      stop = report.stopped_by != "epochs";
    }
    training_seconds += tally.watch.seconds();
    waiting += tally.waiting;
    if (position >= per_epoch) {
      ++epoch;
      position = 0;
    }
    std::optional<Progress> measured;
    if (data.validation != nullptr && report.stopped_by != "interrupt" &&
        report.stopped_by != "not finite") {
      measured = evaluate(trainer, data, options.batch, progress, observer);
      report.val_loss = measured->loss;
      report.val_accuracy = measured->accuracy;
    }
    report.loss = progress.loss;
    report.accuracy = progress.accuracy;
    results.append({.epoch = progress.epoch,
                    .step = report.steps,
                    .time = watch.seconds(),
                    .train = progress,
                    .validation = measured,
                    .lr = schedule.rate(std::max<std::int64_t>(0, report.steps - 1)),
                    .memory = memory_usage().peak()});
    observer.on_epoch_end(progress, measured);
  }
  report.epochs = epoch;
  save();
  report.seconds = watch.seconds();
  report.images_per_second =
      training_seconds > 0 ? static_cast<double>(report.images) / training_seconds : 0;
  report.data_wait_percent = training_seconds > 0 ? 100 * waiting / training_seconds : 0;
  report.budget_bytes = options.budget_bytes;
  report.predicted_bytes = options.predicted_bytes;
  report.cgroup_peak_bytes = cgroup_peak();
  report.measured_peak_bytes = memory_usage().peak().count;
  report.arena_bytes = trainer.session().arena_bytes();
  write_report(options.out / "report.json", report);
  return report;
}

}  // namespace plimsoll
