#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/memory_usage.h"
#include "run/policy.h"
#include "run/run_loop.h"

namespace plimsoll {

void RunLoop::finish_epoch() {
  std::optional<Progress> shown;
  if (evaluated_) {
    report_.validation = evaluated_;
    shown = progress_;
    shown->loss = evaluated_->loss;
    shown->metrics = evaluated_->metrics;
  }
  report_.loss = progress_.loss;
  report_.metrics = progress_.metrics;
  recorder_.add({.epoch = progress_.epoch,
                 .step = state_.step,
                 .time = recorder_.seconds(),
                 .loss = progress_.loss,
                 .metrics = progress_.metrics,
                 .validation = evaluated_,
                 .lr = progress_.lr,
                 .images_per_second = progress_.images_per_second,
                 .data_wait_percent = progress_.data_wait_percent,
                 .memory = memory_usage().peak()});
  put(EpochDone{progress_, shown});
  tensorboard_.epoch(progress_, evaluated_);
  if (options_.histograms) tensorboard_.histograms(trainer_, progress_.epoch);
  pictures_.draw(*tally_, false);
  place_ = has_stopped() ? Place::end : Place::epoch;
  if (!epoch_is_whole()) return;
  ++state_.epoch;
  state_.position = 0;
  const double loss = evaluated_ ? evaluated_->loss : progress_.loss;
  if (schedule_.is_plateau() && follow_plateau(state_, schedule_.plateau(), options_.lr, loss))
    recorder_.message(
        fmt::format("epoch {}: no better for {} epochs, learning rate {:.4g} from here",
                    progress_.epoch, schedule_.plateau().patience, rate()));
  state_.counted = 0;
  for (auto& [name, sum] : state_.metric_sums) sum = 0;
  state_.loss_sum = 0;
  if (!is_enough(state_, options_.early_stop)) return;
  recorder_.message(fmt::format("early stop: no better epoch than {} for {} epochs",
                                state_.best_epoch, options_.early_stop));
  end_by(StopReason::early_stop);
  place_ = Place::end;
}

void RunLoop::finish() {
  // Weights that diverged are not worth a checkpoint; where a step was not finite nothing changed.
  const bool spoiled = stopped_by_ == StopReason::diverged;
  const bool saved = spoiled || save();
  if (spoiled)
    recorder_.message(saver_.is_saved(-1)
                          ? "no checkpoint was written before it diverged"
                          : "the last checkpoint stands: " + saver_.last().string());
  else if (saved)
    recorder_.message("saved " + saver_.last().string());
  report_.stopped_by = *stopped_by_;
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
  report_.ranks = ranks_.gather(rank_report());
  const During saving(monitor_, Activity::saving);
  tensorboard_.flush();
  pictures_.draw(*tally_, true);
  if (!tensorboard_.failure().empty())
    recorder_.message("TensorBoard's events are not complete: " + tensorboard_.failure());
  recorder_.write_report(report_);
  place_ = Place::done;
  if (!saved && ranks_.has_others()) ranks_.group()->end_together();
  if (!saved)
    throw DataError(
        {.where = saver_.last().string(),
         .got = "the checkpoint of step " + std::to_string(state_.step) + " is " + saver_.trouble(),
         .expected = "expected room for it",
         .hint = "make room, then the same command trains the rest again"});
  put(Finished{report_});
}

}  // namespace plimsoll
