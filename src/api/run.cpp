#include <plimsoll/run.h>

#include <atomic>
#include <filesystem>

#include "api/settings.h"
#include "job/args.h"
#include "job/training.h"
#include "machine/crowding.h"
#include "machine/instructions.h"
#include "machine/primitive_cache.h"
#include "machine/team.h"

namespace plimsoll::v1 {
namespace {

Progress public_progress(const Task& task, const plimsoll::Progress& p) {
  Progress progress{.epoch = p.epoch,
                    .epochs = p.epochs,
                    .batch = p.batch,
                    .batches = p.batches,
                    .step = p.step,
                    .loss = p.loss,
                    .learning_rate = p.lr,
                    .images_per_second = p.images_per_second,
                    .seconds_left = p.seconds_left};
  for (std::size_t m = 0; m < task.metrics().size(); ++m)
    progress.metrics.emplace_back(task.metrics()[m].name, p.metrics[m]);
  return progress;
}

struct Publish {
  const Task& task;

  Event operator()(const plimsoll::StepDone& e) const {
    return StepDone{public_progress(task, e.progress)};
  }
  Event operator()(const plimsoll::BatchValidated& e) const {
    return BatchValidated{public_progress(task, e.progress)};
  }
  Event operator()(const plimsoll::EpochDone& e) const {
    EpochDone done{.training = public_progress(task, e.training)};
    if (e.validation) done.validation = public_progress(task, *e.validation);
    return done;
  }
  Event operator()(const plimsoll::CheckpointWritten& e) const {
    return CheckpointWritten{.path = e.path.string(), .step = e.step};
  }
  Event operator()(const plimsoll::Message& e) const { return Message{e.text}; }
  Event operator()(const plimsoll::Finished& e) const {
    return Finished{.steps = e.report.steps,
                    .epochs = e.report.epochs,
                    .loss = e.report.loss,
                    .stopped_by = std::string(to_string(e.report.stopped_by)),
                    .predicted_bytes = e.report.predicted_bytes,
                    .measured_peak_bytes = e.report.measured_peak_bytes};
  }
};

}  // namespace

class Run::Body {
 public:
  Body(const job::RunSettings& settings, const Hooks& hooks)
      : crowding_(hooks.sleeps_when_crowded ? std::make_unique<CrowdMonitor>(team_size())
                                            : nullptr),
        training_(settings, job::find_budget(settings.memory), team_size(), inner(hooks)) {}

  std::optional<Event> next() {
    if (training_.is_complete()) return std::nullopt;
    if (stop_.load(std::memory_order_relaxed)) training_.stop();
    const std::optional<RunEvent> event = training_.next();
    if (!event) return std::nullopt;
    return std::visit(Publish{training_.task()}, *event);
  }
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  const job::Training& training() const { return training_; }

 private:
  job::TrainingHooks inner(const Hooks& hooks) const {
    job::TrainingHooks inside;
    inside.stalled = hooks.on_stall;
    if (crowding_) inside.crowding = [monitor = crowding_.get()] { return monitor->text(); };
    return inside;
  }

  std::unique_ptr<CrowdMonitor> crowding_;
  job::Training training_;
  std::atomic<bool> stop_ = false;
};

Run::Run(const Settings& settings, const Hooks& hooks)
    : Run(std::make_unique<Body>(api::run_settings(settings), hooks)) {}
Run::Run(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

Run Run::resume(const std::string& directory, const std::map<std::string, std::string>& changes,
                const Hooks& hooks) {
  job::RunSettings settings;
  job::read_args(std::filesystem::path(directory) / "args.toml", settings);
  settings.out = settings.resume = directory;
  for (const auto& [name, text] : changes) job::set_option(settings, name, text);
  return Run(std::make_unique<Body>(api::checked(settings), hooks));
}

std::optional<Event> Run::next() { return body_->next(); }
void Run::stop() noexcept { body_->stop(); }
bool Run::is_complete() const { return body_->training().is_complete(); }
std::string Run::directory() const { return body_->training().settings().run.out.string(); }
std::int64_t Run::resumed_step() const {
  const RunState* state = body_->training().resumed();
  return state == nullptr ? 0 : state->step;
}
std::int64_t Run::predicted_bytes() const { return body_->training().ready().run.plan.total_bytes; }

int use_threads(std::int64_t threads) {
  return plimsoll::use_threads(threads == 0 ? std::nullopt : std::optional(threads));
}

std::string use_isa(const std::string& word) {
  return std::string(name_of(plimsoll::use_isa(word)));
}

void use_no_primitive_cache() { plimsoll::use_no_primitive_cache(); }

}  // namespace plimsoll::v1
