#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/limits.h"
#include "base/memory_usage.h"
#include "base/stopwatch.h"
#include "run/recorder.h"
#include "run/run_events.h"
#include "run/run_monitor.h"
#include "run/run_pictures.h"
#include "step/layer_watch.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kLookAtLayersEvery = 200;  // steps
// A run that waits more than this share of its time for data is bound by it.
constexpr double kInputBoundPercent = 20;
constexpr std::int64_t kInputBoundSteps = 20;

// The next batch and the seconds it kept us waiting.
std::optional<Batch> next_batch(Pipeline& pipeline, double* waiting) {
  const Stopwatch watch;
  std::optional<Batch> batch = pipeline.next();
  *waiting += watch.seconds();
  return batch;
}

class Run {
 public:
  Run(Trainer& trainer, const RunData& data, const RunOptions& options, const RunState& from,
      RunObserver& observer, const std::atomic<int>& interrupt);
  RunReport go();

 private:
  std::int64_t last_epoch() const {
    return options_.pause_after > 0 ? std::min(options_.pause_after, options_.epochs)
                                    : options_.epochs;
  }
  bool has_stopped() const { return !report_.stopped_by.empty(); }
  bool is_interrupted() const { return interrupt_.load(std::memory_order_relaxed) != 0; }
  double rate() const { return schedule_.rate(state_.step) * state_.lr_scale; }

  void train_epoch();
  void train_one(const Batch& batch);
  void finish_epoch();
  std::optional<Evaluation> validate();
  void judge(double monitored, bool whole_epoch);
  void follow_plateau(double loss);
  void describe(double seconds_left);
  bool save();
  void save_when_due();
  // By the monitor's thread. May not return.
  void answer_stall(Activity activity, const std::string& text);
  // The answer to an alarm: a warning, the end, or the last checkpoint again.
  void answer(const Alarm& alarm, const StepCall& call, Action action);
  void roll_back(const std::string& cause);
  void look_into(const StepCall& call);
  void tell_if_input_bound();
  void tell_if_crowded();
  void finish();

  Trainer& trainer_;
  const RunData& data_;
  const RunOptions& options_;
  RunObserver& observer_;
  const std::atomic<int>& interrupt_;
  RunState state_;
  std::int64_t per_epoch_;  // samples
  std::int64_t steps_per_epoch_;
  RateSchedule schedule_;
  Recorder recorder_;
  RunEvents events_;
  RunPictures pictures_;
  Saver saver_;
  ClassCounts counts_;
  RunReport report_;
  Progress progress_;
  Stopwatch watch_;
  Stopwatch epoch_watch_;
  double epoch_waiting_ = 0;  // seconds of this process
  std::int64_t epoch_images_ = 0;
  double training_seconds_ = 0;
  std::int64_t images_ = 0;
  double last_loss_ = 0;
  bool told_input_bound_ = false;
  bool told_crowded_ = false;
  bool rolled_back_ = false;
  bool is_fed_ = false;  // the training pipeline runs; validation, in the same memory, stops it
  RunMonitor monitor_;   // last: it calls into the above
};

Run::Run(Trainer& trainer, const RunData& data, const RunOptions& options, const RunState& from,
         RunObserver& observer, const std::atomic<int>& interrupt)
    : trainer_(trainer),
      data_(data),
      options_(options),
      observer_(observer),
      interrupt_(interrupt),
      state_(from),
      per_epoch_(options.samples_per_epoch(data.train_samples)),
      steps_per_epoch_((per_epoch_ + options.batch - 1) / options.batch),
      schedule_(options.schedule, options.lr, options.steps_in_all(steps_per_epoch_),
                steps_per_epoch_),
      recorder_(options, from, observer),
      events_(options, from.step),
      pictures_(options, recorder_),
      saver_(options.out, options.save, from.step > 0 ? from.step : -1,
             [this](const std::string& text) { recorder_.message(text); }),
      counts_(static_cast<std::int64_t>(options.class_names.size())),
      monitor_(
          {.every_second =
               [this](Activity activity) {
                 recorder_.write_status(to_string(activity));
                 pictures_.note_memory();
               },
           .stalled = [this](Activity activity,
                             const std::string& text) { answer_stall(activity, text); },
           .squeezed = [this](const std::string& text) { recorder_.message("memory: " + text); }},
          options.resident_bytes()) {
  report_.model = options.model;
  progress_.epochs = options.epochs;
  recorder_.write_status("starting");
}

