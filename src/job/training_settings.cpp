#include "job/training_settings.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "dist/tree.h"
#include "job/begin_weights.h"
#include "job/kernel_choice.h"
#include "step/evaluation.h"
#include "task/detection.h"

namespace plimsoll::job {
namespace {

// "a=1,b=2" as names and numbers that are not negative.
std::vector<std::pair<std::string, double>> parse_pairs(const std::string& text,
                                                        const char* option) {
  std::vector<std::pair<std::string, double>> pairs;
  if (text.empty()) return pairs;
  for (std::string_view part : split(text, ',')) {
    const std::size_t equals = part.rfind('=');
    double value = -1;
    if (equals != std::string_view::npos) {
      const std::string_view number = trim(part.substr(equals + 1));
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), value);
      if (error != std::errc() || end != number.data() + number.size()) value = -1;
    }
    require(value >= 0 && value < 1e9, option, "'" + std::string(part) + "'",
            "NAME=NUMBER, separated by commas");
    pairs.emplace_back(trim(part.substr(0, equals)), value);
  }
  return pairs;
}

// The names of all BatchNorms.
std::vector<std::string> norms_of(const ModelSettings& model) {
  std::vector<std::string> names;
  for (const nn::Layer& layer : model.layers())
    if (layer.type == "BatchNormalization") names.push_back(layer.name);
  return names;
}

// The patterns of --freeze; "body" is all but the head, "bn" all BatchNorms.
std::vector<std::string> frozen_patterns(const std::string& text, const ModelSettings& model) {
  std::vector<std::string> patterns;
  if (text.empty()) return patterns;
  for (std::string_view part : split(text, ',')) {
    const std::string pattern(trim(part));
    if (pattern == "bn") {
      for (std::string& norm : norms_of(model)) patterns.push_back(std::move(norm));
    } else if (pattern == "body") {
      const std::vector<std::string> body = model.body();
      patterns.insert(patterns.end(), body.begin(), body.end());
    } else {
      patterns.push_back(pattern);
    }
  }
  return patterns;
}

}  // namespace

void require(bool good, const char* option, const std::string& got, const std::string& expected) {
  if (!good) throw UsageError({.where = option, .got = got, .expected = "expected " + expected});
}

void TrainingSettings::check() const {
  require(seed >= 0, "--seed", std::to_string(seed), "0 or more");
  require(loss.label_smoothing >= 0 && loss.label_smoothing < 1, "--label-smoothing",
          std::to_string(loss.label_smoothing), "0 up to, not including, 1");
  require(l2 >= 0, "--l2", std::to_string(l2), "0 or more");
  require(val_split >= 0 && val_split < 1, "--val-split", std::to_string(val_split),
          "0 up to, not including, 1");
  require(val_split == 0 || validation.empty(), "--val-split", "with --val", "one of the two");
  require(bad_files == "stop" || bad_files == "skip", "--bad-files", "'" + bad_files + "'",
          "stop or skip");
  parse_interpolation(resize, "--resize");
  if (!normalise.empty()) parse_normalisation(normalise, "--normalise");
  const Augment random = parse_augment(augmentation(), "--augment");
  if (model.detects()) {
    check_for_boxes(random, "--augment");
    const auto refuse = [&](bool given, const char* option) {
      require(!given, option, "with " + model.title(), "none with a network that finds boxes");
    };
    refuse(loss.label_smoothing > 0, "--label-smoothing");
    refuse(!class_weights.empty(), "--class-weights");
    refuse(loss.name != LossOptions().name, "--loss");
    refuse(model.auxiliary, "--aux");
  }
  require(average >= 0 && average < 1, "--ema", std::to_string(average),
          "0 up to, not including, 1");
  require(bn_momentum >= 0 && bn_momentum < 1, "--bn-momentum", std::to_string(bn_momentum),
          "0 up to, not including, 1");
  require(thaw_lr >= 0 && thaw_lr < 1e9, "--thaw-lr", std::to_string(thaw_lr), "0 or more");
  boxes.check();
  require(boxes.anchors.empty() || model.detects(), "--anchors", "with " + model.title(),
          "a network that detects");
  tuning();
  kernel_choice();
  memory.check(model.is_short());
}

