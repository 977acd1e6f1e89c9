#include "run/run.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/memory_usage.h"
#include "run/policy.h"
#include "run/run_advice.h"
#include "run/run_loop.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kLookAtLayersEvery = 200;  // steps

}  // namespace

RunLoop::RunLoop(Trainer& trainer, const RunData& data, const RunOptions& options,
                 const RunState& from)
    : trainer_(trainer),
      task_(trainer.task()),
      counted_(metrics_of_training(task_)),
      data_(data),
      options_(options),
      state_(from),
      per_epoch_(options.samples_per_epoch(data.train_samples)),
      steps_per_epoch_((per_epoch_ + options.batch - 1) / options.batch),
      schedule_(options.schedule, options.lr, options.steps_in_all(steps_per_epoch_),
                steps_per_epoch_),
      ranks_(options.group),
      recorder_(options_, task_, from, [this](const std::string& text) { put(Message{text}); }),
      tensorboard_(options_, task_, from.step),
      pictures_(options_, task_, recorder_),
      saver_(options.out, options.save, from.step > 0 ? from.step : -1,
             [this](const std::string& text) { recorder_.message(text); }),
      tally_(
          task_.make_tally(options.leads() ? options.out : std::filesystem::temp_directory_path())),
      monitor_({.every_second =
                    [this](Activity activity) {
                      keep_in_touch(activity);
                      recorder_.note_ranks(ranks_.status());
                      recorder_.write_status(to_string(activity));
                      pictures_.note_memory();
                    },
                .stalled = [this](Activity activity,
                                  const std::string& text) { answer_stall(activity, text); },
                .squeezed =
                    [this](const std::string& text) {
                      if (ranks_.leads())
                        recorder_.message("memory: " + text);
                      else
                        ranks_.tell("memory: " + text);
                    }},
               options.resident_bytes()) {
  for (std::size_t m : counted_) state_.metric_sums.try_emplace(sum_name(m), 0);
  // Others wait for the disk of the rank that leads, so they are saving as long as it is.
  if (ranks_.has_others() && ranks_.leads())
    ranks_.group()->watch_waits([this](bool begins) { monitor_.set_waiting(begins); });
  step_now_ = from.step;
  report_.model = options.model;
  progress_.epochs = options.epochs;
  recorder_.write_status("starting");
}

RunLoop::~RunLoop() {
  // While there is a monitor.
  evaluation_.reset();
  if (ranks_.has_others()) ranks_.group()->watch_waits({});
}

std::optional<RunEvent> RunLoop::next() {
  const Awaited awaited(monitor_);
  while (true) {
    if (std::optional<RunEvent> event = events_.take()) return event;
    if (place_ == Place::done) return std::nullopt;
    try {
      advance();
    } catch (...) {
      place_ = Place::done;
      throw;
    }
  }
}

void RunLoop::advance() {
  const bool is_between = place_ == Place::epoch || place_ == Place::training ||
                          place_ == Place::evaluation || place_ == Place::evaluating;
  if (is_stop_asked() && is_between) {
    end_by(StopReason::interrupt);
    if (evaluation_) evaluation_->averages.put_back();
    evaluation_.reset();  // the resumed run begins with validating
    if (place_ == Place::training) leave_training(Place::end);
    place_ = Place::end;
  }
  switch (place_) {
    case Place::start: return start();
    case Place::epoch: return begin_epoch();
    case Place::training: return train_batch();
    case Place::evaluation: return begin_evaluation();
    case Place::evaluating: return evaluate_batch();
    case Place::epoch_end: return finish_epoch();
    case Place::end: return finish();
    case Place::done: return;
  }
}

void RunLoop::start() {
  if (options_.watchdog.on_diverge == Answer::rollback && !saver_.is_saved(state_.step)) save();
  place_ = Place::epoch;
  if (!epoch_is_whole() || state_.counted == 0) return;
  // Stopped between an epoch's training and its validation.
  progress_.epoch = state_.epoch + 1;
  epoch_speed_ = {};
  describe(0);
  progress_.lr = schedule_.rate(state_.step - 1) * state_.lr_scale;
  place_ = Place::evaluation;
}

std::int64_t RunLoop::last_epoch() const {
  return options_.pause_after > 0 ? std::min(options_.pause_after, options_.epochs)
                                  : options_.epochs;
}

void RunLoop::begin_epoch() {
  if (state_.epoch >= last_epoch()) {
    end_by(state_.epoch < options_.epochs ? StopReason::pause : StopReason::epochs);
    place_ = Place::end;
    return;
  }
  if (!std::exchange(is_fed_, true)) data_.train.start(state_.epoch, state_.position);
  progress_.purpose = Purpose::train;
  progress_.epoch = state_.epoch + 1;
  epoch_speed_ = {};
  place_ = Place::training;
}