void Run::answer_stall(Activity activity, const std::string& text) {
  std::string all = "stalled: " + text;
  for (const Pipeline::Doing& doing : data_.train.doing())
    all += fmt::format("  a data worker has been at {} for {:.1f} s\n", doing.where, doing.seconds);
  if (const std::string crowding = options_.crowding(); !crowding.empty())
    all += "  " + crowding + "\n";
  recorder_.message(all);
  // A checkpoint that is being written may be all there is of the run.
  if (options_.watchdog.on_stall != Action::stop || activity == Activity::saving) return;
  recorder_.message(std::filesystem::exists(saver_.last())
                        ? "stopped by the watchdog; the last checkpoint stands"
                        : "stopped by the watchdog; no checkpoint was written before");
  std::_Exit(4);
}

void Run::describe(double seconds_left) {
  const double elapsed = epoch_watch_.seconds();
  progress_.step = state_.step;
  progress_.batch = (state_.position + options_.batch - 1) / options_.batch;
  progress_.batches = steps_per_epoch_;
  progress_.loss = state_.loss_sum / static_cast<double>(state_.counted);
  progress_.accuracy = static_cast<double>(state_.correct) / static_cast<double>(state_.counted);
  progress_.images_per_second = static_cast<double>(epoch_images_) / elapsed;
  progress_.data_wait_percent = 100 * epoch_waiting_ / elapsed;
  progress_.seconds_left = seconds_left;
  progress_.trouble = saver_.trouble();
}

void Run::train_one(const Batch& batch) {
  const Stopwatch watch;
  const Trainer::FillPart fill = [&](const StepInputs& inputs, std::int64_t first,
                                     std::int64_t count) {
    fill_inputs(batch, data_.normalisation, options_.class_weights, inputs, first, count);
  };
  progress_.lr = rate();
  const StepCall call{batch.count, state_.step, state_.samples, fill};
  const StepResult result = trainer_.train_batch(batch.count, static_cast<float>(progress_.lr),
                                                 state_.step, state_.samples, fill);
  const double seconds = watch.seconds();
  monitor_.beat(seconds);
  report_.step_seconds += seconds;
  last_loss_ = result.loss;
  if (!std::isfinite(result.gradient_norm)) {
    const std::optional<std::string> layer = find_not_finite(trainer_, call);
    answer({"not finite",
            fmt::format("loss or gradients are not finite; the first value that is not comes from "
                        "{}; the weights are those before the step",
                        layer ? "layer " + *layer : "the sum of all gradients")},
           call, options_.watchdog.on_diverge);
    if (options_.watchdog.on_diverge != Action::warn) return;
  } else {
    state_.loss_sum += result.loss * static_cast<double>(batch.count);
    state_.counted += batch.count;
    state_.correct += result.correct;
  }
  state_.position += batch.count;
  state_.samples += batch.count;
  ++state_.step;
  epoch_images_ += batch.count;
  images_ += batch.count;
  if (std::isfinite(result.gradient_norm) && options_.watchdog.loss)
    if (const auto alarm = watch_loss(state_, result.loss, steps_per_epoch_))
      answer(
          *alarm, call,
          alarm->cause == "plateau" ? options_.watchdog.on_plateau : options_.watchdog.on_diverge);
  if (options_.watchdog.layers && state_.step % kLookAtLayersEvery == 1) look_into(call);
}

void Run::answer(const Alarm& alarm, const StepCall& call, Action action) {
  std::string text = fmt::format("watchdog: step {}: {}", call.step + 1, alarm.text);
  if (alarm.cause == "diverged")
    text += "; largest in layer " + look_at_layers(trainer_, call).largest;
  recorder_.message(text);
  if (action == Action::warn) return;
  if (action == Action::rollback && state_.rollbacks < options_.watchdog.most_rollbacks)
    return roll_back(alarm.cause);
  if (action == Action::rollback)
    recorder_.message(fmt::format("watchdog: rolled back {} times, no more", state_.rollbacks));
  report_.stopped_by = alarm.cause;
}

