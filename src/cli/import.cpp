#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "job/file_report.h"
#include "machine/instructions.h"

namespace plimsoll::cli {
namespace {

struct ImportSettings {
  CommonOptions common;
  job::ModelSettings model;
  std::string file;
};

void print_json(const job::FileReport& report) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  nlohmann::ordered_json json{{"format", report.file.format},
                              {"version", text_or_null(report.file.version)},
                              {"model", text_or_null(report.model)},
                              {"tensors", report.tensors},
                              {"parameters", report.parameters},
                              {"bytes", report.bytes},
                              {"image", text_or_null(report.image)},
                              {"classes", report.classes},
                              {"preprocessing", text_or_null(report.preprocessing)},
                              {"optimizer", text_or_null(report.file.optimizer.name)},
                              {"refused", text_or_null(report.refused)},
                              {"unmatched", nlohmann::ordered_json::array()},
                              {"others", report.file.others},
                              {"notes", report.file.notes}};
  for (const interop::Mismatch& mismatch : report.matching.mismatches)
    json["unmatched"].push_back(
        {{"network", text_or_null(mismatch.ours)}, {"file", text_or_null(mismatch.theirs)}});
  fmt::print("{}", json_text(json));
}

void print_text(const job::FileReport& report) {
  const auto line = [](const char* name, const std::string& text) {
    fmt::print("  {:<15} {}\n", name, text);
  };
  const interop::ImportedFile& file = report.file;
  fmt::print("{}\n", file.path.string());
  line("format", file.format + (file.version.empty() ? "" : ", version " + file.version));
  if (!report.refused.empty())
    line("network", "cannot be built, as told below");
  else
    line("network", report.model.empty() ? "not known; --model says which"
                                         : report.model + ", " + report.about);
  line("weights",
       report.tensors == 0
           ? "none"
           : fmt::format("{} tensors in {} layers, {} parameters, {}", report.tensors,
                         file.layers.size(), report.parameters, to_string(Bytes{report.bytes})));
  if (!report.image.empty()) line("image", report.image);
  if (report.classes > 0) line("classes", std::to_string(report.classes));
  line("preprocessing", report.preprocessing.empty() ? "not known" : report.preprocessing);
  if (!file.optimizer.name.empty())
    line("optimizer", fmt::format("{}, {} tensors, {} steps", file.optimizer.name,
                                  file.optimizer.slots.size(), file.optimizer.steps));
  if (!file.others.empty())
    line("beside", fmt::format("{} tensors that are no weights ({}{})", file.others.size(),
                               file.others[0], file.others.size() > 1 ? ", ..." : ""));
  for (const std::string& note : file.notes) line("note", note);
  if (!report.refused.empty()) fmt::print("\nthe network cannot be built: {}\n", report.refused);
  if (report.model.empty() || report.tensors == 0 || !report.refused.empty()) return;
  const auto& left = report.matching.mismatches;
  fmt::print("\n{} weights match", report.matching.matches.size());
  fmt::print("{}\n", left.empty() ? ", all of them" : fmt::format(", {} do not:", left.size()));
  for (const interop::Mismatch& mismatch : left)
    fmt::print("  {}: {}\n", mismatch.ours.empty() ? "(the network has none)" : mismatch.ours,
               mismatch.theirs.empty() ? "(the file has none)" : mismatch.theirs);
}

}  // namespace

Entry add_import(CLI::App& command) {
  const auto s = std::make_shared<ImportSettings>();
  s->model.model.clear();  // as the file says
  command.add_option("FILE", s->file, "safetensors, Keras, PyTorch or TensorFlow: by content")
      ->required();
  add_options(command, s->model);
  s->common.add_to(command);
  command.footer(
      "Examples:\n"
      "  plimsoll import efficientnet-lite0.pth\n"
      "  plimsoll import weights.h5 --model xception");
  return [s] {
    use_isa(s->model.isa);
    const job::FileReport report = job::describe_file(s->file, s->model);
    if (s->common.json)
      print_json(report);
    else
      print_text(report);
    return 0;
  };
}

}  // namespace plimsoll::cli
