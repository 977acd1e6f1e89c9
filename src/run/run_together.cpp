// What a run does because there are other ranks.
#include <fmt/format.h>

#include "base/memory_usage.h"
#include "run/run_loop.h"

namespace plimsoll {

bool RunLoop::decide(const std::optional<Complaint>& failure) {
  const Stopwatch watch;
  const bool saves_by_clock = ranks_.leads() && options_.save.every_steps == 0 &&
                              saver_.is_due(state_.step) && state_.high_steps == 0;
  const RunRanks::Decision decision = ranks_.decide({.step = state_.step,
                                                     .stops = is_stop_asked_here(),
                                                     .saves = saves_by_clock,
                                                     .seconds = step_seconds_,
                                                     .waited_for_data = waited_seconds_,
                                                     .waited_for_others = others_seconds_},
                                                    trainer_, failure, [this] { save(); });
  others_waited_ += watch.seconds();
  for (const std::string& text : decision.news) recorder_.message(text);
  for (const std::string& text : ranks_.find_stragglers()) recorder_.message(text);
  is_stop_decided_ = decision.stops;
  if (decision.saves && !is_stop_decided_) save();
  return !is_stop_decided_;
}

void RunLoop::keep_in_touch(Activity activity) {
  if (!ranks_.has_others()) return;
  ranks_.beat(step_now_, doing_text(activity));
  const std::string lost = ranks_.lost_text(options_.rank_timeout);
  if (lost.empty()) return;
  recorder_.log(lost);
  options_.stalled(lost, true);
}

std::string RunLoop::doing_text(Activity activity) const {
  std::string text(to_string(activity));
  // The file that has been read the longest, where reading takes long.
  const Pipeline::Doing* longest = nullptr;
  const std::vector<Pipeline::Doing> all = data_.train.doing();
  for (const Pipeline::Doing& doing : all)
    if (doing.seconds > 1 && (longest == nullptr || doing.seconds > longest->seconds))
      longest = &doing;
  if (longest != nullptr) text += ", reading " + longest->where;
  return text;
}

RankReport RunLoop::rank_report() const {
  const Trainer::ExchangeStatistics exchange = trainer_.exchange_statistics();
  return {.host = {},
          .numbers = {.threads = options_.threads,
                      .predicted_bytes = options_.predicted_bytes,
                      .measured_peak_bytes = memory_usage().peak().count,
                      .wait_data_seconds = report_.wait_seconds,
                      .wait_others_seconds = exchange.waited_seconds + others_waited_,
                      .exchange_bytes = exchange.bytes}};
}

}  // namespace plimsoll