void RunLoop::train_batch() {
  const Stopwatch waiting;
  std::optional<Batch> batch;
  std::optional<Complaint> failure;
  try {
    batch = data_.train.next();
  } catch (const DataError& error) {
    if (!ranks_.has_others()) {
      save();
      throw;
    }
    failure = error.complaint();
  }
  const double waited = waiting.seconds();
  waited_seconds_ = waited;
  if (ranks_.has_others() && !decide(failure)) return;
  expect(batch && batch->epoch == state_.epoch && batch->first == state_.position,
         "the pipeline and the run are at the same place");
  if (state_.step == 0) {
    const Shape& shape = trainer_.image_shape();
    tensorboard_.first_batch(pictures_.draw_batch(*batch, shape[2], shape[3], shape[1]));
    tensorboard_.flush();
    release_free_memory();
  }
  epoch_speed_.add(0, waited);
  const std::int64_t rollbacks = state_.rollbacks;
  train_on(*batch);
  if (state_.rollbacks > rollbacks) {
    data_.train.start(state_.epoch, state_.position);
    progress_.epoch = state_.epoch + 1;
    return;
  }
  if (!has_stopped()) tell_of_step();
  // By the clock alone rank 0 decides, and tells it before the next step.
  const bool is_due =
      (!ranks_.has_others() || options_.save.every_steps > 0) && saver_.is_due(state_.step);
  if (!has_stopped() && !is_stop_asked() && is_due && state_.high_steps == 0)
    save();  // while the loss is suspiciously high, what is on disk may be the last that is good
  if (has_stopped() && stopped_by_ != StopReason::steps)
    leave_training(Place::end);
  else if (has_stopped() || epoch_is_whole())
    leave_training(Place::evaluation);
}

void RunLoop::tell_of_step() {
  if (state_.counted > 0) {
    describe(epoch_speed_.seconds_for(per_epoch_ - state_.position));
    recorder_.note(progress_, state_);
    tensorboard_.step(progress_, last_loss_);
    put(StepDone{progress_});
  }
  tell_once(told_input_bound_, input_bound_text(progress_, data_.train));
  if (const std::string text = options_.crowding(); !text.empty())
    tell_once(told_crowded_, "crowded: " + text);
  if (options_.steps > 0 && state_.step >= options_.steps) end_by(StopReason::steps);
}

void RunLoop::leave_training(Place to) {
  training_seconds_ += epoch_speed_.seconds();
  report_.wait_seconds += epoch_speed_.waited_seconds();
  place_ = to;
}

void RunLoop::describe(double seconds_left) {
  progress_.step = state_.step;
  progress_.batch = (state_.position + options_.batch - 1) / options_.batch;
  progress_.batches = steps_per_epoch_;
  const auto counted = static_cast<double>(state_.counted);
  progress_.loss = state_.loss_sum / counted;
  for (std::size_t m : counted_) progress_.metrics[m] = state_.metric_sums[sum_name(m)] / counted;
  progress_.images_per_second = epoch_speed_.images_per_second();
  progress_.data_wait_percent = epoch_speed_.wait_percent();
  progress_.seconds_left = seconds_left;
  progress_.trouble = saver_.trouble();
}

void RunLoop::train_on(const Batch& batch) {
  const Stopwatch watch;
  const Trainer::FillPart fill = [&](const StepTensors& inputs, std::int64_t first,
                                     std::int64_t count) {
    fill_inputs(batch, data_.normalisation, task_, inputs, first - batch.offset, count);
  };
  progress_.lr = rate();
  const std::int64_t step = state_.optimizer_steps + state_.step;
  const StepCall call{batch.whole, step, state_.samples, fill};
  const double others_before = trainer_.exchange_statistics().waited_seconds;
  const StepResult result = trainer_.train_batch(batch.whole, static_cast<float>(progress_.lr),
                                                 step, state_.samples, fill);
  const double seconds = watch.seconds();
  monitor_.beat(seconds);
  report_.step_seconds += seconds;
  step_seconds_ = seconds;
  others_seconds_ = trainer_.exchange_statistics().waited_seconds - others_before;
  last_loss_ = result.loss;
  const bool is_finite = std::isfinite(result.gradient_norm);
  if (!is_finite) {
    const std::optional<std::string> layer = ranks_.first_of(find_not_finite(trainer_, call));
    answer({StopReason::not_finite,
            fmt::format("loss or gradients are not finite; the first value that is not comes from "
                        "{}; the weights are those before the step",
                        layer ? "layer " + *layer : "the sum of all gradients")},
           call, options_.watchdog.on_diverge);
    if (options_.watchdog.on_diverge != Answer::warn) return;
  } else {
    state_.loss_sum += result.loss * static_cast<double>(batch.whole);
    state_.counted += batch.whole;
    for (std::size_t m : counted_) state_.metric_sums[sum_name(m)] += result.sums[m];
  }
  state_.position += batch.whole;
  state_.samples += batch.whole;
  ++state_.step;
  step_now_ = state_.step;
  epoch_speed_.add(batch.whole, 0);
  images_ += batch.whole;
  if (is_finite && options_.watchdog.loss)
    if (const auto alarm = watch_loss(state_, result.loss, steps_per_epoch_))
      answer(*alarm, call,
             alarm->cause == StopReason::plateau ? options_.watchdog.on_plateau
                                                 : options_.watchdog.on_diverge);
  if (options_.watchdog.layers && state_.step % kLookAtLayersEvery == 1) look_into(call);
}

