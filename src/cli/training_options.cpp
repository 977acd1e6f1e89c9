#include "cli/training_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "cli/data_report.h"
#include "cli/progress.h"
#include "ops/table.h"
#include "run/run.h"

namespace plimsoll::cli {
namespace {

void require(bool good, const char* option, const std::string& got, const std::string& expected) {
  if (!good) throw UsageError({.where = option, .got = got, .expected = "expected " + expected});
}

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

// A photograph, and the file of it: what is assumed without data.
constexpr std::int64_t kLargestPicture = 16'000'000;
constexpr Bytes kLargestFile = 3_MiB;

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
  data_options.add_to(command);
  command.add_option("--val", validation, "data to validate on after every epoch");
  command.add_option("--val-split", val_split, "or this share of the training data")
      ->capture_default_str();
  command.add_option("--augment", augment,
                     "random changes: horizontal_flip,zoom_range=0.2,random_resized_crop=0.35:1");
  command.add_option("--resize", resize, "nearest, bilinear, bicubic, area; -antialias")
      ->capture_default_str();
  command.add_option("--normalise", normalise, "tf, caffe, torch, scale or none")
      ->capture_default_str();
  command.add_option("--bad-files", bad_files, "stop, or skip what cannot be read")
      ->capture_default_str();
  command.add_option("--freeze", freeze,
                     "layers that stay as they are: names with * and ?, separated by commas; a "
                     "frozen BatchNorm uses its running statistics");
  command.add_option("--lr-for", lr_for,
                     "rates of their own: PATTERN=FACTOR of layers, separated by commas");
  command.add_option("--bn-momentum", bn_momentum,
                     "of BatchNorm's running statistics; default: the network's own");
  command
      .add_option("--ema", average,
                  "keep a moving average of the weights with this decay (0.999); it is what is "
                  "evaluated and saved as best")
      ->capture_default_str();
  command.add_option("--class-weights", class_weights,
                     "balanced, or NAME=WEIGHT separated by commas");
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
  require(val_split >= 0 && val_split < 1, "--val-split", std::to_string(val_split),
          "0 up to, not including, 1");
  require(val_split == 0 || validation.empty(), "--val-split", "with --val", "one of the two");
  require(bad_files == "stop" || bad_files == "skip", "--bad-files", "'" + bad_files + "'",
          "stop or skip");
  parse_interpolation(resize, "--resize");
  parse_normalisation(normalise, "--normalise");
  if (!augment.empty()) parse_augment(augment, "--augment");
  require(average >= 0 && average < 1, "--ema", std::to_string(average),
          "0 up to, not including, 1");
  require(bn_momentum >= 0 && bn_momentum < 1, "--bn-momentum", std::to_string(bn_momentum),
          "0 up to, not including, 1");
  tuning();
  memory.check();
}

Tuning TrainingOptions::tuning() const {
  Tuning tuning{.average = average, .batch_norm_momentum = bn_momentum};
  if (!freeze.empty())
    for (std::string_view pattern : split(freeze, ',')) tuning.frozen.emplace_back(trim(pattern));
  for (const auto& [pattern, factor] : parse_pairs(lr_for, "--lr-for"))
    tuning.lr_factors.emplace_back(pattern, factor);
  return tuning;
}

LossOptions TrainingOptions::loss_options() const {
  LossOptions options = loss;
  options.weighted = !class_weights.empty();
  options.mixed = !augment.empty() && parse_augment(augment, "--augment").mixup > 0;
  return options;
}

std::vector<float> TrainingOptions::weights_of(const Source& source) const {
  if (class_weights.empty()) return {};
  const std::vector<std::string>& names = source.class_names();
  std::vector<float> weights(static_cast<std::size_t>(model.class_count()), 1.0F);
  if (class_weights == "balanced") {
    std::vector<std::int64_t> counts(names.size());
    for (std::int64_t i = 0; i < source.size(); ++i)
      ++counts[static_cast<std::size_t>(source.label(i))];
    for (std::size_t c = 0; c < names.size(); ++c)
      if (counts[c] > 0)
        weights[c] =
            static_cast<float>(static_cast<double>(source.size()) /
                               static_cast<double>(names.size()) / static_cast<double>(counts[c]));
    return weights;
  }
  for (const auto& [name, weight] : parse_pairs(class_weights, "--class-weights")) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError({.where = "--class-weights",
                        .got = "the data has no class '" + name + "'",
                        .expected = "expected NAME=WEIGHT of its classes, or balanced",
                        .hint = did_you_mean(nearest(name, names))});
    weights[static_cast<std::size_t>(found - names.begin())] = static_cast<float>(weight);
  }
  return weights;
}

