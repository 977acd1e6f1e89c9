#include "format/safetensors.h"
#include "interop/readers.h"

namespace plimsoll::interop {
namespace {

std::string value_of(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

// "conv2d_1/kernel": layers by their first appearance, optimizer's tensors and averages left out.
void name_own_layers(ImportedFile& file) {
  const std::vector<StoredTensor>& tensors = file.tensors->tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::string& name = tensors[t].name;
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos || name.find('/') != slash) {
      file.others.push_back(name);
      continue;
    }
    if (file.layers.empty() || file.layers.back().name != name.substr(0, slash))
      file.layers.push_back({.name = name.substr(0, slash), .weights = {}});
    file.layers.back().weights.push_back({.weight = name.substr(slash + 1), .tensor = t});
  }
}

}  // namespace

ImportedFile open_safetensors(const std::filesystem::path& path) {
  const auto reader = std::make_shared<const SafetensorsReader>(path);
  const Metadata& about = reader->metadata();
  ImportedFile file{.path = path, .format = "safetensors", .tensors = reader};
  if (value_of(about, "run.model").empty()) {
    name_torch_layers(file);
    if (!file.layers.empty()) return file;
    file.others.clear();
  }
  name_own_layers(file);
  file.naming = Naming::names;
  file.version = value_of(about, "format");
  file.network = value_of(about, "run.model");
  file.description = value_of(about, "run.network");
  file.preprocessing = value_of(about, "with.normalise");
  return file;
}

}  // namespace plimsoll::interop
