#include "interop/keras_network.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "interop/keras_config.h"
#include "interop/keras_input.h"
#include "interop/keras_json.h"
#include "interop/keras_layers.h"

namespace plimsoll::interop {
namespace {

constexpr std::int64_t kLargestImage = 1 << 14;
constexpr std::int64_t kMostInputChannels = 1 << 10;
constexpr std::int64_t kMostClasses = 1 << 20;

bool joins(const KerasLayer& layer) {
  return layer.type == "Add" || layer.type == "Multiply" || layer.type == "Concatenate" ||
         layer.type == "Merge" || layer.type == "CustomScaleLayer";
}

// The layer that is as wide as there are classes, and Reshapes behind it that repeat its width.
struct Head {
  std::size_t layer = 0;
  std::string word;  // of its config: "units"
  std::int64_t classes = 0;
  std::vector<std::size_t> reshapes;
};

class Description {
 public:
  Description(std::string_view text, const std::string& where)
      : model_(parse_keras_config(text, where)), where_(where) {
    for (const KerasCall& call : model_.calls) ++calls_of_[call.layer];
    strip_ending();
    refuse_unknown();
    preprocessing_ = take_preprocessing(model_);
    head_ = find_head();
    makers_.resize(model_.layers.size());
    for (const KerasCall& call : model_.calls)
      if (!makers_[call.layer]) makers_[call.layer] = make_layer(model_.layers[call.layer]);
  }

  zoo::Network network(std::shared_ptr<const Description> self) const {
    const auto size = [&](std::size_t axis, std::int64_t otherwise, std::int64_t most) {
      const std::int64_t said = model_.input[axis];
      if (said > most)
        throw UsageError({.where = where_,
                          .got = "its input has a dimension of " + std::to_string(said),
                          .expected = "expected at most " + std::to_string(most)});
      return said < 0 ? otherwise : said;
    };
    return {.name = model_.name,
            .about = "described by " + where_,
            .image = {size(0, 224, kLargestImage), size(1, 224, kLargestImage)},
            .channels = size(2, 3, kMostInputChannels),
            .classes = head_.classes,
            .preprocessing = preprocessing_,
            .build = [self = std::move(self)](nn::Builder& net, const zoo::Options& options) {
              return self->build(net, options);
            }};
  }

 private:
  zoo::Heads build(nn::Builder& net, const zoo::Options& options) const {
    const std::map<std::size_t, LayerMaker> changed = changes(options);
    for (const auto& [layer, calls] : calls_of_)
      if (calls > 1) net.share(model_.layers[layer].name);
    Values values{net.image()};
    for (const KerasCall& call : model_.calls) {
      Values inputs;
      for (const std::size_t input : call.inputs) inputs.push_back(values[input]);
      const auto other = changed.find(call.layer);
      values.push_back((other == changed.end() ? makers_[call.layer] : other->second)(net, inputs));
    }
    const ValueId logits = values[model_.output];
    const Shape& shape = net.spec(logits).shape;
    if (shape.rank() != 2 || shape[1] != options.classes)
      throw UsageError({.where = where_,
                        .got = "the network ends in a tensor of shape " + to_string(shape),
                        .expected = "expected a number for each of " +
                                    std::to_string(options.classes) + " classes"});
    return {.logits = logits};
  }

  // Layers whose settings the options overrule.
  std::map<std::size_t, LayerMaker> changes(const zoo::Options& options) const {
    std::map<std::size_t, LayerMaker> changed;
    if (options.classes != head_.classes) {
      KerasLayer head = model_.layers[head_.layer];
      head.config[head_.word] = options.classes;
      changed[head_.layer] = make_layer(head);
      for (const std::size_t layer : head_.reshapes) {
        KerasLayer reshape = model_.layers[layer];
        nlohmann::json target = without_tuple(reshape.config["target_shape"]);
        for (nlohmann::json& dim : target)
          if (dim == head_.classes) dim = options.classes;
        reshape.config["target_shape"] = target;
        changed[layer] = make_layer(reshape);
      }
    }
    if (options.dropout < 0) return changed;
    for (auto call = model_.calls.rbegin(); call != model_.calls.rend(); ++call) {
      KerasLayer layer = model_.layers[call->layer];
      if (layer.type != "Dropout") continue;
      layer.config["rate"] = options.dropout;
      changed[call->layer] = make_layer(layer);
      break;
    }
    return changed;
  }

