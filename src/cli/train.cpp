#include <fmt/format.h>

#include <csignal>
#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "data/fashion_mnist.h"
#include "ops/table.h"
#include "train/records.h"
#include "train/run.h"

namespace plimsoll::cli {
namespace {

constexpr int kStoppedByWatchdog = 4;

struct Settings {
  CommonOptions common;
  ModelOptions model;
  OptimizerOptions optimizer;
  LossOptions loss;
  RunOptions run;
  std::string data;
  std::string out;
  std::int64_t seed = 0;
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
  if (s.run.drop_last) number("drop-last", true);
  number("seed", s.seed);
  write_file(path, text);
}

void check_settings(const Settings& s) {
  Schedule(s.run.schedule, s.run.lr, 1);
  check(s.run.epochs >= 1, "--epochs", std::to_string(s.run.epochs), "at least 1");
  check(s.run.steps >= 0, "--steps", std::to_string(s.run.steps), "0 (no limit) or more");
  check(s.run.lr > 0 && s.run.lr < 1e9, "--lr", std::to_string(s.run.lr), "a positive number");
  check(s.seed >= 0, "--seed", std::to_string(s.seed), "0 or more");
  check(s.loss.label_smoothing >= 0 && s.loss.label_smoothing < 1, "--label-smoothing",
        std::to_string(s.loss.label_smoothing), "0 up to, not including, 1");
  check(s.loss.l2 >= 0, "--l2", std::to_string(s.loss.l2), "0 or more");
  check(s.data == "fashion-mnist", "DATA", "'" + s.data + "'", "the word fashion-mnist");
}

int exit_code(const RunReport& report) {
  if (report.stopped_by == "interrupt") return 128 + interrupted.load();
  return report.stopped_by == "not finite" ? kStoppedByWatchdog : 0;
}

int run(Settings s) {
  check_settings(s);
  const int threads = s.common.apply_threads();
  const Images train = load_fashion_mnist(Split::train);
  const Images test = load_fashion_mnist(Split::test);
  if (s.model.classes == 0) s.model.classes = static_cast<std::int64_t>(train.class_names.size());
  if (s.model.channels == 0) s.model.channels = train.channels;
  if (s.model.image.empty()) s.model.image = fmt::format("{}x{}", train.height, train.width);
  const nn::Input input = s.model.input();
  check(input.image.h == train.height && input.image.w == train.width &&
            input.channels == train.channels,
        "--image", fmt::format("{}x{}x{}", input.channels, input.image.h, input.image.w),
        "1x28x28, the size of the data");
  check(s.model.class_count() >= static_cast<std::int64_t>(train.class_names.size()), "--classes",
        std::to_string(s.model.class_count()), "at least 10, the classes of the data");

  s.run.model = s.model.model;
  s.run.batch = input.batch;
  s.run.seed = static_cast<std::uint64_t>(s.seed);
  Trainer trainer(op_table(), s.model.factory(),
                  {.input = input,
                   .train_batches = batch_sizes(train.count, input.batch, s.run.drop_last),
                   .evaluate_batches = batch_sizes(test.count, input.batch, false),
                   .loss = s.loss,
                   .optimizer = s.optimizer,
                   .seed = s.run.seed});
  s.run.out =
      s.out.empty() ? make_unique_directory("runs", s.model.model) : std::filesystem::path(s.out);
  make_directories(s.run.out);
  write_args(s, input, threads, s.run.out / "args.toml");
  const bool quiet = s.common.quiet || s.common.json;
  if (!quiet)
    fmt::print(
        "{} · {} images to train on, {} to test · batch {} · {} threads · {} for tensors, fixed "
        "before step 1 · {}\n",
        s.model.model, train.count, test.count, input.batch, threads,
        to_string(Bytes{trainer.session().arena_bytes()}), s.run.out.string());
  trainer.open();
  listen_to_signals();
  ProgressPrinter printer(quiet);
  const RunReport report = run_training(trainer, train, &test, s.run, printer, interrupted);
  if (s.common.json) {
    fmt::print("{}", report_json(report));
  } else {
    fmt::print(
        "{} steps in {} · {:.0f} img/s · test accuracy {} · peak memory {}\n", report.steps,
        duration_text(report.seconds), report.images_per_second,
        report.val_accuracy ? fmt::format("{:.2f} %", *report.val_accuracy * 100) : "not measured",
        to_string(Bytes{report.measured_peak_bytes}));
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
  s->common.add_to(command);
  s->model.add_to(command);
  command.add_option("DATA,--data", s->data, "fashion-mnist")->required();
  command.add_option("--epochs", s->run.epochs, "times through the data")->capture_default_str();
  command.add_option("--steps", s->run.steps, "stop after this many steps; 0: no limit")
      ->capture_default_str();
  command.add_option("--lr", s->run.lr, "learning rate")->capture_default_str();
  command.add_option("--schedule", s->run.schedule.name, "constant or cosine")
      ->capture_default_str();
  command.add_option("--warmup", s->run.schedule.warmup, "steps over which the rate climbs")
      ->capture_default_str();
  command.add_option("--optimizer", s->optimizer.name, "sgd, rmsprop, adam or adamw")
      ->capture_default_str();
  command.add_option("--momentum", s->optimizer.momentum, "of sgd and rmsprop")
      ->capture_default_str();
  command.add_flag("--nesterov", s->optimizer.nesterov, "sgd looks ahead");
  command.add_option("--weight-decay", s->optimizer.weight_decay)->capture_default_str();
  command
      .add_option("--clip-norm", s->optimizer.clip_norm,
                  "largest norm of all gradients; 0: no limit")
      ->capture_default_str();
  command
      .add_option("--loss", s->loss.name, "categorical_crossentropy, binary_crossentropy or mse")
      ->capture_default_str();
  command.add_option("--label-smoothing", s->loss.label_smoothing)->capture_default_str();
  command.add_option("--l2", s->loss.l2, "times the sum of squared kernels, added to the loss")
      ->capture_default_str();
  command.add_flag("--drop-last", s->run.drop_last, "leave out the partial last batch");
  command.add_option("--seed", s->seed)->capture_default_str();
  command.add_option("--out", s->out,
                     "run directory; default: the first free of runs/<model>, runs/<model>2, ...");
  command.footer(
      "Example: plimsoll train fashion-mnist --model inception_mini --epochs 2 --lr 0.05");
  return [s, &command] {
    // Keras's RMSprop has no momentum unless it is asked for.
    if (s->optimizer.name == "rmsprop" && command.count("--momentum") == 0)
      s->optimizer.momentum = 0;
    return run(*s);
  };
}

}  // namespace plimsoll::cli