void TrainingSettings::check_sharding() const {
  if (!memory.shard_optimizer) return;
  if (place.ranks == 1)
    throw UsageError({.where = "--shard-optimizer",
                      .got = "one rank, which holds all that the optimizer remembers",
                      .expected = "expected several to share it out",
                      .hint = "--ranks N starts them"});
  if (!remembers())
    throw UsageError({.where = "--shard-optimizer",
                      .got = "an optimizer that remembers nothing, and no --ema",
                      .expected = "expected something for ranks to share out",
                      .hint = "without it the run is the same"});
}

bool TrainingSettings::remembers() const {
  return average > 0 || !optimizer_op(optimizer_options()).slots.empty();
}

void TrainingSettings::settle_normalise() {
  std::string wanted = model.network_text().empty() ? "" : model.network().preprocessing;
  if (!weights.empty())
    if (const std::string theirs = wanted_preprocessing(weights); !theirs.empty()) wanted = theirs;
  if (normalise.empty()) normalise = wanted.empty() ? "tf" : wanted;
}

OptimizerOptions TrainingSettings::optimizer_options() const {
  OptimizerOptions options = optimizer;
  if (options.name.empty()) options.name = model.network().recipe.optimizer;
  if (options.name == "rmsprop") options.momentum = 0;
  if (momentum) options.momentum = *momentum;
  return options;
}

const std::string& TrainingSettings::augmentation() const {
  return augment.empty() ? model.network().recipe.augment : augment;
}

bool TrainingSettings::keeps_statistics() const {
  return model.detects() && !weights.empty() && !thaw_bn;
}

double TrainingSettings::body_rate() const {
  return weights.empty() ? 1 : model.network().recipe.body_lr;
}

std::vector<std::string> TrainingSettings::norms_left_frozen() const {
  std::vector<std::string> names;
  if (thawed.empty() || thaw_bn) return names;
  const Tuning before{.frozen = frozen_patterns(thawed, model)};
  for (std::string& norm : norms_of(model))
    if (is_frozen(before, norm)) names.push_back(std::move(norm));
  return names;
}

Tuning TrainingSettings::tuning() const {
  Tuning tuning{.average = average, .batch_norm_momentum = bn_momentum};
  // First, so that those of --freeze count.
  if (keeps_statistics()) tuning.frozen = norms_of(model);
  for (std::string& pattern : frozen_patterns(freeze, model))
    tuning.frozen.push_back(std::move(pattern));
  for (std::string& norm : norms_left_frozen()) tuning.frozen.push_back(std::move(norm));
  // First, so that those of --thaw-lr count, and last those of --lr-for.
  if (const double rate = body_rate(); rate != 1)
    for (const std::string& pattern : model.body()) tuning.lr_factors.emplace_back(pattern, rate);
  for (const std::string& pattern : frozen_patterns(thawed, model))
    if (pattern.starts_with('!'))
      tuning.lr_factors.emplace_back(pattern.substr(1), 1);
    else
      tuning.lr_factors.emplace_back(pattern, thaw_lr);
  for (const auto& [pattern, factor] : parse_pairs(lr_for, "--lr-for"))
    tuning.lr_factors.emplace_back(pattern, factor);
  return tuning;
}

KernelChoice TrainingSettings::kernel_choice() const { return choose_kernels(kernels); }

TaskPtr TrainingSettings::task(const Source* source) const {
  if (model.detects())
    return make_detection(
        {.classes = model.class_count(),
         .class_names = source == nullptr ? std::vector<std::string>() : source->class_names(),
         .anchor_base = boxes.base(model.network()),
         .most_boxes = boxes.most_boxes,
         .most_truths = boxes.most_truths,
         .most_truths_of_class = boxes.most_truths_of_class});
  LossOptions options = loss;
  options.weighted = !class_weights.empty();
  options.mixed = parse_augment(augmentation(), "--augment").mixup > 0;
  TaskData about{.outputs = model.class_count(), .names = {}};
  if (source != nullptr) {
    about.targets = source->target_kind();
    about.names = source->class_names();
    if (about.targets == TargetKind::label) about.class_weights = weights_of(*source);
  }
  return make_task(options, about);
}