  // All at once: whoever has to change a model wants to know everything.
  void refuse_unknown() const {
    std::vector<std::string> refused;
    bool has_code = false;
    std::vector<bool> seen(model_.layers.size(), false);
    for (const KerasCall& call : model_.calls) {
      if (seen[call.layer]) continue;
      seen[call.layer] = true;
      const KerasLayer& layer = model_.layers[call.layer];
      const std::string named = "'" + layer.name + "' (" + layer.type + ")";
      has_code = has_code || layer.type == "Lambda";
      try {
        if (layer.type != "Rescaling" && layer.type != "Normalization") make_layer(layer);
        if (call.inputs.size() > 1 && !joins(layer))
          refused.push_back(named + ": it has several inputs");
      } catch (const UsageError& error) {
        refused.push_back(named + ": " + error.complaint().got);
      }
    }
    if (refused.empty()) return;
    std::string list;
    for (const std::string& layer : refused) list += (list.empty() ? "" : "; ") + layer;
    throw UsageError(
        {.where = where_,
         .got = std::to_string(refused.size()) +
                (refused.size() == 1 ? " layer cannot be run: " : " layers cannot be run: ") + list,
         .expected = "expected layers of Keras for pictures, channels last",
         .hint = has_code ? "a Lambda is Python code; put a layer in its place" : ""});
  }

  static bool is_squashing(const std::string& kind) {
    return kind == "softmax" || kind == "sigmoid";
  }

  static std::string known_activation(const KerasLayer& layer) {
    const bool curve = layer.type == "Activation" || layer.type == "Softmax";
    if (!curve && width_word(layer).empty()) return "";
    try {
      return activation_of(layer);
    } catch (const UsageError&) {
      return "";  // refused with the others
    }
  }

  // Class scores before the function that makes them probabilities. The output is the last call.
  void strip_ending() {
    if (model_.output == 0) return;
    const KerasCall call = model_.calls[model_.output - 1];
    KerasLayer& layer = model_.layers[call.layer];
    if (!is_squashing(known_activation(layer))) return;
    if (width_word(layer).empty()) {
      model_.output = call.inputs[0];
      model_.calls.pop_back();
    } else if (calls_of_[call.layer] == 1) {
      layer.config["activation"] = "linear";
    }
  }

  Head find_head() const {
    std::vector<std::size_t> reshapes;
    for (std::size_t value = model_.output; value > 0;) {
      const KerasCall& call = model_.calls[value - 1];
      const KerasLayer& layer = model_.layers[call.layer];
      const std::string word = width_word(layer);
      if (!word.empty() && calls_of_.at(call.layer) == 1)
        return {.layer = call.layer,
                .word = word,
                .classes = KerasSettings(layer.config, layer.place).count({word}, kMostClasses),
                .reshapes = reshapes};
      if (call.inputs.size() != 1 || calls_of_.at(call.layer) != 1) break;
      if (layer.type == "Reshape") reshapes.push_back(call.layer);
      value = call.inputs[0];
    }
    throw UsageError(
        {.where = where_,
         .got = "the network does not end in a layer as wide as there are classes",
         .expected = "expected a Dense or a convolution of its own at the end",
         .hint = "was the model saved with include_top=False? Add pooling and a Dense"});
  }

  KerasModel model_;
  std::string where_;
  std::map<std::size_t, std::size_t> calls_of_;  // layers to how often
  std::string preprocessing_;
  Head head_;
  std::vector<LayerMaker> makers_;  // by layer; none for those that are not called
};

}  // namespace

zoo::Network make_network(std::string_view description, const std::string& where) {
  const auto made = std::make_shared<const Description>(description, where);
  return made->network(made);
}

}  // namespace plimsoll::interop
