#include "interop/keras_input.h"

#include <array>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "interop/keras_json.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

constexpr std::size_t kColours = 3;

// What becomes of a pixel's channels: x * scale + offset.
struct Preparation {
  std::array<double, kColours> scale{1, 1, 1};
  std::array<double, kColours> offset{0, 0, 0};
};

// One number for all channels, or one for each.
std::array<double, kColours> channels_of(const KerasSettings& settings, KerasSettings::Words words,
                                         double otherwise) {
  std::array<double, kColours> all{otherwise, otherwise, otherwise};
  const json* value = settings.find(words);
  if (value == nullptr) return all;
  // [[[[0.5, 0.5, 0.5]]]] is how Normalization spreads them.
  while (value->is_array() && value->size() == 1) value = &(*value)[0];
  const bool each = value->is_array() && value->size() == kColours;
  for (std::size_t c = 0; c < kColours; ++c) {
    const json& number = each ? (*value)[c] : *value;
    if (!number.is_number())
      settings.refuse("its " + std::string(*words.begin()) + " is no number for each channel",
                      "expected one or three numbers");
    all[c] = number.get<double>();
  }
  return all;
}

void follow(Preparation& done, const KerasLayer& layer) {
  const KerasSettings settings(layer.config, layer.place);
  std::array<double, kColours> scale{}, offset{};
  if (layer.type == "Rescaling") {
    scale = channels_of(settings, {"scale"}, 1);
    offset = channels_of(settings, {"offset"}, 0);
  } else {
    if (!settings.has({"mean"}) || !settings.has({"variance"}))
      settings.refuse("its mean and variance are among the weights",
                      "expected them in the description",
                      "take it off, and ask for the preprocessing that does the same");
    const auto mean = channels_of(settings, {"mean"}, 0);
    const auto variance = channels_of(settings, {"variance"}, 1);
    for (std::size_t c = 0; c < kColours; ++c) {
      scale[c] = 1 / std::sqrt(std::max(variance[c], 1e-14));
      offset[c] = -mean[c] * scale[c];
    }
  }
  for (std::size_t c = 0; c < kColours; ++c) {
    done.scale[c] *= scale[c];
    done.offset[c] = done.offset[c] * scale[c] + offset[c];
  }
}

// data/picture's modes that are the same for every picture.
std::optional<std::string> mode_of(const Preparation& done) {
  constexpr std::array<double, kColours> kMean{0.485, 0.456, 0.406}, kSpread{0.229, 0.224, 0.225};
  struct Mode {
    const char* name = "";
    Preparation does;
  };
  Mode modes[] = {{"none", {}}, {"scale", {}}, {"tf", {}}, {"torch", {}}};
  for (std::size_t c = 0; c < kColours; ++c) {
    modes[1].does.scale[c] = 1 / 255.0;
    modes[2].does.scale[c] = 1 / 127.5;
    modes[2].does.offset[c] = -1;
    modes[3].does.scale[c] = 1 / (255.0 * kSpread[c]);
    modes[3].does.offset[c] = -kMean[c] / kSpread[c];
  }
  for (const Mode& mode : modes) {
    bool same = true;
    for (std::size_t c = 0; c < kColours; ++c)
      same = same && std::abs(done.scale[c] - mode.does.scale[c]) < 1e-3 * mode.does.scale[c] &&
             std::abs(done.offset[c] - mode.does.offset[c]) < 2e-3;
    if (same) return mode.name;
  }
  return std::nullopt;
}

// The only call that reads `value`, if it only prepares; nothing otherwise.
std::optional<std::size_t> preparing_call(const KerasModel& model, std::size_t value) {
  std::optional<std::size_t> found;
  for (std::size_t call = 0; call < model.calls.size(); ++call)
    for (const std::size_t input : model.calls[call].inputs) {
      if (input != value) continue;
      if (found) return std::nullopt;
      found = call;
    }
  if (!found) return std::nullopt;
  const std::string& type = model.layers[model.calls[*found].layer].type;
  const bool prepares = type == "Rescaling" || type == "Normalization";
  return prepares && *found + 1 != model.output ? found : std::nullopt;
}

// Networks of keras.applications whose preprocess_input is not `tf`, by the names they have there.
struct Application {
  std::string_view name, preprocessing;
};
constexpr std::array kApplications = {
    Application{"resnet50", "caffe"},    Application{"resnet101", "caffe"},
    Application{"resnet152", "caffe"},   Application{"vgg16", "caffe"},
    Application{"vgg19", "caffe"},       Application{"densenet121", "torch"},
    Application{"densenet169", "torch"}, Application{"densenet201", "torch"},
};

// Of a model, or of one inside it, that has such a name; empty: not known.
std::string usual_preprocessing(const KerasModel& model) {
  for (const Application& known : kApplications) {
    if (model.name == known.name) return std::string(known.preprocessing);
    for (const KerasLayer& layer : model.layers)
      if (layer.name.starts_with(std::string(known.name) + "."))
        return std::string(known.preprocessing);
  }
  return "";
}

// Those who read the call's value read what it read.
void take_out(KerasModel& model, std::size_t call) {
  const std::size_t input = model.calls[call].inputs[0];
  model.calls.erase(model.calls.begin() + static_cast<std::ptrdiff_t>(call));
  const auto moved = [&](std::size_t value) {
    if (value == call + 1) return input;
    return value > call + 1 ? value - 1 : value;
  };
  for (KerasCall& other : model.calls)
    for (std::size_t& value : other.inputs) value = moved(value);
  model.output = moved(model.output);
}

}  // namespace

std::string take_preprocessing(KerasModel& model) {
  Preparation done;
  const KerasLayer* last = nullptr;
  for (;;) {
    const std::optional<std::size_t> call = preparing_call(model, 0);
    if (!call) break;
    last = &model.layers[model.calls[*call].layer];
    follow(done, *last);
    take_out(model, *call);
  }
  if (last == nullptr) return usual_preprocessing(model);
  const std::optional<std::string> mode = mode_of(done);
  if (!mode)
    throw UsageError({.where = last->place,
                      .got = "the layers at the input prepare pictures in a way of their own",
                      .expected = "expected what the modes none, scale, tf or torch do"});
  return *mode;
}

}  // namespace plimsoll::interop