void TrainingOptions::check_patterns(const Trainer& trainer) const {
  const Tuning wanted = tuning();
  std::vector<std::string> names;
  std::vector<std::string> weights;
  bool trains = false;
  for (const nn::Layer& layer : trainer.step_graph().layers) {
    if (layer.parameters.empty()) continue;
    names.push_back(layer.name);
    for (const nn::Parameter& parameter : layer.parameters) {
      weights.push_back(parameter.name);
      trains = trains || parameter.trainable;
    }
  }
  const std::string kFreeze = "--freeze";
  const auto check = [&](const std::string& pattern, const std::string& option) {
    const bool of_weights = pattern.find('/') != std::string::npos && option != kFreeze;
    const auto& all = of_weights ? weights : names;
    if (std::none_of(all.begin(), all.end(),
                     [&](const std::string& name) { return matches(pattern, name); }))
      throw UsageError({.where = option,
                        .got = "no layer with weights matches '" + pattern + "'",
                        .expected = "expected names as `plimsoll summary` lists them",
                        .hint = did_you_mean(nearest(pattern, names))});
  };
  for (const std::string& pattern : wanted.frozen) check(pattern, kFreeze);
  for (const auto& [pattern, factor] : wanted.lr_factors) check(pattern, "--lr-for");
  require(trains, "--freeze", "'" + freeze + "' freezes every layer", "something left to train");
}

SourcePtr TrainingOptions::open_validation(
    const Source& train, const std::function<void(std::int64_t, std::int64_t)>& progress) const {
  const bool is_named = !validation.empty();
  std::optional<SourceOptions> reading;
  if (is_named)
    reading = data_options.validation_options(data, validation, train);
  else if (val_split == 0)
    reading = data_options.own_validation(data, train);
  if (!reading) return nullptr;
  reading->progress = progress;
  return open_source(is_named ? validation : data, *reading);
}

std::optional<TrainingData> TrainingOptions::load_data(const Budget& budget) {
  if (data.empty()) return std::nullopt;
  TrainingData loaded{.train = open_source(data, data_options.source_options())};
  require(!loaded.train->has_boxes(), "DATA", "'" + data + "' has boxes",
          "one class per picture; detection is not trained yet");
  if (val_split > 0) {
    SplitSources parts = split(loaded.train, val_split, static_cast<std::uint64_t>(seed));
    loaded.train = parts.train;
    loaded.validation = parts.validation;
  } else {
    loaded.validation = open_validation(*loaded.train, {});
  }
  note_sources(loaded);
  settle_sizes(*loaded.train);
  for (SourcePtr* source : {&loaded.train, &loaded.validation})
    if (*source) scan_source(*source, budget, loaded);
  return loaded;
}

// What was chosen or passed over in reading is said in the log of a run.
void TrainingOptions::note_sources(TrainingData& loaded) const {
  for (const std::string& note : loaded.train->index().notes)
    loaded.notes.push_back(data + ": " + note);
  if (!loaded.validation) {
    if (loaded.train->index().part == "train" &&
        std::ranges::count(loaded.train->index().parts, "test") > 0)
      loaded.notes.push_back(data + ": the part test is left alone; --val " + data +
                             " validates on it");
  } else if (val_split == 0) {
    for (const std::string& note : loaded.validation->index().notes)
      loaded.notes.push_back("validation: " + note);
  }
}

// A network's own size and channels suit photographs; sets of small images bring theirs.
void TrainingOptions::settle_sizes(const Source& source) {
  const auto classes = static_cast<std::int64_t>(source.class_names().size());
  if (model.classes == 0) model.classes = classes;
  MappedBytes buffer;
  const Encoded first = source.read(0, buffer);
  if (first.raw) {
    if (model.channels == 0) model.channels = first.raw->channels;
    if (model.image.empty())
      model.image = fmt::format("{}x{}", first.raw->height, first.raw->width);
  }
  const std::int64_t channels = model.input().channels;
  require(channels == 1 || channels == 3, "--channels", std::to_string(channels),
          "1 or 3: pictures are grey or coloured");
  require(model.class_count() >= classes, "--classes", std::to_string(model.class_count()),
          fmt::format("at least {}, the classes of the data", classes));
}

