#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "interop/readers.h"
#include "interop/slim_networks.h"

namespace plimsoll::interop {
namespace {

// "InceptionV3/Conv2d_1a_3x3/weights" as the scope and its variable.
struct ScopedName {
  std::string scope, variable;
};
ScopedName split_scope(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// Keras's word for a variable of Slim.
struct SlimWord {
  std::string_view variable, weight;
};
constexpr SlimWord kSlimWords[] = {
    {"weights", "kernel"},
    {"biases", "bias"},
    {"depthwise_weights", "depthwise_kernel"},
    {"gamma", "gamma"},
    {"beta", "beta"},
    {"moving_mean", "moving_mean"},
    {"moving_variance", "moving_variance"},
};

std::string_view weight_word(std::string_view variable) {
  for (const SlimWord& word : kSlimWords)
    if (word.variable == variable) return word.weight;
  return {};
}

}  // namespace

// What an optimizer or an average keeps of a variable stands below its name
// (".../weights/Momentum"), so it has no word here and is one of the others.
void name_slim_layers(ImportedFile& file) {
  const std::vector<StoredTensor>& tensors = file.tensors->tensors();
  std::map<std::string, std::size_t> layer_of;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const ScopedName name = split_scope(tensors[t].name);
    const std::string_view word = weight_word(name.variable);
    if (word.empty() || name.scope.empty()) {
      file.others.push_back(tensors[t].name);
      continue;
    }
    ImportedWeight weight{.weight = std::string(word), .tensor = t};
    if (tensors[t].shape.size() == 4)
      weight.axes = word == "depthwise_kernel" ? Axes::hwcm : Axes::hwio;
    const auto [at, is_new] = layer_of.try_emplace(name.scope, file.layers.size());
    if (is_new) file.layers.push_back({.name = name.scope, .weights = {}});
    file.layers[at->second].weights.push_back(std::move(weight));
  }
  file.naming = Naming::names;
  rename_slim_network(file);
}

}  // namespace plimsoll::interop
