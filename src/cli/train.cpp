#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/files.h"
#include "base/memory_usage.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/crowding.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/run_settings.h"
#include "run/recorder.h"
#include "run/run.h"

namespace plimsoll::cli {
namespace {

constexpr int kStoppedByWatchdog = 4;

std::atomic<int> interrupted{0};

// The first signal asks the run to finish its step and save; a second one ends the process at once.
void on_signal(int signal) {
  if (interrupted.exchange(signal) != 0) std::_Exit(128 + signal);
  constexpr std::string_view kText = "\nfinishing the step and saving; once more ends at once\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, kText.data(), kText.size());
}

void listen_to_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

int exit_code(const RunReport& report) {
  if (report.stopped_by == "interrupt") return 128 + interrupted.load();
  const bool by_watchdog = report.stopped_by == "not finite" || report.stopped_by == "diverged" ||
                           report.stopped_by == "plateau";
  return by_watchdog ? kStoppedByWatchdog : 0;
}

// What was predicted beside what the kernel measured.
void print_ledger(const PlannedRun& run, const RunReport& report) {
  fmt::print("\n{}", ledger_text(run));
  const std::int64_t measured = report.measured_peak_bytes;
  const double off =
      100.0 * static_cast<double>(run.plan.total_bytes - measured) / static_cast<double>(measured);
  fmt::print("  {:<30}{:>12}   predicted {:.1f} % too {}\n", "measured peak",
             to_string(Bytes{measured}), std::abs(off), off >= 0 ? "much" : "little");
}

std::string bad_files_text(const std::vector<Complaint>& skipped) {
  std::string text;
  for (const Complaint& complaint : skipped)
    text += complaint.where + ": " + complaint.got + "; " + complaint.expected + "\n";
  return text;
}

// A run from its words to its end, in one process. Members are in the order they come to be.
class Training {
 public:
  Training(RunSettings settings, const CLI::App& command)
      : s_(std::move(settings)), command_(command) {}
  int go();

 private:
  bool is_quiet() const { return s_.common.quiet || s_.common.json; }
  // Part of a run with one set of frozen layers; plans again, trains, returns where it stands.
  RunReport train_stage(Ready& ready, const RunState& from);
  Ready make_stage(bool frozen);
  void begin(const Ready& ready);
  void load(Trainer& trainer, const RunState& from);
  bool is_complete() const;
  void print_end(const PlannedRun& run, const RunReport& report) const;
  std::string resume_command() const { return "plimsoll train --resume " + s_.run.out.string(); }

