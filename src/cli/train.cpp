#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/training_options.h"
#include "train/records.h"
#include "train/run.h"

namespace plimsoll::cli {
namespace {

constexpr int kStoppedByWatchdog = 4;

struct Settings : TrainingOptions {
  RunOptions run;
  std::string out;
};

std::atomic<int> interrupted{0};

// The first signal asks the run to finish its step and save; a second one ends the process at once.
void on_signal(int signal) {
  if (interrupted.exchange(signal) != 0) std::_Exit(128 + signal);
}

void listen_to_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

void check(bool good, const char* option, const std::string& got, const char* expected) {
  if (!good)
    throw UsageError(
        {.where = option, .got = got, .expected = std::string("expected ") + expected});
}

void write_args(const Settings& s, const nn::Input& input, int threads,
                const std::filesystem::path& path) {
  std::string text;
  const auto word = [&](const char* key, const std::string& value) {
    std::string quoted;
    for (char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    text += fmt::format("{} = \"{}\"\n", key, quoted);
  };
  const auto number = [&](const char* key, auto value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  const auto real = [&](const char* key, double value) {
    text += fmt::format("{} = {}\n", key, to_string(AttrValue(value)));
  };
  word("data", s.data);
  if (!s.validation.empty()) word("val", s.validation);
  if (s.val_split > 0) real("val-split", s.val_split);
  if (!s.augment.empty()) word("augment", s.augment);
  word("resize", s.resize);
  word("normalise", s.normalise);
  word("bad-files", s.bad_files);
  word("model", s.model.model);
  number("batch", s.run.batch);
  word("image", fmt::format("{}x{}", input.image.h, input.image.w));
  number("channels", input.channels);
  number("classes", s.model.class_count());
  if (s.model.dropout >= 0) real("dropout", s.model.dropout);
  if (s.model.auxiliary) number("aux", true);
  number("threads", threads);
  word("optimizer", s.optimizer.name);
  real("momentum", s.optimizer.momentum);
  if (s.optimizer.nesterov) number("nesterov", true);
  real("weight-decay", s.optimizer.weight_decay);
  real("clip-norm", s.optimizer.clip_norm);
  word("loss", s.loss.name);
  real("label-smoothing", s.loss.label_smoothing);
  real("l2", s.loss.l2);
  real("lr", s.run.lr);
  word("schedule", s.run.schedule.name);
  number("warmup", s.run.schedule.warmup);
  number("epochs", s.run.epochs);
  number("steps", s.run.steps);
  if (s.drop_last) number("drop-last", true);
  if (!s.memory.memory.empty()) word("memory", s.memory.memory);
  word("stash", s.memory.stash);
  if (!s.memory.spill.empty()) word("spill", s.memory.spill);
  number("accumulate", s.memory.accumulate);
  number("seed", s.seed);
  write_file(path, text);
}

void check_settings(const Settings& s) {
  Schedule(s.run.schedule, s.run.lr, 1);
  check(s.run.epochs >= 1, "--epochs", std::to_string(s.run.epochs), "at least 1");
  check(s.run.steps >= 0, "--steps", std::to_string(s.run.steps), "0 (no limit) or more");
  check(s.run.lr > 0 && s.run.lr < 1e9, "--lr", std::to_string(s.run.lr), "a positive number");
}

int exit_code(const RunReport& report) {
  if (report.stopped_by == "interrupt") return 128 + interrupted.load();
  return report.stopped_by == "not finite" ? kStoppedByWatchdog : 0;
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

void list_bad_files(const std::vector<Complaint>& skipped, const std::filesystem::path& path) {
  std::string text;
  for (const Complaint& complaint : skipped)
    text += complaint.where + ": " + complaint.got + "; " + complaint.expected + "\n";
  write_file(path, text);
  fmt::print(stderr, "plimsoll: {} bad samples are left out; {} lists them\n", skipped.size(),
             path.string());
}

RunReport train_on(const Settings& s, const TrainingData& data, const nn::Input& input, int threads,
                   Trainer& trainer, ProgressPrinter& printer) {
  if (!data.skipped.empty()) list_bad_files(data.skipped, s.run.out / "bad_files.txt");
  Pipeline train(data.train, s.pipeline(input, true, threads), data.largest);
  std::optional<Pipeline> validation;
  if (data.validation)
    validation.emplace(data.validation, s.pipeline(input, false, threads), data.largest);
  return run_training(trainer,
                      {.train = train,
                       .validation = validation ? &*validation : nullptr,
                       .train_samples = data.train->size(),
                       .validation_samples = data.validation ? data.validation->size() : 0,
                       .normalisation = {.mode = parse_normalisation(s.normalise, "--normalise")}},
                      s.run, printer, interrupted);
}

int run(Settings s) {
  check_settings(s);
  const int threads = s.common.apply_threads();
  const Budget budget = find_budget(s.memory);
  const bool quiet = s.common.quiet || s.common.json;
  if (!quiet) fmt::print("{}\n", budget_text(budget));
  const TrainingData data = *s.load_data();
  Ready ready = make_ready(s, &data, budget, threads);
  Trainer& trainer = ready.trainer;
  if (!ready.run.plan.fits)
    throw refusal(trainer, ready.run, find_levers(s.maker(&data, threads), s.memory, ready.run));
  const nn::Input input = s.model.input();
  s.run.model = s.model.model;
  s.run.batch = input.batch;
  s.run.drop_last = s.drop_last;
  s.run.seed = static_cast<std::uint64_t>(s.seed);
  s.run.budget_bytes = budget.bytes;
  s.run.predicted_bytes = ready.run.plan.total_bytes;
  s.run.out =
      s.out.empty() ? make_unique_directory("runs", s.model.model) : std::filesystem::path(s.out);
  make_directories(s.run.out);
  write_args(s, input, threads, s.run.out / "args.toml");
  write_file(s.run.out / "plan.txt",
             plan_text(trainer.session().tape(0), trainer.session().graph(0)));
  if (!quiet) {
    fmt::print(
        "{} · {} images to train on, {} to validate · {} classes · batch {} · {} threads · {}\n",
        s.model.model, data.train->size(), data.validation ? data.validation->size() : 0,
        s.model.class_count(), input.batch, threads, s.run.out.string());
    fmt::print("{}", lossy_text(s.memory));
    fmt::print("plan: {} of {} · {}\n", to_string(Bytes{ready.run.plan.total_bytes}),
               budget_size_text(budget), means_text(trainer, ready.run));
  }
  trainer.open(s.memory.spill);
  listen_to_signals();
  ProgressPrinter printer(quiet);
  const RunReport report = train_on(s, data, input, threads, trainer, printer);
  if (s.common.json) {
    fmt::print("{}", report_json(report));
  } else {
    fmt::print(
        "{} steps in {} · {:.0f} img/s · validation accuracy {} · peak memory {}\n", report.steps,
        duration_text(report.seconds), report.images_per_second,
        report.val_accuracy ? fmt::format("{:.2f} %", *report.val_accuracy * 100) : "not measured",
        to_string(Bytes{report.measured_peak_bytes}));
    if (!quiet) print_ledger(ready.run, report);
    if (report.stopped_by == "not finite")
      fmt::print(stderr,
                 "plimsoll: step {}: loss or gradients are not finite; the weights of the last "
                 "good step were saved\n"
                 "hint: a smaller --lr, or --clip-norm 1\n",
                 report.steps + 1);
  }
  return exit_code(report);
}

}  // namespace

Action add_train(CLI::App& command) {
  const auto s = std::make_shared<Settings>();
  s->model.model = "inception_mini";
  s->model.batch = 64;
  s->add_to(command);
  command
      .add_option("DATA,--data", s->data,
                  "a folder with a sub-folder per class, TFRecord files, a CSV, or fashion-mnist")
      ->required();
  command.add_option("--epochs", s->run.epochs, "times through the data")->capture_default_str();
  command.add_option("--steps", s->run.steps, "stop after this many steps; 0: no limit")
      ->capture_default_str();
  command.add_option("--lr", s->run.lr, "learning rate")->capture_default_str();
  command.add_option("--schedule", s->run.schedule.name, "constant or cosine")
      ->capture_default_str();
  command.add_option("--warmup", s->run.schedule.warmup, "steps over which the rate climbs")
      ->capture_default_str();
  command.add_option("--out", s->out,
                     "run directory; default: the first free of runs/<model>, runs/<model>2, ...");
  command.footer(
      "Examples:\n"
      "  plimsoll train fashion-mnist --model inception_mini --epochs 2 --lr 0.05\n"
      "  plimsoll train photos/ --model xception --memory 2GiB --batch 16 --val-split 0.2 \\\n"
      "      --augment horizontal_flip,random_resized_crop=0.35:1");
  return [s, &command] {
    s->check(command);
    return run(*s);
  };
}

}  // namespace plimsoll::cli
