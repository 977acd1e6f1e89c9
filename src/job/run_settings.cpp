#include "job/run_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "job/identity.h"

namespace plimsoll::job {
namespace {

constexpr std::int64_t kScaledBatch = 256;  // of --scale-lr
constexpr std::int64_t kMostEpochs = 1'000'000'000;
constexpr Bytes kLargestNetwork = 64_MiB;

}  // namespace

double RunSettings::base_lr() const { return lr.value_or(model.network().recipe.lr); }

const std::string& RunSettings::schedule_name() const {
  return schedule.empty() ? model.network().recipe.schedule : schedule;
}

std::string RunSettings::monitor_name() const {
  if (model.detects() && monitor.starts_with("map")) return "val_" + monitor;
  if (!monitor.empty()) return monitor;
  return model.detects() ? "val_map" : "val_loss";
}

std::int64_t RunSettings::lr_batch() const {
  return scale_lr ? kScaledBatch : model.network().recipe.lr_batch;
}

void RunSettings::check_run_options() {
  run.schedule = {.name = schedule_name(),
                  .warmup = warmup.value_or(model.network().recipe.warmup)};
  const double rate = base_lr();
  [[maybe_unused]] const RateSchedule readable(run.schedule, rate, 1);
  require(run.epochs >= 1 && run.epochs <= kMostEpochs, "--epochs", std::to_string(run.epochs),
          fmt::format("1 to {}", kMostEpochs));
  require(run.steps >= 0, "--steps", std::to_string(run.steps), "0 (no limit) or more");
  require(rate > 0 && rate < 1e9, "--lr", std::to_string(rate), "a positive number");
  require(run.early_stop >= 0, "--early-stop", std::to_string(run.early_stop), "0 or more epochs");
  require(unfreeze_after >= 0, "--unfreeze-after", std::to_string(unfreeze_after),
          "0 (never) or more epochs");
  require(run.save.keep >= 1, "--keep", std::to_string(run.save.keep), "at least 1");
  require(monitor_name().starts_with("val_"), "--monitor", "'" + monitor + "'",
          "val_loss or val_accuracy, of detectors val_map or val_map50");
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
  if (const std::filesystem::path own = std::filesystem::path(resume) / kNetworkFile;
      !resume.empty() && std::filesystem::exists(own))
    model.description = read_file(own, kLargestNetwork);
  settle_normalise();
}

void RunSettings::settle(const TrainingData& loaded, const nn::Input& input) {
  run.model = model.title();
  run.data = data;
  run.batch = input.batch;
  run.drop_last = drop_last;
  if (const std::string better = monitor_name(); better != "val_loss")
    run.monitor =
        find_metric(*task(loaded.train.get()), std::string_view(better).substr(4), "--monitor");
  const std::int64_t per = lr_batch();
  run.lr =
      per > 0 ? base_lr() * static_cast<double>(input.batch) / static_cast<double>(per) : base_lr();
  if (!warmup) {
    const std::int64_t per_epoch =
        (run.samples_per_epoch(loaded.train->size()) + input.batch - 1) / input.batch;
    run.schedule.warmup = std::min(run.schedule.warmup, run.steps_in_all(per_epoch) / 10);
  }
  run.identity = identity_of(*this, loaded, input);
}

}  // namespace plimsoll::job