void TrainingOptions::scan_source(SourcePtr& source, const Budget& budget,
                                  TrainingData& loaded) const {
  std::vector<Complaint> bad = source->defects();
  PhaseBar bar("reading " + data, common.quiet || common.json);
  const ScanReport report =
      scan(*source, {.workers = common.apply_threads(),
                     .channels = static_cast<int>(model.input().channels),
                     .memory = left_to_scan(budget),
                     .progress = [&](const ScanProgress& p) {
                       bar.show(p.done, p.samples, p.seconds,
                                fmt::format("{}/{} · {} bad", p.done, p.samples, p.bad));
                       return true;
                     }});
  if (bad_files == "stop") check_fits(report, budget);
  for (const BadSample& sample : report.bad) bad.push_back(sample.complaint);
  loaded.largest = largest_of(loaded.largest, report.largest);
  (&source == &loaded.train ? loaded.train_content : loaded.validation_content) =
      content_of(report);
  if (&source == &loaded.train)
    if (std::string note = grey_note(model, report); !note.empty())
      loaded.notes.push_back(data + ": " + std::move(note));
  if (bad.empty()) return;
  if (bad_files == "stop") {
    std::string all;
    for (const Complaint& complaint : bad) all += "\n  " + complaint.where + ": " + complaint.got;
    throw DataError(
        {.where = data,
         .got = fmt::format("{} of {} samples are bad:{}", bad.size(), source->size(), all),
         .expected = "expected pictures that can be read",
         .hint = "`plimsoll check` tells more; --bad-files skip leaves them out"});
  }
  loaded.skipped.insert(loaded.skipped.end(), bad.begin(), bad.end());
  source = without_bad(source, report);
}

std::shared_ptr<PipelineMemory> TrainingOptions::pipeline_memory(const TrainingData& loaded,
                                                                 const nn::Input& input,
                                                                 int workers) const {
  Bytes largest = loaded.train->index().largest_encoded;
  if (loaded.validation) largest = std::max(largest, loaded.validation->index().largest_encoded);
  return std::make_shared<PipelineMemory>(pipeline(input, true, workers), largest, loaded.largest);
}

PipelineSettings TrainingOptions::pipeline(const nn::Input& input, bool training,
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
                            .bad_files = bad_files == "skip" ? BadFiles::skip : BadFiles::stop,
                            .on_bad = [](const Complaint& complaint) {
                              fmt::print(stderr, "plimsoll: {}: {}; left out\n", complaint.where,
                                         complaint.got);
                            }};
  if (training && !augment.empty()) settings.augment = parse_augment(augment, "--augment");
  return settings;
}

VariantMaker TrainingOptions::maker(const TrainingData* loaded, int threads) const {
  const auto make = [this, loaded](std::int64_t batch, std::int64_t accumulate, int team) {
    nn::Input input = model.input();
    input.batch = batch;
    TrainerOptions options{.input = input,
                           .train_batches = {batch},
                           .accumulate = accumulate,
                           .evaluate_batches = {batch},
                           .loss = loss_options(),
                           .optimizer = optimizer,
                           .tuning = tuning(),
                           .seed = static_cast<std::uint64_t>(seed)};
    PipelineBytes bytes =
        pipeline_bytes(pipeline(input, true, team), {.largest_encoded = kLargestFile},
                       assume_largest(kLargestPicture, static_cast<int>(input.channels)));
    if (loaded != nullptr) {
      options.train_batches = batch_sizes(loaded->train->size(), batch, drop_last);
      bytes = pipeline_bytes(pipeline(input, true, team), loaded->train->index(), loaded->largest);
      options.evaluate_batches.clear();
      if (loaded->validation) {
        options.evaluate_batches = batch_sizes(loaded->validation->size(), batch, false);
        bytes = shared_bytes(bytes, pipeline_bytes(pipeline(input, false, team),
                                                   loaded->validation->index(), loaded->largest));
      }
    }
    Surroundings around = surroundings(bytes, team);
    if (loaded != nullptr) {
      const IndexBytes index = index_bytes({loaded->train.get(), loaded->validation.get()});
      around.index_bytes = index.held.count + class_bytes(loaded->train->class_names());
      around.opening_bytes = index.opening.count;
    }
    around.batch = draws_first_batch ? batch : 0;
    around.spills = !memory.spill.empty();
    around.files = files_in_memory;
    return Variant{Trainer(op_table(), model.factory(), options), around};
  };
  return {.make = make, .threads = threads};
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
      const std::int64_t found = largest_batch(make, run, accumulate);
      if (found == 0 && best == 0)
        throw refusal(probe.trainer, run, find_levers(make, options.memory, run));
      if (found <= best) break;
      best = tried = found;
    }
    options.model.batch = best;
  }
  Variant variant = make(options.model.batch, accumulate);
  options.check_patterns(variant.trainer);
  PlannedRun run = plan_run(variant, options.memory, budget, options.model.batch);
  return {std::move(variant.trainer), std::move(run)};
}

}  // namespace plimsoll::cli
