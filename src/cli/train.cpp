#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <thread>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/launcher.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/rank_share.h"
#include "cli/reading_bar.h"
#include "dist/agreement.h"
#include "job/training.h"
#include "machine/crowding.h"
#include "machine/instructions.h"
#include "machine/team.h"
#include "run/recorder.h"

namespace plimsoll::cli {
namespace {

struct TrainSettings : job::RunSettings {
  CommonOptions common;
  RankOptions ranks;
};

std::atomic<int> interrupted{0};
std::atomic<bool> is_heard{true};  // this rank may speak

// The first signal asks the run to finish its step and save; a second one ends the process at once.
void stop_on_signal(int signal) {
  if (interrupted.exchange(signal) != 0) std::_Exit(128 + signal);
  if (!is_heard) return;
  constexpr std::string_view kText = "\nfinishing the step and saving; once more ends at once\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, kText.data(), kText.size());
}

// Of several ranks all hear SIGUSR1, which mpirun hands on and leaves them time after.
void listen_to_signals(bool has_others) {
  struct sigaction action {};
  action.sa_handler = stop_on_signal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  if (has_others) sigaction(SIGUSR1, &action, nullptr);
}

int exit_code(const RunReport& report) {
  const int signal = interrupted.load();
  // Another rank's.
  if (report.stopped_by == StopReason::interrupt) return 128 + (signal == 0 ? SIGINT : signal);
  return is_by_watchdog(report.stopped_by) ? kStoppedByWatchdog : 0;
}

// What was predicted beside what the kernel measured.
void print_ledger(const job::PlannedRun& run, const RunReport& report) {
  fmt::print("\n{}", ledger_text(run));
  const std::int64_t measured = report.measured_peak_bytes;
  const double off =
      100.0 * static_cast<double>(run.plan.total_bytes - measured) / static_cast<double>(measured);
  fmt::print("  {:<30}{:>12}   predicted {:.1f} % too {}\n", "measured peak",
             to_string(Bytes{measured}), std::abs(off), off >= 0 ? "much" : "little");
}

// "accuracy 87.25 %".
std::string validation_text(const Task& task, const RunReport& report) {
  const std::size_t headline = headline_of(task);
  const Metric& metric = task.metrics()[headline];
  if (!report.validation) return metric.name + " not measured";
  return metric.name + " " + value_text(metric, report.validation->metrics[headline]);
}

// What begins, once its plan is made.
void print_beginning(const job::Training& training, const job::Budget& budget, int threads) {
  const job::RunSettings& s = training.settings();
  const job::TrainingData& data = training.data();
  fmt::print(
      "{} · {} images to train on, {} to validate · {} classes · batch {} · {} threads · {}\n",
      s.model.title(), data.train->size(), data.validation ? data.validation->size() : 0,
      s.model.class_count(), s.model.batch, threads, s.run.out.string());
  fmt::print("{}", lossy_text(s));
  const job::Ready& ready = training.ready();
  fmt::print("plan: {} of {} · {}\n", to_string(Bytes{ready.run.plan.total_bytes}),
             budget_size_text(budget), means_text(ready.trainer, ready.run));
}

void print_end(const TrainSettings& s, const job::Training& training, const RunReport& report) {
  const std::filesystem::path& out = training.settings().run.out;
  const Task& task = training.task();
  if (s.common.json) {
    fmt::print("{}", report_json(task, report));
  } else {
    fmt::print("{} step{} in {} · {:.0f} img/s · validation {} · peak memory {}\n", report.steps,
               report.steps == 1 ? "" : "s", duration_text(report.seconds),
               report.images_per_second, validation_text(task, report),
               to_string(Bytes{report.measured_peak_bytes}));
    if (!s.common.is_quiet()) print_ledger(training.ready().run, report);
  }
  if (report.stopped_by == StopReason::interrupt)
    fmt::print(stderr, "resume: plimsoll train --resume {}\n", out.string());
  if (exit_code(report) == kStoppedByWatchdog)
    fmt::print(
        stderr,
        "plimsoll: step {}: {}; stopped by the watchdog, see {}\n"
        "hint: `plimsoll find-lr` finds a rate; a smaller --lr, --warmup, or --clip-norm 1\n",
        report.steps + 1, to_string(report.stopped_by), (out / "log.txt").string());
}

// A run that is stuck cannot be waited for, nor can other ranks that wait for it.
[[noreturn]] void end_stalled(dist::Group* group) {
  if (group != nullptr) {
    group->abort(kStoppedByWatchdog);
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
  std::_Exit(kStoppedByWatchdog);
}

void check(TrainSettings& s, dist::Group* group) {
  const auto check_here = [&] {
    s.check();
    s.check_run_options();
    s.check_sharding();
    check_parts(s.place.ranks, s.memory.accumulate);
    if (s.model.batch_max && s.place.ranks > 1)
      throw UsageError({.where = "--batch",
                        .got = "'max' with several ranks, of which each would find its own",
                        .expected = "expected a number",
                        .hint = "`plimsoll plan --ranks N --batch max` finds what fits"});
    if (s.memory.stash != "f32" && s.place.ranks > 1)
      throw UsageError({.where = "--stash",
                        .got = s.memory.stash + " with several ranks, whose plans may differ",
                        .expected = "expected f32: what is rounded would depend on who computes it",
                        .hint = "--accumulate and --spill save memory, and change no bit"});
    s.run.rank_timeout = s.ranks.timeout;
  };
  s.place = dist::place_in(group);
  is_heard = s.place.leads();
  dist::do_on_all(group, check_here);
}

int train(TrainSettings& s, dist::Group* group) {
  check(s, group);
  const RankShare share = share_of_host(group, s.threads, s.memory, s.common.is_quiet());
  const int threads = use_threads(share.threads);
  const CrowdMonitor crowding(threads);
  const bool leads = s.place.leads();
  const bool quiet = s.common.is_quiet() || !leads;
  const job::Budget& budget = share.budget;
  if (!quiet) fmt::print("{}\n", budget_text(budget));
  std::optional<ProgressPrinter> printer;
  job::Training training(static_cast<const job::RunSettings&>(s), budget, threads,
                         {.on_scan = reading_bar(s.data, quiet),
                          .on_left_out = print_left_out,
                          .crowding = [&] { return crowding.text(); },
                          .stalled =
                              [&](const std::string& text, bool ends) {
                                printer->message(text);
                                if (ends) end_stalled(group);
                              }});
  if (leads) tell_launcher(training.settings().run.out);
  if (training.is_complete()) {
    if (leads)
      fmt::print("{} is complete: {} epochs, {} steps\nmore --epochs or --steps go on with it\n",
                 training.settings().run.out.string(), training.resumed()->epoch,
                 training.resumed()->step);
    return 0;
  }
  printer.emplace(quiet, budget.bytes, training.task());
  if (!quiet) print_beginning(training, budget, threads);
  listen_to_signals(group != nullptr);
  std::optional<RunReport> report;
  while (const std::optional<RunEvent> event = training.next()) {
    if (leads) printer->show(*event);
    if (const auto* end = std::get_if<Finished>(&*event)) report = end->report;
    if (interrupted.load() != 0) training.stop();
  }
  if (leads) print_end(s, training, *report);
  return exit_code(*report);
}

int run(TrainSettings& s) {
  use_isa(s.model.isa);
  check_parts(s.ranks.ranks, s.memory.accumulate);
  return run_ranks(s.ranks, {.parts = s.memory.accumulate, .threads = s.threads, .out = s.out},
                   [&](dist::Group* group) { return train(s, group); });
}

}  // namespace

Entry add_train(CLI::App& command) {
  const auto s = std::make_shared<TrainSettings>();
  s->model.model = "inception_mini";
  add_options(command, *s,
              "a folder with a sub-folder per class, TFRecord files, a CSV, or fashion-mnist");
  command.get_option("--data")->required();
  s->ranks.add_to(command);
  s->common.add_to(command);
  command.footer(
      "Examples:\n"
      "  plimsoll train fashion-mnist --model inception_mini --epochs 2 --lr 0.05\n"
      "  plimsoll train photos/ --model xception --memory 2GiB --batch 16 --val-split 0.2 \\\n"
      "      --augment horizontal_flip,random_resized_crop=0.35:1 --schedule cosine --warmup 100\n"
      "  plimsoll train --resume runs/xception --epochs 20");
  return [s] { return run(*s); };
}

}  // namespace plimsoll::cli
