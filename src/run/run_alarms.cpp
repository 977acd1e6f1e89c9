#include <fmt/format.h>

#include "run/policy.h"
#include "run/run_loop.h"

namespace plimsoll {

void RunLoop::answer(const Alarm& alarm, const StepCall& call, Answer action) {
  std::string text = fmt::format("watchdog: step {}: {}", call.step + 1, alarm.text);
  if (alarm.cause == StopReason::diverged)
    text += "; largest in layer " + look_at_layers(trainer_, call).largest;
  recorder_.message(text);
  if (action == Answer::warn) return;
  if (action == Answer::rollback && state_.rollbacks < options_.watchdog.most_rollbacks)
    return roll_back(alarm.cause);
  if (action == Answer::rollback)
    recorder_.message(fmt::format("watchdog: rolled back {} times, no more", state_.rollbacks));
  end_by(alarm.cause);
}

void RunLoop::roll_back(StopReason cause) {
  RunState saved;
  trainer_.shards().lead([&] {
    const Checkpoint checkpoint(saver_.last());
    load_checkpoint(checkpoint, trainer_);
    saved = checkpoint.state;
  });
  share_tensors(ranks_.group(), trainer_);
  saved = share_state(ranks_.group(), saved);
  state_ = rolled_back(state_, saved, options_.watchdog.rollback_factor);
  recorder_.go_back(state_.epoch);
  save();
  recorder_.message(fmt::format("watchdog: {}: back to step {}, learning rate {:.4g} from here",
                                to_string(cause), state_.step, rate()));
}

void RunLoop::look_into(const StepCall& call) {
  const LayerReport layers = look_at_layers(trainer_, call);
  for (const auto* list : {&layers.dead, &layers.exploding})
    for (const std::string& text : *list)
      recorder_.message(fmt::format("watchdog: step {}: layer {}", call.step + 1, text));
}

void RunLoop::answer_stall(Activity activity, const std::string& text) {
  const std::string others = ranks_.stall_text(step_now_);
  // Rank 0 speaks for all, unless it is the one that does not; whoever else is stalled waits.
  if (!ranks_.leads() && others.empty()) return;
  std::string all = "stalled: " + text + others;
  for (const Pipeline::Doing& doing : data_.train.doing())
    all += fmt::format("  a data worker has been at {} for {:.1f} s\n", doing.where, doing.seconds);
  if (const std::string crowding = options_.crowding(); !crowding.empty())
    all += "  " + crowding + "\n";
  recorder_.log(all);
  options_.stalled(all, false);
  // A checkpoint that is being written may be all there is of the run.
  if (options_.watchdog.on_stall != Answer::stop || activity == Activity::saving) return;
  const std::string end = std::filesystem::exists(saver_.last())
                              ? "stopped by the watchdog; the last checkpoint stands"
                              : "stopped by the watchdog; no checkpoint was written before";
  recorder_.log(end);
  options_.stalled(end, true);
}

}  // namespace plimsoll