void Run::roll_back(const std::string& cause) {
  const std::int64_t rollbacks = state_.rollbacks + 1;
  const Checkpoint checkpoint(saver_.last());
  load_checkpoint(checkpoint, trainer_);
  const double scale = state_.lr_scale * options_.watchdog.rollback_factor;
  state_ = checkpoint.state;
  state_.lr_scale = scale;
  state_.rollbacks = rollbacks;
  state_.high_steps = 0;
  recorder_.go_back(state_.epoch);
  save();
  rolled_back_ = true;
  recorder_.message(fmt::format("watchdog: {}: back to step {}, learning rate {:.4g} from here",
                                cause, state_.step, rate()));
}

void Run::look_into(const StepCall& call) {
  const LayerReport layers = look_at_layers(trainer_, call);
  for (const auto* list : {&layers.dead, &layers.exploding})
    for (const std::string& text : *list)
      recorder_.message(fmt::format("watchdog: step {}: layer {}", call.step + 1, text));
}

void Run::tell_if_input_bound() {
  if (told_input_bound_ || progress_.batch < kInputBoundSteps ||
      progress_.data_wait_percent < kInputBoundPercent)
    return;
  told_input_bound_ = true;
  const Pipeline::Work work = data_.train.work();
  const double per_picture =
      work.seconds / static_cast<double>(std::max<std::int64_t>(1, work.pictures));
  const double could = progress_.images_per_second / (1 - progress_.data_wait_percent / 100);
  recorder_.message(fmt::format(
      "watchdog: input-bound: {:.0f} % of the time is spent waiting for data; {} workers deliver "
      "{:.1f} images/s at {:.1f} ms of reading, decoding and augmenting each, the network could "
      "take {:.1f}. Smaller files, less --augment, more cores or a faster disk would help",
      progress_.data_wait_percent, data_.train.workers(), progress_.images_per_second,
      1000 * per_picture, could));
}

void Run::tell_if_crowded() {
  if (told_crowded_) return;
  const std::string text = options_.crowding();
  if (text.empty()) return;
  told_crowded_ = true;
  recorder_.message("crowded: " + text);
}

bool Run::save() {
  const During saving(monitor_, Activity::saving);
  return saver_.save(trainer_, options_.identity, state_);
}

void Run::save_when_due() {
  // While the loss is suspiciously high, what is on disk may be the last that is good.
  if (saver_.is_due(state_.step) && state_.high_steps == 0) save();
}

void Run::train_epoch() {
  progress_.purpose = Purpose::train;
  progress_.epoch = state_.epoch + 1;
  epoch_watch_ = Stopwatch();
  epoch_waiting_ = 0;
  epoch_images_ = 0;
  while (state_.position < per_epoch_ && !has_stopped()) {
    std::optional<Batch> batch;
    try {
      batch = next_batch(data_.train, &epoch_waiting_);
    } catch (const DataError&) {
      save();
      throw;
    }
    expect(batch && batch->epoch == state_.epoch && batch->first == state_.position,
           "the pipeline and the run are at the same place");
    if (state_.step == 0) {
      const Shape& shape = trainer_.image_shape();
      events_.first_batch(pictures_.draw_batch(*batch, shape[2], shape[3], shape[1]));
      events_.flush();
      release_free_memory();
    }
    train_one(*batch);
    if (std::exchange(rolled_back_, false)) {
      data_.train.start(state_.epoch, state_.position);
      progress_.epoch = state_.epoch + 1;
      continue;
    }
    if (has_stopped()) break;
    if (state_.counted > 0) {
      const double per_image = epoch_watch_.seconds() / static_cast<double>(epoch_images_);
      describe(per_image * static_cast<double>(per_epoch_ - state_.position));
      recorder_.note(progress_, state_);
      observer_.on_progress(progress_);
      events_.step(progress_, last_loss_);
    }
    tell_if_input_bound();
    tell_if_crowded();
    if (options_.steps > 0 && state_.step >= options_.steps) report_.stopped_by = "steps";
    if (is_interrupted()) report_.stopped_by = "interrupt";
    if (!has_stopped()) save_when_due();
  }
  training_seconds_ += epoch_watch_.seconds();
  report_.wait_seconds += epoch_waiting_;
}

