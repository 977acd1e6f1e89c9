#include "job/trained_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "interop/match.h"
#include "job/begin_weights.h"
#include "job/levers.h"
#include "ops/table.h"
#include "run/checkpoint.h"
#include "step/evaluation.h"
#include "task/detection.h"

namespace plimsoll::job {
namespace {

namespace fs = std::filesystem;

fs::path weights_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"best.safetensors", "last.safetensors"})
    if (fs::exists(path / "weights" / name, error)) return path / "weights" / name;
  throw DataError({.where = path.string(),
                   .got = "there are no weights/best.safetensors or weights/last.safetensors",
                   .expected = "expected a run directory or a safetensors file"});
}

}  // namespace

void TrainedModel::prepare_pictures(const std::string& mode) {
  if (mode.empty()) return;
  parse_normalisation(mode, "--normalise");
  normalise = mode;
}

TaskPtr TrainedModel::task(const std::vector<std::string>& names) const {
  if (targets != TargetKind::boxes)
    return make_task(loss, {.targets = targets, .outputs = model.class_count(), .names = names});
  return make_detection({.classes = model.class_count(),
                         .class_names = names,
                         .anchor_base = boxes.base(model.network()),
                         .most_boxes = boxes.most_boxes,
                         .most_truths = boxes.most_truths,
                         .most_truths_of_class = boxes.most_truths_of_class});
}

PipelineSettings TrainedModel::pipeline(int threads) const {
  const nn::Input input = model.input();
  return {.batch = input.batch,
          .image = {.height = input.image.h, .width = input.image.w},
          .channels = static_cast<int>(input.channels),
          .interpolation = parse_interpolation(resize, "--resize"),
          .fit = targets == TargetKind::boxes ? Fit::letterbox : Fit::squeeze,
          .most_boxes = targets == TargetKind::boxes ? boxes.most_boxes : 0,
          .shuffle = false,
          .repeat = false,
          .depth = 2,
          .workers = threads};
}

Normalisation TrainedModel::normalisation() const {
  return {.mode = parse_normalisation(normalise, "--normalise")};
}

std::int64_t classes_of(const interop::ImportedFile& file, const ModelSettings& model) {
  return file.tensors == nullptr ? 0 : interop::match(file, model.layers()).head_width;
}

namespace {

// What a run of ours wrote of itself.
void read_own(const SafetensorsReader& file, const ModelSettings& asked, TrainedModel& trained) {
  const Metadata& about = file.metadata();
  const auto say = [&](const std::string& key, auto take) {
    if (const auto found = about.find(key); found != about.end()) take(found->second);
  };
  if (asked.model.empty()) {
    say("run.model", [&](const std::string& v) { trained.model.model = v; });
    say("run.network", [&](const std::string& v) { trained.model.description = v; });
  }
  if (asked.image.empty()) say("run.image", [&](const std::string& v) { trained.model.image = v; });
  if (asked.channels == 0)
    say("run.channels", [&](const std::string& v) { trained.model.channels = std::stoll(v); });
  if (asked.classes == 0)
    say("run.classes", [&](const std::string& v) { trained.model.classes = std::stoll(v); });
  say("run.targets", [&](const std::string& v) { trained.targets = find_target_kind(v); });
  say("run.anchors", [&](const std::string& v) { trained.boxes.anchors = v; });
  say("run.loss", [&](const std::string& v) { trained.loss.name = v; });
  say("with.label-smoothing", [&](const std::string& v) {
    trained.loss.label_smoothing = std::strtod(v.c_str(), nullptr);
  });
  say("with.resize", [&](const std::string& v) { trained.resize = v; });
  say("with.normalise", [&](const std::string& v) { trained.normalise = v; });
  // A run's last weights are those being trained; what was evaluated are their averages.
  say("with.ema", [&](const std::string& v) {
    trained.uses_average =
        v != "0.0" && file.find("average/" + file.tensors().at(0).name) != nullptr;
  });
  say("run.class_names", [&](const std::string& v) {
    const auto names = nlohmann::json::parse(v, nullptr, false);
    if (names.is_array())
      for (const auto& name : names)
        if (name.is_string()) trained.class_names.push_back(name);
  });
}

// Weights of another program.
void read_imported(const interop::ImportedFile& file, const ModelSettings& asked,
                   TrainedModel& trained) {
  if (asked.model.empty()) {
    trained.model.description = file.description;
    trained.model.model = file.description.empty() ? file.network : trained.weights.string();
    if (trained.model.model.empty())
      throw UsageError({.where = trained.weights.string(),
                        .got = "the file does not say which network it is for",
                        .expected = "expected --model beside it"});
  }
  const zoo::Network& network = trained.model.network();
  if (asked.classes == 0 && trained.model.network_text().empty())
    trained.model.classes = classes_of(file, trained.model);
  trained.normalise = !file.preprocessing.empty()      ? file.preprocessing
                      : !network.preprocessing.empty() ? network.preprocessing
                                                       : "tf";
}

}  // namespace