void RunLoop::tell_once(bool& told, const std::string& text) {
  if (told || text.empty()) return;
  told = true;
  recorder_.message(text);
}

bool RunLoop::save() {
  ranks_.check_weights(trainer_, state_.step);
  const During saving(monitor_, Activity::saving);
  bool is_saved = true;
  trainer_.shards().lead([&] { is_saved = saver_.save(trainer_, options_.identity, state_); });
  if (!ranks_.settle(is_saved)) return false;
  if (!ranks_.leads()) saver_.note_saved(state_.step);
  put(CheckpointWritten{saver_.last(), state_.step});
  return true;
}

void RunLoop::begin_evaluation() {
  place_ = Place::epoch_end;
  evaluated_.reset();
  if (data_.validation == nullptr) return;
  is_fed_ = false;
  tally_->clear();
  const bool is_last = has_stopped() || progress_.epoch >= options_.epochs;
  const Evaluator::Look look = [this, is_last](const StepTensors& results, const Batch& batch) {
    pictures_.draw_validation(results, batch, is_last);
  };
  // What cannot be moved is made where it stays.
  // NOLINTNEXTLINE(modernize-make-unique)
  evaluation_.reset(new UnderWay{.evaluator = {trainer_, *data_.validation, data_.normalisation,
                                               tally_.get(), look, options_.group},
                                 .averages = AveragesInPlace(trainer_.shards()),
                                 .during = {monitor_, Activity::validating},
                                 .progress = progress_});
  Progress& progress = evaluation_->progress;
  progress.purpose = Purpose::evaluate;
  progress.batch = 0;
  progress.batches = (data_.validation_samples + options_.batch - 1) / options_.batch;
  place_ = Place::evaluating;
}

void RunLoop::evaluate_batch() {
  UnderWay& under_way = *evaluation_;
  const Evaluation& so_far = under_way.evaluator.so_far();
  const std::int64_t before = under_way.evaluator.batches();
  const bool has_more = under_way.evaluator.next(is_stop_asked_here());
  if (ranks_.has_others()) is_stop_decided_ = is_stop_decided_ || under_way.evaluator.is_asked();
  if (has_more) {
    const double elapsed = under_way.watch.seconds();
    monitor_.beat(elapsed - std::exchange(under_way.batch_end, elapsed));
    Progress& progress = under_way.progress;
    progress.batch += under_way.evaluator.batches() - before;
    progress.loss = so_far.loss;
    progress.metrics = so_far.metrics;
    progress.images_per_second = static_cast<double>(so_far.samples) / elapsed;
    progress.data_wait_percent = 100 * under_way.evaluator.waited_seconds() / elapsed;
    progress.seconds_left = elapsed / static_cast<double>(progress.batch) *
                            static_cast<double>(progress.batches - progress.batch);
    recorder_.note(progress, state_);
    put(BatchValidated{progress});
    return;
  }
  evaluated_ = so_far;
  // While the averages, if any, are in the weights' place.
  if (note_validation(state_, monitored_value(task_, options_.monitor, so_far), progress_.epoch,
                      epoch_is_whole())) {
    const During saving(monitor_, Activity::saving);
    if (ranks_.leads()) saver_.save_best(trainer_, options_.identity, state_);
    ranks_.settle(true);
  }
  evaluation_->averages.put_back();
  evaluation_.reset();
  place_ = Place::epoch_end;
}

Run::Run(Trainer& trainer, const RunData& data, const RunOptions& options, const RunState& from)
    : loop_(std::make_unique<RunLoop>(trainer, data, options, from)) {}
Run::~Run() = default;
std::optional<RunEvent> Run::next() { return loop_->next(); }
void Run::stop() { loop_->stop(); }

}  // namespace plimsoll
