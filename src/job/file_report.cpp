#include "job/file_report.h"

#include <fmt/format.h>

#include "base/error.h"
#include "job/trained_model.h"

namespace plimsoll::job {
namespace {

std::string image_text(const nn::Input& input) {
  return fmt::format("{}x{}x{}", input.image.h, input.image.w, input.channels);
}

}  // namespace

FileReport describe_file(const std::string& path, const ModelSettings& asked) {
  FileReport report{.file = interop::open_imported(path)};
  const interop::ImportedFile& file = report.file;
  if (file.tensors)
    for (const interop::ImportedLayer& layer : file.layers)
      for (const interop::ImportedWeight& weight : layer.weights) {
        const StoredTensor& tensor = file.tensors->tensors()[weight.tensor];
        ++report.tensors;
        report.bytes += tensor.bytes();
        report.parameters += tensor.bytes() / size_of(tensor.type);
      }
  ModelSettings model = asked;
  if (asked.model.empty()) {
    model.model = file.description.empty() ? file.network : path;
    model.description = file.description;
  }
  report.preprocessing = file.preprocessing;
  if (model.model.empty()) return report;
  try {
    if (asked.classes == 0 && model.network_text().empty()) model.classes = classes_of(file, model);
    report.model = model.network().name;
    report.about = model.network_text().empty() ? "of the zoo"
                   : asked.model.empty()        ? "described by the file"
                                                : "described by " + asked.model;
    report.classes = model.class_count();
    report.image = image_text(model.input());
    if (report.preprocessing.empty()) report.preprocessing = model.network().preprocessing;
    if (file.tensors) report.matching = interop::match(file, model.layers());
  } catch (const UsageError& error) {
    if (!asked.model.empty()) throw;
    report.refused = error.what();
  }
  return report;
}

}  // namespace plimsoll::job