TrainedModel find_trained(const std::string& path, const ModelSettings& asked) {
  TrainedModel trained{.weights = weights_of(path), .model = asked};
  trained.file =
      std::make_shared<const interop::ImportedFile>(interop::open_imported(trained.weights));
  if (trained.file->tensors == nullptr)
    throw DataError({.where = trained.weights.string(),
                     .got = trained.file->format + " without weights",
                     .expected = "expected a run directory or a file with weights"});
  const auto* own = dynamic_cast<const SafetensorsReader*>(trained.file->tensors.get());
  if (own != nullptr && own->metadata().contains("run.model"))
    read_own(*own, asked, trained);
  else
    read_imported(*trained.file, asked, trained);
  if (trained.model.detects()) trained.targets = TargetKind::boxes;
  return trained;
}

namespace {

Trainer make_trainer(const TrainedModel& trained, std::vector<std::int64_t> batches,
                     const std::vector<std::string>& names) {
  return {op_table(),
          trained.model.factory(),
          {.input = trained.model.input(),
           .train_batches = {},
           .evaluate_batches = std::move(batches),
           .task = trained.task(names)}};
}

// Its weights, or where they were averaged, their averages.
void load(const TrainedModel& trained, const Trainer& trainer) {
  std::vector<NamedTensor> tensors = weight_tensors(trainer.session(), trainer.step_graph());
  const auto* own = dynamic_cast<const SafetensorsReader*>(trained.file->tensors.get());
  if (own == nullptr || !own->metadata().contains("run.model")) {
    begin_with(*trained.file, {.whole = true}, trainer);
    return;
  }
  for (NamedTensor& tensor : tensors)
    if (trained.uses_average && own->find(average_name(tensor.name)) != nullptr)
      tensor.name = average_name(tensor.name);
  load_tensors(*own, tensors, trainer.shards());
}

}  // namespace

Trainer open_alone(const TrainedModel& trained) {
  Trainer trainer = make_trainer(trained, {trained.model.batch}, trained.class_names);
  trainer.plan(NamedFates{});
  trainer.open();
  load(trained, trainer);
  return trainer;
}

OpenedModel open_trained(TrainedModel& trained, const SourcePtr& source,
                         const std::vector<std::string>& names, const LargestImage& largest,
                         const Budget& budget, int threads, Bytes beside) {
  if (trained.targets == TargetKind::boxes) trained.boxes.settle_sizes(*source);
  std::int64_t batch = std::min(trained.model.batch, source->size());
  while (true) {
    trained.model.batch = batch;
    Trainer trainer = make_trainer(trained, batch_sizes(source->size(), batch, false), names);
    trainer.plan(NamedFates{});
    Surroundings around =
        surroundings(pipeline_bytes(trained.pipeline(threads), source->index(), largest), threads);
    around.tally_bytes = beside.count;
    if (source->has_boxes()) around.tally_bytes += trainer.task().tally_bytes().count;
    int workers = threads;
    const auto needed = [&] {
      return process_bytes(trainer.planned(), around.with_workers(workers),
                           trainer.planned().arena_bytes());
    };
    while (workers > 1 && needed() > budget.bytes) --workers;
    if (needed() <= budget.bytes) {
      trainer.open();
      load(trained, trainer);
      const std::int64_t predicted = needed();
      return {std::move(trainer), workers, predicted};
    }
    if (batch == 1)
      throw BudgetError({.where = "--memory",
                         .got = to_string(Bytes{budget.bytes}),
                         .expected = "expected at least " + to_string(Bytes{needed()}) +
                                     ", what one image at a time needs"});
    batch = (batch + 1) / 2;
  }
}

}  // namespace plimsoll::job
