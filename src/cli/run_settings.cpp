#include "cli/run_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/config_file.h"
#include "draw/mosaic.h"
#include "task/class_counts.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kMostEpochs = 1'000'000'000;

void require(bool good, const char* option, const std::string& got, const std::string& expected) {
  if (!good) throw UsageError({.where = option, .got = got, .expected = "expected " + expected});
}

// Which pictures with which labels, wherever they lie: a moved folder is the same data.
std::string fingerprint(const Source& source) {
  std::uint64_t hash = fnv1a64("samples");
  const auto add = [&](std::string_view text) { hash = splitmix64(hash ^ fnv1a64(text)); };
  for (std::int64_t i = 0; i < source.size(); ++i)
    add(fmt::format("{} {} {}", std::filesystem::path(source.path(i)).filename().string(),
                    source.number(i), source.label(i)));
  for (const std::string& name : source.class_names()) add(name);
  return fmt::format("{} samples of {} classes ({:016x})", source.size(),
                     source.class_names().size(), hash);
}

// Options that name a place, which is to be found again from anywhere.
constexpr std::string_view kPlaces[] = {"data",  "val",    "weights",  "spill",
                                        "cache", "images", "label-map"};

// Also where the word is a pattern. A set with a name of its own and ~ are left alone.
std::string absolute_place(const std::string& text) {
  if (text == "fashion-mnist" || text.starts_with('~')) return text;
  return std::filesystem::absolute(text).string();
}

ConfigValue value_of(const CLI::Option& option) {
  const std::string& name = option.get_lnames()[0];
  const bool given = option.count() > 0;
  const std::string text = given ? option.as<std::string>() : option.get_default_str();
  if (text.empty()) return text;
  if (option.get_type_name() == "INT")
    return given ? option.as<std::int64_t>() : parse_integer(text).value_or(0);
  if (option.get_type_name() == "FLOAT")
    return given ? option.as<double>() : std::strtod(text.c_str(), nullptr);
  return std::ranges::find(kPlaces, name) == std::end(kPlaces) ? text : absolute_place(text);
}

std::string number_text(double value) { return to_string(AttrValue(value)); }

}  // namespace

void RunSettings::add_run_options(CLI::App& command) {
  command.add_option("--epochs", run.epochs, "times through the data")->capture_default_str();
  command.add_option("--steps", run.steps, "stop after this many steps; 0: no limit")
      ->capture_default_str();
  command.add_option("--lr", run.lr, "learning rate")->capture_default_str();
  command.add_flag("--scale-lr", scale_lr, "times batch/256; else --lr is what it says");
  command
      .add_option("--schedule", run.schedule.name,
                  "constant, step, exponential, poly, cosine, one-cycle, piecewise, plateau; with "
                  "settings behind a colon: step:every=30e,factor=0.1")
      ->capture_default_str();
  command.add_option("--warmup", run.schedule.warmup, "steps over which the rate climbs")
      ->capture_default_str();
  command.add_option("--out", out,
                     "run directory; default: the first free of runs/<model>, runs/<model>2, ...");
  command.add_option("--resume", resume, "go on with this run directory, with its options");
  command.add_flag("--fresh", fresh, "a new run, even if one like it was left unfinished");
  command.add_option("--weights", weights, "safetensors file to begin with");
  command.add_option("--unfreeze-after", unfreeze_after, "epochs after which nothing is frozen")
      ->capture_default_str();
  command.add_option("--early-stop", run.early_stop, "epochs without a better one; 0: never")
      ->capture_default_str();
  command.add_option("--monitor", monitor, "what is better: val_loss or val_accuracy")
      ->capture_default_str();
  command.add_option("--save-every", save_every, "steps, or a time: 100, 30s, 5min, 2h")
      ->capture_default_str();
  command.add_option("--keep", run.save.keep, "checkpoints to keep")->capture_default_str();
  command.add_option("--watch", watch, "loss, layers (and look into them now and then) or off")
      ->capture_default_str();
  command.add_option("--on-diverge", on_diverge, "warn, stop or rollback")->capture_default_str();
  command.add_option("--on-stall", on_stall, "warn or stop")->capture_default_str();
  command.add_option("--on-plateau", on_plateau, "warn or stop")->capture_default_str();
  command.add_flag("--histograms", run.histograms, "of the weights, for TensorBoard");
}

void RunSettings::check_run_options() {
  [[maybe_unused]] const RateSchedule readable(run.schedule, run.lr, 1);
  require(run.epochs >= 1 && run.epochs <= kMostEpochs, "--epochs", std::to_string(run.epochs),
          fmt::format("1 to {}", kMostEpochs));
  require(run.steps >= 0, "--steps", std::to_string(run.steps), "0 (no limit) or more");
  require(run.lr > 0 && run.lr < 1e9, "--lr", std::to_string(run.lr), "a positive number");
  require(run.early_stop >= 0, "--early-stop", std::to_string(run.early_stop), "0 or more epochs");
  require(unfreeze_after >= 0, "--unfreeze-after", std::to_string(unfreeze_after),
          "0 (never) or more epochs");
  require(run.save.keep >= 1, "--keep", std::to_string(run.save.keep), "at least 1");
  require(monitor.starts_with("val_"), "--monitor", "'" + monitor + "'",
          "val_loss or val_accuracy");
  require(watch == "loss" || watch == "layers" || watch == "off", "--watch", "'" + watch + "'",
          "loss, layers or off");
  require(run.early_stop == 0 || !validation.empty() || val_split > 0 || data == "fashion-mnist",
          "--early-stop", "without validation data", "--val or --val-split beside it");
  const std::int64_t keep = run.save.keep;
  run.save = parse_save_every(save_every);
  run.save.keep = keep;
  run.watchdog = {.loss = watch != "off",
                  .layers = watch == "layers",
                  .on_diverge = parse_answer(on_diverge, "--on-diverge", true),
                  .on_plateau = parse_answer(on_plateau, "--on-plateau", false),
                  .on_stall = parse_answer(on_stall, "--on-stall", false)};
}

