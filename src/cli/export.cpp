#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "job/exported_model.h"
#include "machine/instructions.h"
#include "machine/team.h"

namespace plimsoll::cli {
namespace {

struct ExportSettings {
  CommonOptions common;
  job::ModelSettings model;
  std::string weights;
  std::string to;
  bool fold = false;
};

int run(const ExportSettings& s) {
  use_isa(s.model.isa);
  use_threads(1);  // nothing is computed
  job::TrainedModel trained = job::find_trained(s.weights, s.model);
  const std::string what = job::export_model(trained, {.to = s.to, .fold_batch_norm = s.fold});
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(s.to));
  if (s.common.json)
    fmt::print("{}", json_text(nlohmann::ordered_json{{"file", s.to},
                                                      {"what", what},
                                                      {"model", trained.model.network().name},
                                                      {"preprocessing", trained.normalise},
                                                      {"bytes", bytes}}));
  else
    fmt::print("{}: {} · {} of {} · pictures normalised as '{}'\n", s.to, what,
               to_string(Bytes{bytes}), trained.model.network().name, trained.normalise);
  return 0;
}

}  // namespace

Entry add_export(CLI::App& command) {
  const auto s = std::make_shared<ExportSettings>();
  s->model.model.clear();  // as the weights say
  command.add_option("RUN_OR_WEIGHTS", s->weights, "a run directory, or a file of weights")
      ->required();
  command
      .add_option("--to", s->to,
                  "the file: .keras, .h5, .weights.h5, .safetensors (PyTorch), .onnx")
      ->required();
  command.add_flag("--fold-batch-norm", s->fold,
                   "ONNX: BatchNorms become part of the convolutions before them");
  add_options(command, s->model);
  s->common.add_to(command);
  command.footer(
      "Examples:\n"
      "  plimsoll export runs/xception --to flowers.keras\n"
      "  plimsoll export runs/xception --to flowers.onnx --fold-batch-norm");
  return [s] { return run(*s); };
}

}  // namespace plimsoll::cli
