#include "job/trained_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "job/levers.h"
#include "ops/table.h"
#include "run/checkpoint.h"
#include "step/evaluation.h"

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

PipelineSettings TrainedModel::pipeline(int threads) const {
  const nn::Input input = model.input();
  return {.batch = input.batch,
          .image = {.height = input.image.h, .width = input.image.w},
          .channels = static_cast<int>(input.channels),
          .interpolation = parse_interpolation(resize, "--resize"),
          .shuffle = false,
          .repeat = false,
          .depth = 2,
          .workers = threads};
}

Normalisation TrainedModel::normalisation() const {
  return {.mode = parse_normalisation(normalise, "--normalise")};
}

TrainedModel find_trained(const std::string& path, const ModelSettings& asked) {
  TrainedModel trained{.weights = weights_of(path), .model = asked};
  const SafetensorsReader file(trained.weights);
  const Metadata& about = file.metadata();
  const auto say = [&](const std::string& key, auto take) {
    if (const auto found = about.find(key); found != about.end()) take(found->second);
  };
  const bool ours = about.contains("run.model");
  if (!ours && asked.model.empty())
    throw UsageError({.where = trained.weights.string(),
                      .got = "the file does not say which network it is for",
                      .expected = "expected --model beside it"});
  if (asked.model.empty()) say("run.model", [&](const std::string& v) { trained.model.model = v; });
  if (asked.image.empty()) say("run.image", [&](const std::string& v) { trained.model.image = v; });
  if (asked.channels == 0)
    say("run.channels", [&](const std::string& v) { trained.model.channels = std::stoll(v); });
  if (asked.classes == 0)
    say("run.classes", [&](const std::string& v) { trained.model.classes = std::stoll(v); });
  say("run.targets", [&](const std::string& v) {
    trained.targets = v == "labels" ? TargetKind::labels : TargetKind::numbers;
  });
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
  return trained;
}

OpenedModel open_trained(TrainedModel& trained, const SourcePtr& source,
                         const std::vector<std::string>& names, const LargestImage& largest,
                         const Budget& budget, int threads) {
  std::int64_t batch = std::min(trained.model.batch, source->size());
  while (true) {
    trained.model.batch = batch;
    const nn::Input input = trained.model.input();
    Trainer trainer(op_table(), trained.model.factory(),
                    {.input = input,
                     .train_batches = {},
                     .evaluate_batches = batch_sizes(source->size(), batch, false),
                     .task = make_task(trained.loss, {.targets = trained.targets,
                                                      .outputs = trained.model.class_count(),
                                                      .names = names})});
    trainer.plan(NamedFates{});
    const Surroundings around =
        surroundings(pipeline_bytes(trained.pipeline(threads), source->index(), largest), threads);
    int workers = threads;
    const auto needed = [&] {
      return process_bytes(trainer.planned(), around.with_workers(workers),
                           trainer.planned().arena_bytes());
    };
    while (workers > 1 && needed() > budget.bytes) --workers;
    if (needed() <= budget.bytes) {
      trainer.open();
      const SafetensorsReader file(trained.weights);
      std::vector<NamedTensor> tensors = weight_tensors(trainer.session(), trainer.step_graph());
      for (NamedTensor& tensor : tensors)
        if (trained.uses_average && file.find(average_name(tensor.name)) != nullptr)
          tensor.name = average_name(tensor.name);
      load_tensors(file, tensors);
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