  RunSettings s_;
  const CLI::App& command_;
  int threads_ = 1;
  std::optional<CrowdMonitor> crowding_;
  Budget budget_;
  std::optional<TrainingData> data_;
  std::optional<RunFolder> folder_;
  std::optional<ProgressPrinter> printer_;
  std::vector<std::string> news_;  // for the log, once there is one
};

Ready Training::make_stage(bool frozen) {
  RunSettings stage = s_;
  if (!frozen) stage.freeze.clear();
  Ready ready = make_ready(stage, &*data_, budget_, threads_);
  s_.model.batch = stage.model.batch;
  s_.model.batch_max = false;
  if (!ready.run.plan.fits)
    throw refusal(ready.trainer, ready.run,
                  find_levers(stage.maker(&*data_, threads_), s_.memory, ready.run));
  return ready;
}

bool Training::is_complete() const {
  if (!folder_->checkpoint) return false;
  const RunState& state = folder_->checkpoint->state;
  return state.epoch >= s_.run.epochs || (s_.run.steps > 0 && state.step >= s_.run.steps);
}

void Training::begin(const Ready& ready) {
  const nn::Input input = s_.model.input();
  const std::filesystem::path args = s_.run.out / "args.toml";
  if (folder_->checkpoint) {
    const RunState& state = folder_->checkpoint->state;
    news_.push_back(fmt::format("resuming {} at step {}, epoch {} of {}", s_.run.out.string(),
                                state.step, state.epoch + 1, s_.run.epochs));
    for (const std::string& change : folder_->changes)
      news_.push_back("changed since: " + change + " (from here on)");
    const std::int64_t before = find_in_config(args, "threads").value_or(threads_);
    if (before != threads_)
      news_.push_back(
          fmt::format("changed since: threads {} -> {}; sums are rounded differently from here on",
                      before, threads_));
  }
  write_file(args, args_text(command_, s_, input, threads_));
  write_file(s_.run.out / "plan.txt",
             plan_text(ready.trainer.planned().tape(0), ready.trainer.tapes().graph(0)));
  news_.insert(news_.end(), data_->notes.begin(), data_->notes.end());
  if (!data_->skipped.empty()) {
    write_file(s_.run.out / "bad_files.txt", bad_files_text(data_->skipped));
    news_.push_back(fmt::format("{} bad samples are left out; {} lists them", data_->skipped.size(),
                                (s_.run.out / "bad_files.txt").string()));
  }
  if (!s_.freeze.empty())
    news_.push_back("frozen: " + s_.freeze + "; frozen BatchNorms use their running statistics" +
                    (s_.unfreeze_after > 0
                         ? fmt::format("; nothing is frozen after epoch {}", s_.unfreeze_after)
                         : ""));
  if (const int workers = ready.run.plan.workers; workers < threads_)
    news_.push_back(fmt::format("{} data worker{} instead of {}: more do not fit the budget",
                                workers, workers == 1 ? "" : "s", threads_));
  if (s_.scale_lr)
    news_.push_back(
        fmt::format("learning rate {:.4g}: --lr times batch {} / 256", s_.run.lr, input.batch));
  if (is_quiet()) return;
  fmt::print(
      "{} · {} images to train on, {} to validate · {} classes · batch {} · {} threads · {}\n",
      s_.model.model, data_->train->size(), data_->validation ? data_->validation->size() : 0,
      s_.model.class_count(), input.batch, threads_, s_.run.out.string());
  fmt::print("{}", lossy_text(s_.memory));
  fmt::print("plan: {} of {} · {}\n", to_string(Bytes{ready.run.plan.total_bytes}),
             budget_size_text(budget_), means_text(ready.trainer, ready.run));
}

void Training::load(Trainer& trainer, const RunState& from) {
  if (folder_->checkpoint && from.step == folder_->checkpoint->state.step) {
    load_checkpoint(*folder_->checkpoint, trainer);
  } else if (from.step > 0) {
    load_checkpoint(Checkpoint(s_.run.out / "weights" / "last.safetensors"), trainer);
  } else if (!s_.weights.empty()) {
    const std::vector<std::string> left = load_weights(SafetensorsReader(s_.weights), trainer);
    news_.push_back("weights from " + s_.weights +
                    (left.empty() ? ""
                                  : "; not taken, of another size: " + left[0] +
                                        (left.size() > 1 ? " and others of its layer" : "")));
  }
}

RunReport Training::train_stage(Ready& ready, const RunState& from) {
  const nn::Input input = s_.model.input();
  release_free_memory();  // what planning held is not to lie beside the arena
  ready.trainer.open(s_.memory.spill);
  load(ready.trainer, from);
  s_.run.predicted_bytes = ready.run.plan.total_bytes;
  s_.run.ledger = ready.run.plan.ledger;
  for (const std::string& text : news_) {
    try {
      append_file(s_.run.out / "log.txt", text + "\n");
    } catch (const DataError&) {
      // The run tells of a log that cannot be written.
    }
    printer_->on_message(text);
  }
  news_.clear();
  const int workers = ready.run.plan.workers;
  const auto memory = s_.pipeline_memory(*data_, input, workers);
  Pipeline train(data_->train, s_.pipeline(input, true, workers), memory);
  std::optional<Pipeline> validation;
  if (data_->validation)
    validation.emplace(data_->validation, s_.pipeline(input, false, workers), memory);
  listen_to_signals();
  return run_training(ready.trainer,
                      {.train = train,
                       .validation = validation ? &*validation : nullptr,
                       .train_samples = data_->train->size(),
                       .validation_samples = data_->validation ? data_->validation->size() : 0,
                       .normalisation = {.mode = parse_normalisation(s_.normalise, "--normalise")}},
                      s_.run, from, *printer_, interrupted);
}

void Training::print_end(const PlannedRun& run, const RunReport& report) const {
  if (s_.common.json) {
    fmt::print("{}", report_json(report));
  } else {
    fmt::print(
        "{} steps in {} · {:.0f} img/s · validation accuracy {} · peak memory {}\n", report.steps,
        duration_text(report.seconds), report.images_per_second,
        report.val_accuracy ? fmt::format("{:.2f} %", *report.val_accuracy * 100) : "not measured",
        to_string(Bytes{report.measured_peak_bytes}));
    if (!is_quiet()) print_ledger(run, report);
  }
  if (report.stopped_by == "interrupt") fmt::print(stderr, "resume: {}\n", resume_command());
  if (exit_code(report) == kStoppedByWatchdog)
    fmt::print(
        stderr,
        "plimsoll: step {}: {}; stopped by the watchdog, see {}\n"
        "hint: `plimsoll find-lr` finds a rate; a smaller --lr, --warmup, or --clip-norm 1\n",
        report.steps + 1, report.stopped_by, (s_.run.out / "log.txt").string());
}

int Training::go() {
  s_.check_run_options();
  if (!s_.weights.empty()) const SafetensorsReader readable(s_.weights);
  threads_ = s_.common.apply_threads();
  crowding_.emplace(threads_);
  s_.run.crowding = [this] { return crowding_->text(); };
  budget_ = find_budget(s_.memory);
  if (!is_quiet()) fmt::print("{}\n", budget_text(budget_));
  data_ = s_.load_data(budget_);
  if (!memory_file_system(s_.out.empty() ? "runs" : s_.out).empty())
    s_.files_in_memory = s_.files(*data_, s_.model.input());
  const bool thaws = !s_.freeze.empty() && s_.unfreeze_after > 0;
  // What comes later must fit too; so it is planned before anything starts.
  if (thaws) make_stage(false);
  std::optional<Ready> ready(make_stage(true));
  s_.settle(*data_, s_.model.input());
  s_.run.budget_bytes = budget_.bytes;
  folder_.emplace(open_run_folder(s_));
  s_.run.out = folder_->path;
  if (is_complete()) {
    fmt::print("{} is complete: {} epochs, {} steps\nmore --epochs or --steps go on with it\n",
               s_.run.out.string(), folder_->checkpoint->state.epoch,
               folder_->checkpoint->state.step);
    return 0;
  }
  printer_.emplace(is_quiet(), budget_.bytes);
  begin(*ready);
  RunState from;
  if (folder_->checkpoint) from = folder_->checkpoint->state;
  RunReport report;
  if (thaws && from.epoch < s_.unfreeze_after) {
    s_.run.pause_after = s_.unfreeze_after;
    report = train_stage(*ready, from);
    s_.run.pause_after = 0;
    if (report.stopped_by == kPause) {
      ready.reset();
      from = Checkpoint(s_.run.out / "weights" / "last.safetensors").state;
      ready.emplace(make_stage(false));
      news_.push_back(fmt::format("epoch {}: nothing is frozen from here on", from.epoch + 1));
      report = train_stage(*ready, from);
    }
  } else {
    if (thaws) ready.emplace(make_stage(false));
    report = train_stage(*ready, from);
  }
  print_end(ready->run, report);
  return exit_code(report);
}

}  // namespace

Action add_train(CLI::App& command) {
  const auto s = std::make_shared<RunSettings>();
  s->model.model = "inception_mini";
  s->add_to(command);
  command
      .add_option("DATA,--data", s->data,
                  "a folder with a sub-folder per class, TFRecord files, a CSV, or fashion-mnist")
      ->required();
  s->add_run_options(command);
  command.footer(
      "Examples:\n"
      "  plimsoll train fashion-mnist --model inception_mini --epochs 2 --lr 0.05\n"
      "  plimsoll train photos/ --model xception --memory 2GiB --batch 16 --val-split 0.2 \\\n"
      "      --augment horizontal_flip,random_resized_crop=0.35:1 --schedule cosine --warmup 100\n"
      "  plimsoll train --resume runs/xception --epochs 20");
  return [s, &command] {
    s->check(command);
    return Training(*s, command).go();
  };
}

}  // namespace plimsoll::cli
