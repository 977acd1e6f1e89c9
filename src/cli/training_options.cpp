#include "cli/training_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/fashion_mnist.h"
#include "ops/table.h"
#include "train/run.h"

namespace plimsoll::cli {
namespace {

void require(bool good, const char* option, const std::string& got, const std::string& expected) {
  if (!good) throw UsageError({.where = option, .got = got, .expected = "expected " + expected});
}

// Queue and decoders for photographs of up to 16 megapixels: what is assumed without data.
constexpr std::int64_t kLargestPicture = 16'000'000 * 3;

}  // namespace

void TrainingOptions::add_to(CLI::App& command) {
  common.add_to(command);
  model.add_to(command);
  memory.add_to(command);
  command.add_option("--optimizer", optimizer.name, "sgd, rmsprop, adam or adamw")
      ->capture_default_str();
  command.add_option("--momentum", optimizer.momentum, "of sgd and rmsprop")->capture_default_str();
  command.add_flag("--nesterov", optimizer.nesterov, "sgd looks ahead");
  command.add_option("--weight-decay", optimizer.weight_decay)->capture_default_str();
  command
      .add_option("--clip-norm", optimizer.clip_norm, "largest norm of all gradients; 0: no limit")
      ->capture_default_str();
  command.add_option("--loss", loss.name, "categorical_crossentropy, binary_crossentropy or mse")
      ->capture_default_str();
  command.add_option("--label-smoothing", loss.label_smoothing)->capture_default_str();
  command.add_option("--l2", loss.l2, "times the sum of squared kernels, added to the loss")
      ->capture_default_str();
  command.add_flag("--drop-last", drop_last, "leave out the partial last batch");
  command.add_option("--seed", seed)->capture_default_str();
}

void TrainingOptions::check(const CLI::App& command) {
  // Keras's RMSprop has no momentum unless it is asked for.
  if (optimizer.name == "rmsprop" && command.count("--momentum") == 0) optimizer.momentum = 0;
  require(seed >= 0, "--seed", std::to_string(seed), "0 or more");
  require(loss.label_smoothing >= 0 && loss.label_smoothing < 1, "--label-smoothing",
          std::to_string(loss.label_smoothing), "0 up to, not including, 1");
  require(loss.l2 >= 0, "--l2", std::to_string(loss.l2), "0 or more");
  require(data.empty() || data == "fashion-mnist", "DATA", "'" + data + "'",
          "the word fashion-mnist");
  memory.check();
}

std::optional<TrainingData> TrainingOptions::load_data() {
  if (data.empty()) return std::nullopt;
  TrainingData loaded{load_fashion_mnist(Split::train), load_fashion_mnist(Split::test)};
  const Images& train = loaded.train;
  const auto classes = static_cast<std::int64_t>(train.class_names.size());
  if (model.classes == 0) model.classes = classes;
  if (model.channels == 0) model.channels = train.channels;
  if (model.image.empty()) model.image = fmt::format("{}x{}", train.height, train.width);
  const nn::Input input = model.input();
  require(input.image.h == train.height && input.image.w == train.width &&
              input.channels == train.channels,
          "--image", fmt::format("{}x{}x{}", input.channels, input.image.h, input.image.w),
          "1x28x28, the size of the data");
  require(model.class_count() >= classes, "--classes", std::to_string(model.class_count()),
          fmt::format("at least {}, the classes of the data", classes));
  return loaded;
}

VariantMaker TrainingOptions::maker(const TrainingData* loaded, int threads) const {
  return [this, loaded, threads](std::int64_t batch, std::int64_t accumulate) {
    nn::Input input = model.input();
    input.batch = batch;
    TrainerOptions options{.input = input,
                           .train_batches = {batch},
                           .accumulate = accumulate,
                           .evaluate_batches = {batch},
                           .loss = loss,
                           .optimizer = optimizer,
                           .seed = static_cast<std::uint64_t>(seed)};
    // Two batches in the queue, and a decoder per thread for the largest picture.
    const std::int64_t pixels = batch * input.channels * input.image.h * input.image.w;
    std::int64_t input_bytes = 2 * pixels + threads * kLargestPicture;
    if (loaded != nullptr) {
      options.train_batches = batch_sizes(loaded->train.count, batch, drop_last);
      options.evaluate_batches = batch_sizes(loaded->test.count, batch, false);
      input_bytes = loaded->train.bytes().count + loaded->test.bytes().count;
    }
    return Variant{Trainer(op_table(), model.factory(), options),
                   {.input_bytes = input_bytes, .threads = threads}};
  };
}

Ready make_ready(TrainingOptions& options, const TrainingData* data, const Budget& budget,
                 int threads) {
  const VariantMaker make = options.maker(data, threads);
  const std::int64_t accumulate = options.memory.accumulate;
  if (options.model.batch_max) {
    // The floor's fates of one batch are good for another, those of a near one are better.
    constexpr int kRounds = 3;
    std::int64_t tried = 8 * accumulate;
    std::int64_t best = 0;
    for (int round = 0; round < kRounds; ++round) {
      options.model.batch = tried;
      Variant probe = make(tried, accumulate);
      const PlannedRun run = plan_run(probe, options.memory, budget, tried);
      const std::int64_t found =
          largest_batch(make, run, run.plan.frontier.points.back().fates, accumulate);
      if (found == 0 && best == 0)
        throw refusal(probe.trainer, run, find_levers(make, options.memory, run));
      if (found <= best) break;
      best = tried = found;
    }
    options.model.batch = best;
  }
  Variant variant = make(options.model.batch, accumulate);
  PlannedRun run = plan_run(variant, options.memory, budget, options.model.batch);
  return {std::move(variant.trainer), std::move(run)};
}

}  // namespace plimsoll::cli
