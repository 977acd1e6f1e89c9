#include <algorithm>
#include <map>
#include <set>

#include "interop/readers.h"
#include "interop/torch_networks.h"

namespace plimsoll::interop {
namespace {

// "layer1.0.conv1.weight" as the module and its tensor.
struct ModuleName {
  std::string module, tensor;
};
ModuleName split_module(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace

void name_torch_layers(ImportedFile& file) {
  const std::vector<StoredTensor>& tensors = file.tensors->tensors();
  std::set<std::string> norms;
  for (const StoredTensor& tensor : tensors)
    if (const ModuleName name = split_module(tensor.name); name.tensor == "running_mean")
      norms.insert(name.module);
  std::map<std::string, std::size_t> layer_of;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const ModuleName name = split_module(tensors[t].name);
    const bool is_norm = norms.contains(name.module);
    ImportedWeight weight{.weight = "", .tensor = t};
    if (name.tensor == "weight") {
      weight.weight = is_norm ? "gamma" : "kernel";
      if (tensors[t].shape.size() == 2) weight.axes = Axes::out_in;
    } else if (name.tensor == "bias") {
      weight.weight = is_norm ? "beta" : "bias";
    } else if (name.tensor == "running_mean") {
      weight.weight = "moving_mean";
    } else if (name.tensor == "running_var") {
      weight.weight = "moving_variance";
    }
    if (weight.weight.empty() || name.module.empty()) {
      file.others.push_back(tensors[t].name);
      continue;
    }
    const auto [at, is_new] = layer_of.try_emplace(name.module, file.layers.size());
    if (is_new) file.layers.push_back({.name = name.module, .weights = {}});
    file.layers[at->second].weights.push_back(weight);
  }
  file.naming = Naming::names;
  rename_efficientnet_lite(file);
  recognise_torchvision(file);
  recognise_retinanet(file);
  recognise_fasterrcnn(file);
}

}  // namespace plimsoll::interop
