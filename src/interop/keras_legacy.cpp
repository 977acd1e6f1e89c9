// Keras's older layout: layer_names, and for each layer a group with weight_names.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "interop/keras_store.h"

namespace plimsoll::interop {
namespace {

// The layers of a description by their names, and those of models inside by their own.
const KerasOutline* find_layer(const KerasOutline& model, std::string_view name) {
  for (const KerasOutline& layer : model.layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

// Names of the layers in a model, with those of the models they are in: "block.conv" for "conv".
// NOLINTNEXTLINE(misc-no-recursion): as deep as the description.
void add_dotted(const KerasOutline& model, const std::string& before,
                std::map<std::string, std::pair<std::string, const KerasOutline*>>& names) {
  for (const KerasOutline& layer : model.layers) {
    const std::string dotted = before + layer.name;
    if (layer.is_model())
      add_dotted(layer, dotted + ".", names);
    else
      names.emplace(layer.name, std::pair(dotted, &layer));
  }
}

class LegacyLayer {
 public:
  LegacyLayer(KerasImport& import, const Hdf5Object& group, std::string name)
      : import_(import), group_(group), name_(std::move(name)) {
    known_ = find_layer(import.model, name_);
    names_ = split_texts(group, "weight_names");
  }

  void read() {
    std::set<std::string_view> prefixes;
    for (const std::string& name : names_) prefixes.insert(prefix_of(name));
    const bool is_model = known_ != nullptr ? known_->is_model() : prefixes.size() > 1;
    if (is_model && known_ != nullptr) add_dotted(*known_, name_ + ".", inner_);
    std::map<std::string, std::size_t> places;
    std::set<std::string_view> seen;
    for (const std::string& name : names_) {
      const Hdf5Object* dataset = name.empty() ? nullptr : group_.find(name);
      if (dataset == nullptr || dataset->is_group || !seen.insert(name).second)
        throw DataError({.where = import_.file.path.string() + ": layer '" + name_ + "'",
                         .got = "no weight '" + name + "', or it is there twice",
                         .expected = "expected every weight that the layer lists",
                         .hint = "the file is damaged: fetch it again"});
      if (!dataset->tensor) continue;
      const auto [layer_name, layer] = is_model ? inner_layer(name) : std::pair(name_, known_);
      const auto [place, is_new] = places.emplace(layer_name, import_.file.layers.size());
      if (is_new) import_.file.layers.push_back({.name = layer_name, .weights = {}});
      add(place->second, *dataset->tensor, name, layer);
    }
  }

 private:
  static std::string_view prefix_of(std::string_view name) {
    return name.substr(0, std::min(name.rfind('/'), name.size()));
  }

  // Keras 3 says "inner/conv/kernel", those before "conv/kernel:0".
  std::pair<std::string, const KerasOutline*> inner_layer(std::string_view weight) const {
    std::string path(prefix_of(weight));
    const auto found = inner_.find(path.substr(path.rfind('/') + 1));
    if (found != inner_.end()) return found->second;
    if (path.starts_with(name_ + "/")) path = path.substr(name_.size() + 1);
    std::ranges::replace(path, '/', '.');
    return {name_ + "." + path, nullptr};
  }

  void add(std::size_t place, std::size_t tensor, const std::string& name,
           const KerasOutline* layer) {
    ImportedLayer& into = import_.file.layers[place];
    const std::string word = keras_weight_word(name);
    const std::string group = layer != nullptr ? keras_group_name(layer->class_name) : "";
    const std::size_t rank = import_.hdf5.tensors()[tensor].shape.size();
    if (is_trained(word) && (layer == nullptr || layer->is_trainable))
      import_.variables.push_back({place, into.weights.size(), std::string(without_number(name))});
    into.weights.push_back({word, tensor, keras_axes(word, rank, group)});
    import_.taken[tensor] = true;
  }

  KerasImport& import_;
  const Hdf5Object& group_;
  std::string name_;
  const KerasOutline* known_ = nullptr;
  std::vector<std::string> names_;
  std::map<std::string, std::pair<std::string, const KerasOutline*>> inner_;
};

}  // namespace

std::vector<std::string> split_texts(const Hdf5Object& object, const std::string& name) {
  if (const Hdf5Attribute* whole = object.attribute(name)) return whole->texts;
  std::map<std::string_view, const Hdf5Attribute*> parts;
  for (const Hdf5Attribute& attribute : object.attributes)
    if (attribute.name.starts_with(name)) parts[attribute.name] = &attribute;
  std::vector<std::string> texts;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const auto part = parts.find(name + std::to_string(n));
    if (part == parts.end()) break;
    texts.insert(texts.end(), part->second->texts.begin(), part->second->texts.end());
  }
  return texts;
}

void read_legacy_layers(KerasImport& import, const Hdf5Object& group) {
  std::set<const Hdf5Object*> seen;
  for (const std::string& name : split_texts(group, "layer_names")) {
    const Hdf5Object* layer = name.empty() ? nullptr : group.find(name);
    if (layer == nullptr || !layer->is_group || !seen.insert(layer).second)
      throw DataError({.where = import.file.path.string(),
                       .got = "no group of layer '" + name + "', or it is listed twice",
                       .expected = "expected one for each name in layer_names",
                       .hint = "the file is damaged: fetch it again"});
    LegacyLayer(import, *layer, name).read();
  }
  // Theano's convolutions turn their kernels by half a turn.
  if (group.text("backend") != "theano") return;
  for (const ImportedLayer& layer : import.file.layers)
    for (const ImportedWeight& weight : layer.weights)
      if (import.hdf5.tensors()[weight.tensor].shape.size() == 4)
        throw DataError({.where = import.file.path.string() + ": layer '" + layer.name + "'",
                         .got = "a kernel of Keras over Theano",
                         .expected = "expected weights of Keras over TensorFlow",
                         .hint = "convert it there: keras.utils.convert_all_kernels_in_model"});
}

}  // namespace plimsoll::interop
