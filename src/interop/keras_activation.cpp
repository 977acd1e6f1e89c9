#include "interop/keras_activation.h"

#include <algorithm>
#include <array>

namespace plimsoll::interop {
namespace {

using nlohmann::json;

KerasCurve relu(const KerasSettings& settings) {
  const double slope = settings.real({"negative_slope", "alpha"}, 0);
  if (settings.real({"threshold"}, 0) != 0)
    settings.refuse("its relu has a threshold", "expected none");
  if (!settings.has({"max_value"}))
    return slope == 0 ? KerasCurve{"relu"} : KerasCurve{"leaky_relu", slope};
  if (settings.real({"max_value"}, 6) != 6 || slope != 0)
    settings.refuse("its relu has a max_value other than 6, or a slope beside it",
                    "expected 6, or none");
  return {"relu6"};
}

KerasCurve by_name(const std::string& name, const KerasSettings& settings) {
  static constexpr std::array<std::string_view, 5> kSame = {"relu", "relu6", "sigmoid", "tanh",
                                                            "softmax"};
  if (name == "linear") return {};
  if (name == "swish" || name == "silu") return {"swish"};
  if (name == "leaky_relu") return {"leaky_relu", 0.2};
  if (std::find(kSame.begin(), kSame.end(), name) == kSame.end())
    settings.refuse("its activation is '" + name + "'",
                    "expected linear, relu, relu6, leaky_relu, sigmoid, swish, tanh or softmax");
  return {name};
}

KerasCurve by_class(const std::string& type, const KerasSettings& settings) {
  if (type == "ReLU") return relu(settings);
  if (type == "LeakyReLU") return {"leaky_relu", settings.real({"negative_slope", "alpha"}, 0.3)};
  const json* axis = settings.find({"axis"});
  if (type == "Softmax" && axis != nullptr && *axis != -1 && *axis != 1)
    settings.refuse("its softmax is not over the last axis", "expected axis -1");
  if (type == "Softmax") return {"softmax"};
  settings.refuse("its activation is '" + type + "'", "expected one of Keras's by name");
}

}  // namespace

KerasCurve read_activation(const KerasSettings& settings) {
  const json* activation = settings.find({"activation"});
  if (activation == nullptr) return {};
  if (activation->is_string()) return by_name(activation->get<std::string>(), settings);
  if (!activation->is_object()) settings.refuse("its activation is no name", "expected a word");
  // {"class_name": "ReLU", "config": {...}}; Keras 3 writes functions as
  // {"class_name": "function", "config": "relu"}.
  const std::string type = text_at(*activation, "class_name");
  if (type == "function") return by_name(text_at(*activation, "config"), settings);
  const auto config = activation->find("config");
  static const json kNone = json::object();
  const bool has_config = config != activation->end() && config->is_object();
  const KerasSettings inner(has_config ? *config : kNone, settings.place());
  if (type == "Activation") return by_name(inner.word({"activation"}, "linear"), settings);
  return by_class(type, inner);
}

KerasCurve read_activation(const std::string& type, const KerasSettings& settings) {
  const bool is_curve = type == "ReLU" || type == "LeakyReLU" || type == "Softmax";
  return is_curve ? by_class(type, settings) : read_activation(settings);
}

}  // namespace plimsoll::interop
