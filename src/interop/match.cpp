#include "interop/match.h"

#include <algorithm>
#include <map>
#include <optional>

#include "interop/axes.h"
#include "interop/detector_layers.h"
#include "interop/keras_words.h"

namespace plimsoll::interop {
namespace {

std::string text_of(const Dims& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Dims dims_of(const nn::Parameter& parameter) {
  return {parameter.spec.shape.begin(), parameter.spec.shape.end()};
}

std::string ours_text(const nn::Parameter& parameter) {
  return parameter.name + " " + text_of(dims_of(parameter));
}

// By its name in the file, and its layer's where that name does not tell and `ours` does not
// either.
std::string theirs_text(const ImportedFile& file, const ImportedLayer& layer,
                        const ImportedWeight& weight, std::string_view ours = {}) {
  const StoredTensor& tensor = file.tensors->tensors()[weight.tensor];
  const std::string text = tensor.name + " " + to_string(tensor);
  const std::string name = layer.name + "/" + weight.weight;
  if (tensor.name.find(layer.name) != std::string::npos || name == ours) return text;
  return name + ", " + text;
}

// "conv2d_1/kernel" without its layer.
std::string_view weight_of(const nn::Parameter& parameter) {
  return std::string_view(parameter.name).substr(parameter.name.rfind('/') + 1);
}

// Keras 3 says kernel for what was depthwise_kernel.
bool is_same_weight(std::string_view ours, std::string_view theirs) {
  return ours == theirs || (ours == "kernel" && theirs == "depthwise_kernel");
}

// How many outputs the weights of a layer have; 0: they do not tell.
std::int64_t width_of(const ImportedFile& file, const ImportedLayer& layer) {
  for (const ImportedWeight& weight : layer.weights) {
    const Dims& shape = file.tensors->tensors()[weight.tensor].shape;
    if (shape.size() == 1) return shape[0];  // a bias
    if (shape.size() == 2) return weight.axes == Axes::out_in ? shape[0] : shape[1];
    if (shape.size() == 4) return weight.axes == Axes::hwio ? shape[3] : shape[0];
  }
  return 0;
}

class Matcher {
 public:
  Matcher(const ImportedFile& file, const std::vector<nn::Layer>& layers) : file_(file) {
    for (const nn::Layer& layer : layers)
      if (!layer.parameters.empty()) ours_.push_back(&layer);
    const auto found = std::find_if(ours_.begin(), ours_.end(), [](const nn::Layer* layer) {
      return is_class_output(layer->name);
    });
    is_detector_ = found != ours_.end();
    if (!ours_.empty()) classes_ = is_detector_ ? *found : ours_.back();
  }

  Matching by_order() {
    // A file without a head, or with a deeper one, has the body's layers all the same.
    const std::size_t body = ours_.empty() ? 0 : ours_.size() - 1;
    if (file_.layers.size() < body) {
      for (const nn::Layer* layer : ours_) leave(*layer);
      for (const ImportedLayer& layer : file_.layers) leave(layer);
      return finish();
    }
    const std::size_t both = std::min(ours_.size(), file_.layers.size());
    for (std::size_t i = 0; i < both; ++i) pair(*ours_[i], file_.layers[i], true);
    for (std::size_t i = both; i < ours_.size(); ++i) leave(*ours_[i]);
    for (std::size_t i = both; i < file_.layers.size(); ++i) leave(file_.layers[i]);
    return finish();
  }

  Matching by_name() {
    const bool is_body = is_detector_ && std::none_of(file_.layers.begin(), file_.layers.end(),
                                                      [](const ImportedLayer& layer) {
                                                        return layer.name.starts_with("backbone.");
                                                      });
    return by_key([](const ImportedLayer& layer) { return layer.name; },
                  [&](const nn::Layer& layer) {
                    const bool cut = is_body && layer.name.starts_with(zoo::kBodyPrefix);
                    return cut ? layer.name.substr(zoo::kBodyPrefix.size()) : layer.name;
                  },
                  false);
  }

  Matching by_class() {
    std::map<std::string, int> counts;
    return by_key([](const ImportedLayer& layer) { return layer.place; },
                  [&](const nn::Layer& layer) {
                    // Models inside are the names before the last dot.
                    std::string key = layer.name.substr(0, layer.name.rfind('.') + 1) +
                                      keras_group_name(layer.type) + "#";
                    return key + std::to_string(counts[key]++);
                  },
                  true);
  }

 private:
  template <class TheirKey, class OurKey>
  Matching by_key(TheirKey key_of_theirs, OurKey key_of_ours, bool by_place) {
    std::map<std::string, const ImportedLayer*> theirs;
    for (const ImportedLayer& layer : file_.layers) theirs[key_of_theirs(layer)] = &layer;
    for (const nn::Layer* layer : ours_) {
      const auto found = theirs.find(key_of_ours(*layer));
      if (found == theirs.end()) {
        leave(*layer);
        continue;
      }
      pair(*layer, *found->second, by_place);
      theirs.erase(found);
    }
    for (const ImportedLayer& layer : file_.layers)
      if (theirs.contains(key_of_theirs(layer))) leave(layer);
    return finish();
  }

  // Weights of a layer go by their places where the file's words may be another version's, and by
  // their words where the file's order is its own.
  void pair(const nn::Layer& ours, const ImportedLayer& theirs, bool by_place) {
    if (&ours == classes_) {
      const std::int64_t width = width_of(file_, theirs);
      result_.head_width = is_detector_ ? classes_of(ours.name, width) : width;
    }
    std::vector<bool> taken(theirs.weights.size());
    for (std::size_t p = 0; p < ours.parameters.size(); ++p) {
      const nn::Parameter& parameter = ours.parameters[p];
      const std::optional<std::size_t> at =
          by_place ? (p < theirs.weights.size() ? std::optional(p) : std::nullopt)
                   : find_weight(theirs, weight_of(parameter));
      if (!at) {
        leave(parameter, "", ours);
        continue;
      }
      taken[*at] = true;
      const ImportedWeight& weight = theirs.weights[*at];
      const std::optional<Axes> axes = fitting_axes(file_.tensors->tensors()[weight.tensor].shape,
                                                    weight.axes, dims_of(parameter));
      if (axes)
        result_.matches.push_back({parameter.name, weight.tensor, *axes});
      else
        leave(parameter, theirs_text(file_, theirs, weight, parameter.name), ours);
    }
    for (std::size_t w = 0; w < taken.size(); ++w)
      if (!taken[w])
        result_.mismatches.push_back({"", theirs_text(file_, theirs, theirs.weights[w])});
  }

  bool is_of_head(const nn::Layer& layer) const {
    return is_detector_ ? is_behind_body(layer.name) : &layer == classes_;
  }

  static std::optional<std::size_t> find_weight(const ImportedLayer& layer, std::string_view name) {
    for (std::size_t w = 0; w < layer.weights.size(); ++w)
      if (is_same_weight(name, layer.weights[w].weight)) return w;
    return std::nullopt;
  }

  void leave(const nn::Parameter& parameter, const std::string& theirs, const nn::Layer& layer) {
    result_.mismatches.push_back({ours_text(parameter), theirs});
    if (!is_of_head(layer)) is_head_alone_ = false;
  }
  void leave(const nn::Layer& layer) {
    for (const nn::Parameter& parameter : layer.parameters) leave(parameter, "", layer);
  }
  void leave(const ImportedLayer& layer) {
    for (const ImportedWeight& weight : layer.weights)
      result_.mismatches.push_back({"", theirs_text(file_, layer, weight)});
  }

  Matching finish() {
    result_.replaces_head = !result_.mismatches.empty() && is_head_alone_;
    return std::move(result_);
  }

  const ImportedFile& file_;
  std::vector<const nn::Layer*> ours_;
  const nn::Layer* classes_ = nullptr;  // the layer that tells them apart
  bool is_detector_ = false;
  Matching result_;
  bool is_head_alone_ = true;
};

}  // namespace

Matching match(const ImportedFile& file, const std::vector<nn::Layer>& layers, bool by_name) {
  Matcher matcher(file, layers);
  if (by_name || file.naming == Naming::names) return matcher.by_name();
  return file.naming == Naming::classes ? matcher.by_class() : matcher.by_order();
}

}  // namespace plimsoll::interop