void RunSettings::settle(const TrainingData& loaded, const nn::Input& input) {
  run.model = model.model;
  run.data = data;
  run.batch = input.batch;
  run.drop_last = drop_last;
  if (monitor != "val_loss")
    run.monitor = find_metric(*task(&loaded), std::string_view(monitor).substr(4), "--monitor");
  if (scale_lr) run.lr = run.lr * static_cast<double>(input.batch) / 256;
  run.identity = identity(loaded, input);
}

RunIdentity RunSettings::identity(const TrainingData& loaded, const nn::Input& input) const {
  RunIdentity identity;
  identity.is = {{"model", model.model},
                 {"image", fmt::format("{}x{}", input.image.h, input.image.w)},
                 {"channels", std::to_string(input.channels)},
                 {"classes", std::to_string(model.class_count())},
                 {"class_names", nlohmann::json(loaded.train->class_names()).dump()},
                 {"dropout", number_text(model.dropout)},
                 {"auxiliary head", model.auxiliary ? "yes" : "no"},
                 {"optimizer", optimizer.name},
                 {"loss", loss.name},
                 {"data", fingerprint(*loaded.train)},
                 {"pictures", fmt::format("content {:016x}", loaded.train_content)},
                 {"seed", std::to_string(seed)}};
  identity.with = {{"batch", std::to_string(input.batch)},
                   {"accumulate", std::to_string(memory.accumulate)},
                   {"stash", memory.stash},
                   {"lr", number_text(run.lr)},
                   {"schedule", run.schedule.name},
                   {"warmup", std::to_string(run.schedule.warmup)},
                   {"momentum", number_text(optimizer.momentum)},
                   {"nesterov", optimizer.nesterov ? "yes" : "no"},
                   {"weight-decay", number_text(optimizer.weight_decay)},
                   {"clip-norm", number_text(optimizer.clip_norm)},
                   {"label-smoothing", number_text(loss.label_smoothing)},
                   {"l2", number_text(l2)},
                   {"augment", augment},
                   {"resize", resize},
                   {"normalise", normalise},
                   {"drop-last", drop_last ? "yes" : "no"},
                   {"freeze", freeze},
                   {"unfreeze-after", std::to_string(unfreeze_after)},
                   {"lr-for", lr_for},
                   {"ema", number_text(average)},
                   {"bn-momentum", number_text(bn_momentum)},
                   {"class-weights", class_weights},
                   {"validation", loaded.validation ? fmt::format("{}, content {:016x}",
                                                                  fingerprint(*loaded.validation),
                                                                  loaded.validation_content)
                                                    : "none"}};
  return identity;
}

RunFiles RunSettings::files(const TrainingData& loaded, const nn::Input& input) const {
  const std::int64_t epoch = loaded.train->size() / std::max<std::int64_t>(1, input.batch) + 1;
  const std::int64_t steps = run.steps > 0 ? run.steps : epoch * run.epochs;
  const std::int64_t epochs = steps / epoch + 1;
  const std::int64_t checkpoints = run.save.keep + 1;
  std::int64_t names = 0;
  for (const std::string& name : loaded.train->class_names()) names += std::ssize(name) + 8;
  // The plan, the log, pictures and what else has one size, the sheet of the first batch twice; of
  // every step and epoch events and rows; a checkpoint's header has the names of the classes.
  const std::int64_t sheet = draw::mosaic_bytes(
      kSheetTiles, {.width = input.image.w, .height = input.image.h, .channels = input.channels});
  const std::int64_t once = (std::int64_t{3} << 20) + 2 * sheet;
  constexpr std::int64_t kPerStep = 64;
  constexpr std::int64_t kPerEpoch = 2048;
  constexpr std::int64_t kPerConfusion = 256;  // of two classes: a cell of the picture, replaced
  const auto classes = std::ssize(loaded.train->class_names());
  const std::int64_t cells = classes <= ClassCounts::kMostConfused ? classes * classes : 0;
  return {.checkpoints = checkpoints,
          .weights = loaded.validation ? 1 : 0,
          .histograms = run.histograms ? epochs : 0,
          .records = once + kPerStep * steps + kPerEpoch * epochs + kPerConfusion * cells +
                     (checkpoints + 1) * names};
}

std::string args_text(const CLI::App& command, const RunSettings& s, const nn::Input& input,
                      int threads) {
  std::map<std::string, ConfigValue> options;
  const std::vector<std::string> left_out{"help",  "config", "resume", "out",
                                          "fresh", "json",   "quiet"};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames()[0];
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    if (option->get_items_expected_max() == 0) {
      if (option->count() > 0) options[name] = true;
      continue;
    }
    const ConfigValue value = value_of(*option);
    if (value != ConfigValue(std::string())) options[name] = value;
  }
  options["batch"] = input.batch;
  options["image"] = fmt::format("{}x{}", input.image.h, input.image.w);
  options["channels"] = input.channels;
  options["classes"] = s.model.class_count();
  options["momentum"] = s.optimizer.momentum;
  options["threads"] = std::int64_t{threads};
  return config_text(options);
}

}  // namespace plimsoll::cli