std::vector<float> TrainingSettings::weights_of(const Source& source) const {
  if (class_weights.empty()) return {};
  const std::vector<std::string>& names = source.class_names();
  std::vector<float> factors(static_cast<std::size_t>(model.class_count()), 1.0F);
  if (class_weights == "balanced") {
    std::vector<std::int64_t> counts(names.size());
    for (std::int64_t i = 0; i < source.size(); ++i)
      ++counts[static_cast<std::size_t>(source.label(i))];
    for (std::size_t c = 0; c < names.size(); ++c)
      if (counts[c] > 0)
        factors[c] =
            static_cast<float>(static_cast<double>(source.size()) /
                               static_cast<double>(names.size()) / static_cast<double>(counts[c]));
    return factors;
  }
  for (const auto& [name, weight] : parse_pairs(class_weights, "--class-weights")) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError({.where = "--class-weights",
                        .got = "the data has no class '" + name + "'",
                        .expected = "expected NAME=WEIGHT of its classes, or balanced",
                        .hint = did_you_mean(nearest(name, names))});
    factors[static_cast<std::size_t>(found - names.begin())] = static_cast<float>(weight);
  }
  return factors;
}

void TrainingSettings::check_patterns(const Trainer& trainer) const {
  const Tuning wanted = tuning();
  std::vector<std::string> names;
  std::vector<std::string> weight_names;
  bool trains = false;
  for (const nn::Layer& layer : trainer.step_graph().layers) {
    if (layer.parameters.empty()) continue;
    names.push_back(layer.name);
    for (const nn::Parameter& parameter : layer.parameters) {
      weight_names.push_back(parameter.name);
      trains = trains || parameter.trainable;
    }
  }
  const std::string kFreeze = "--freeze";
  const auto check = [&](const std::string& pattern, const std::string& option) {
    const bool of_weights = pattern.find('/') != std::string::npos && option != kFreeze;
    const auto& all = of_weights ? weight_names : names;
    if (std::none_of(all.begin(), all.end(),
                     [&](const std::string& name) { return matches(pattern, name); }))
      throw UsageError({.where = option,
                        .got = "no layer with weights matches '" + pattern + "'",
                        .expected = "expected names as `plimsoll summary` lists them",
                        .hint = did_you_mean(nearest(pattern, names))});
  };
  for (const std::string& pattern : wanted.frozen)
    check(pattern.substr(pattern.starts_with('!') ? 1 : 0), kFreeze);
  for (const auto& [pattern, factor] : wanted.lr_factors) check(pattern, "--lr-for");
  require(trains, "--freeze", "'" + freeze + "' freezes every layer", "something left to train");
}

PipelineSettings TrainingSettings::pipeline(const nn::Input& input, bool training,
                                            int workers) const {
  PipelineSettings settings{.batch = input.batch,
                            .image = {.height = input.image.h, .width = input.image.w},
                            .channels = static_cast<int>(input.channels),
                            .interpolation = parse_interpolation(resize, "--resize"),
                            .seed = static_cast<std::uint64_t>(seed),
                            .shuffle = training,
                            .drop_last = training && drop_last,
                            .repeat = training,
                            .depth = 2,
                            .workers = workers,
                            .bad_files = bad_files == "skip" ? BadFiles::skip : BadFiles::stop};
  if (training) settings.augment = parse_augment(augmentation(), "--augment");
  if (model.detects()) {
    settings.fit = Fit::letterbox;
    settings.most_boxes = boxes.most_boxes;
  }
  if (place.ranks == 1) return settings;
  if (!training) {
    settings.window = dealt_batches(place.rank, place.ranks, input.batch);
    settings.window_most = input.batch;
    return settings;
  }
  settings.window = [place = place, whole = input.batch, parts = memory.accumulate](
                        std::int64_t, std::int64_t count) {
    const dist::Window window = dist::window_of(count, whole, parts, place.rank, place.ranks);
    return BatchWindow{.first = window.first, .count = window.count};
  };
  for (std::int64_t count = 1; count <= input.batch; ++count)
    settings.window_most = std::max(settings.window_most, settings.window(0, count).count);
  return settings;
}

Normalisation TrainingSettings::normalisation() const {
  return {.mode = parse_normalisation(normalise.empty() ? "tf" : normalise, "--normalise")};
}

}  // namespace plimsoll::job
