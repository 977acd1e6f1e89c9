// The inside of a run; see run.h. Its parts are in run.cpp (the loop), run_alarms.cpp (what the
// watchdog finds), run_end.cpp (of an epoch, of the run) and run_together.cpp (with other ranks).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/stopwatch.h"
#include "run/event_queue.h"
#include "run/recorder.h"
#include "run/run.h"
#include "run/run_monitor.h"
#include "run/run_pictures.h"
#include "run/run_ranks.h"
#include "run/speed_meter.h"
#include "run/tensorboard_events.h"
#include "step/averages.h"
#include "step/evaluation.h"
#include "step/layer_watch.h"

namespace plimsoll {

class RunLoop {
 public:
  RunLoop(Trainer& trainer, const RunData& data, const RunOptions& options, const RunState& from);
  ~RunLoop();
  RunLoop(const RunLoop&) = delete;
  RunLoop& operator=(const RunLoop&) = delete;

  std::optional<RunEvent> next();
  void stop() { stop_asked_.store(true, std::memory_order_relaxed); }

 private:
  // What advance() does next.
  enum class Place : std::uint8_t {
    start,
    epoch,
    training,
    evaluation,
    evaluating,
    epoch_end,
    end,
    done
  };

  void advance();
  void start();
  void begin_epoch();
  void train_batch();
  void train_on(const Batch& batch);
  void tell_of_step();
  void leave_training(Place to);
  void begin_evaluation();
  void evaluate_batch();
  void finish_epoch();
  void finish();

  bool save();
  // The answer to an alarm: a warning, the end, or the last checkpoint again.
  void answer(const Alarm& alarm, const StepCall& call, Answer action);
  void roll_back(StopReason cause);
  void look_into(const StepCall& call);
  // By the monitor's thread.
  void answer_stall(Activity activity, const std::string& text);
  void tell_once(bool& told, const std::string& text);

  void end_by(StopReason reason) { stopped_by_ = reason; }
  bool has_stopped() const { return stopped_by_.has_value(); }
  bool is_stop_asked() const {
    return ranks_.has_others() ? is_stop_decided_ : is_stop_asked_here();
  }
  bool is_stop_asked_here() const { return stop_asked_.load(std::memory_order_relaxed); }
  // With other ranks: what all decide before a step; false where it is not to be done.
  bool decide(const std::optional<Complaint>& failure);
  RankReport rank_report() const;
  // By the monitor, every second: others hear of this rank, and one that is lost ends the run.
  void keep_in_touch(Activity activity);
  // What the rank is at, for others to read.
  std::string doing_text(Activity activity) const;
  std::int64_t last_epoch() const;
  double rate() const { return schedule_.rate(state_.step) * state_.lr_scale; }
  bool epoch_is_whole() const { return state_.position >= per_epoch_; }
  const std::string& sum_name(std::size_t metric) const { return task_.metrics()[metric].sum; }
  void describe(double seconds_left);
  void put(RunEvent event) { events_.put(std::move(event)); }

  Trainer& trainer_;
  const Task& task_;
  const std::vector<std::size_t> counted_;  // metrics, while it trains
  const RunData data_;
  const RunOptions options_;
  RunState state_;
  std::int64_t per_epoch_;  // samples
  std::int64_t steps_per_epoch_;
  RateSchedule schedule_;
  EventQueue events_;
  RunRanks ranks_;
  Recorder recorder_;
  TensorboardEvents tensorboard_;
  RunPictures pictures_;
  Saver saver_;
  std::unique_ptr<Tally> tally_;

  Place place_ = Place::start;
  std::optional<StopReason> stopped_by_;
  std::atomic<bool> stop_asked_{false};
  bool is_stop_decided_ = false;                                       // by all ranks
  std::atomic<std::int64_t> step_now_{0};                              // for the monitor
  double step_seconds_ = 0, waited_seconds_ = 0, others_seconds_ = 0;  // of the last step
  double others_waited_ = 0;                                           // before steps, in all
  RunReport report_;
  Progress progress_;
  SpeedMeter epoch_speed_;
  double last_loss_ = 0;
  double training_seconds_ = 0;
  std::int64_t images_ = 0;
  Stopwatch watch_;
  bool told_input_bound_ = false;
  bool told_crowded_ = false;
  bool is_fed_ = false;  // the training pipeline runs; validation, in the same memory, stops it
  // An evaluation under way, with the averages, if any, in the weights' place.
  struct UnderWay {
    Evaluator evaluator;
    AveragesInPlace averages;
    During during;
    Stopwatch watch;
    double batch_end = 0;  // seconds
    Progress progress;
  };
  std::unique_ptr<UnderWay> evaluation_;
  std::optional<Evaluation> evaluated_;
  RunMonitor monitor_;  // last: it calls into the above
};

}  // namespace plimsoll