std::optional<Evaluation> Run::validate() {
  const Stopwatch watch;
  const During validating(monitor_, Activity::validating);
  double batches_end = 0;
  is_fed_ = false;
  Progress progress = progress_;
  progress.purpose = Purpose::evaluate;
  progress.batch = 0;
  progress.batches = (data_.validation_samples + options_.batch - 1) / options_.batch;
  counts_.clear();
  const AveragesInPlace averages(trainer_.session(), trainer_.step_graph());
  const auto evaluation =
      evaluate(trainer_, *data_.validation, data_.normalisation, &counts_,
               [&](const Evaluation& so_far, double waited) {
                 const double elapsed = watch.seconds();
                 monitor_.beat(elapsed - std::exchange(batches_end, elapsed));
                 ++progress.batch;
                 progress.loss = so_far.loss;
                 progress.accuracy = so_far.accuracy;
                 progress.top5 = so_far.top5;
                 progress.images_per_second = static_cast<double>(so_far.samples) / elapsed;
                 progress.data_wait_percent = 100 * waited / elapsed;
                 progress.seconds_left = elapsed / static_cast<double>(progress.batch) *
                                         static_cast<double>(progress.batches - progress.batch);
                 recorder_.note(progress, state_);
                 observer_.on_progress(progress);
                 return !is_interrupted();
               });
  if (!evaluation) return std::nullopt;
  // While the averages, if any, are in the weights' place.
  judge(options_.monitor == Monitor::loss ? evaluation->loss : -evaluation->accuracy,
        state_.position >= per_epoch_);
  return evaluation;
}

void Run::judge(double monitored, bool whole_epoch) {
  if (std::isfinite(monitored) && (!state_.best || monitored < *state_.best)) {
    state_.best = monitored;
    state_.best_epoch = progress_.epoch;
    state_.stale_epochs = 0;
    const During saving(monitor_, Activity::saving);
    saver_.save_best(trainer_, options_.identity, state_);
  } else if (whole_epoch) {
    ++state_.stale_epochs;
  }
}

void Run::follow_plateau(double loss) {
  if (!schedule_.is_plateau()) return;
  const RateSchedule::PlateauRule& rule = schedule_.plateau();
  if (!state_.plateau_best || loss < *state_.plateau_best - rule.delta) {
    state_.plateau_best = loss;
    state_.plateau_epochs = 0;
    return;
  }
  if (++state_.plateau_epochs < rule.patience) return;
  state_.plateau_epochs = 0;
  const double least = rule.least / options_.lr;
  if (state_.lr_scale <= least) return;
  state_.lr_scale = std::max(state_.lr_scale * rule.factor, least);
  recorder_.message(fmt::format("epoch {}: no better for {} epochs, learning rate {:.4g} from here",
                                progress_.epoch, rule.patience, rate()));
}

void Run::finish_epoch() {
  const bool whole = state_.position >= per_epoch_;
  std::optional<Progress> shown;
  std::optional<Evaluation> evaluation;
  if (data_.validation != nullptr) {
    evaluation = validate();
    if (!evaluation) {  // the resumed run begins with validating
      report_.stopped_by = "interrupt";
      return;
    }
    report_.val_loss = evaluation->loss;
    report_.val_accuracy = evaluation->accuracy;
    report_.val_top5 = evaluation->top5;
    shown = progress_;
    shown->loss = evaluation->loss;
    shown->accuracy = evaluation->accuracy;
    shown->top5 = evaluation->top5;
  }
  report_.loss = progress_.loss;
  report_.accuracy = progress_.accuracy;
  recorder_.add({.epoch = progress_.epoch,
                 .step = state_.step,
                 .time = recorder_.seconds(),
                 .loss = progress_.loss,
                 .accuracy = progress_.accuracy,
                 .val_loss = report_.val_loss,
                 .val_accuracy = report_.val_accuracy,
                 .lr = progress_.lr,
                 .images_per_second = progress_.images_per_second,
                 .data_wait_percent = progress_.data_wait_percent,
                 .memory = memory_usage().peak()});
  observer_.on_epoch_end(progress_, shown);
  events_.epoch(progress_, evaluation);
  if (options_.histograms) events_.histograms(trainer_, progress_.epoch);
  pictures_.draw(counts_, false);
  if (!whole) return;
  ++state_.epoch;
  state_.position = 0;
  follow_plateau(evaluation ? evaluation->loss : progress_.loss);
  state_.counted = state_.correct = 0;
  state_.loss_sum = 0;
  if (options_.early_stop > 0 && state_.stale_epochs >= options_.early_stop) {
    recorder_.message(fmt::format("early stop: no better epoch than {} for {} epochs",
                                  state_.best_epoch, options_.early_stop));
    report_.stopped_by = "early stop";
  }
}

RunReport Run::go() {
  if (state_.position >= per_epoch_ && state_.counted > 0) {
    // Stopped between an epoch's training and its validation.
    progress_.epoch = state_.epoch + 1;
    epoch_images_ = 0;
    describe(0);
    progress_.lr = schedule_.rate(state_.step - 1) * state_.lr_scale;
    finish_epoch();
  }
  if (options_.watchdog.on_diverge == Action::rollback && !saver_.is_saved(state_.step)) save();
  while (!has_stopped() && state_.epoch < last_epoch()) {
    if (!std::exchange(is_fed_, true)) data_.train.start(state_.epoch, state_.position);
    train_epoch();
    const bool failed = has_stopped() && report_.stopped_by != "steps";
    if (!failed) finish_epoch();
  }
  if (!has_stopped()) report_.stopped_by = state_.epoch < options_.epochs ? kPause : "epochs";
  finish();
  return report_;
}

void Run::finish() {
  const During saving(monitor_, Activity::saving);
  // Weights that diverged are not worth a checkpoint; where a step was not finite nothing changed.
  const bool spoiled = report_.stopped_by == "diverged";
  const bool saved = spoiled || saver_.save(trainer_, options_.identity, state_);
  if (spoiled)
    recorder_.message(saver_.is_saved(-1)
                          ? "no checkpoint was written before it diverged"
                          : "the last checkpoint stands: " + saver_.last().string());
  else if (saved)
    recorder_.message("saved " + saver_.last().string());
  report_.steps = state_.step;
  report_.epochs = state_.epoch;
  report_.images = state_.samples;
  report_.seconds = watch_.seconds();
  report_.images_per_second =
      training_seconds_ > 0 ? static_cast<double>(images_) / training_seconds_ : 0;
  report_.data_wait_percent =
      training_seconds_ > 0 ? 100 * report_.wait_seconds / training_seconds_ : 0;
  report_.budget_bytes = options_.budget_bytes;
  report_.predicted_bytes = options_.predicted_bytes;
  report_.cgroup_peak_bytes = cgroup_peak();
  report_.measured_peak_bytes = memory_usage().peak().count;
  report_.arena_bytes = trainer_.session().arena_bytes();
  events_.flush();
  pictures_.draw(counts_, true);
  if (!events_.failure().empty())
    recorder_.message("TensorBoard's events are not complete: " + events_.failure());
  recorder_.write_report(report_);
  if (!saved)
    throw DataError(
        {.where = saver_.last().string(),
         .got = "the checkpoint of step " + std::to_string(state_.step) + " is " + saver_.trouble(),
         .expected = "expected room for it",
         .hint = "make room, then the same command trains the rest again"});
}

}  // namespace

RunReport run_training(Trainer& trainer, const RunData& data, const RunOptions& options,
                       const RunState& from, RunObserver& observer,
                       const std::atomic<int>& interrupt) {
  return Run(trainer, data, options, from, observer, interrupt).go();
}

}  // namespace plimsoll
