#include "interop/keras_layers.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "interop/keras_activation.h"
#include "interop/keras_json.h"

namespace plimsoll::interop {
namespace {

// Bounds under which products of a network's sizes stay in 64 bits.
constexpr std::int64_t kMostFilters = std::int64_t{1} << 20;
constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;
constexpr std::int64_t kLargestFactor = 64;

using Translate = LayerMaker (*)(const KerasLayer& layer, const KerasSettings& settings);

void check_channels_last(const KerasSettings& settings) {
  const std::string format = settings.word({"data_format", "dim_ordering"}, "channels_last");
  if (format != "channels_last" && format != "tf" && format != "default")
    settings.refuse("its data_format is " + format, "expected channels_last",
                    "save the model from a backend that keeps channels last");
}

nn::Padding padding_of(const KerasSettings& settings) {
  const std::string padding = settings.word({"padding", "border_mode"}, "valid");
  if (padding != "same" && padding != "valid")
    settings.refuse("its padding is " + padding, "expected same or valid");
  return padding == "same" ? nn::Padding::same : nn::Padding::valid;
}

// The function of a layer with weights: one of ours without settings.
std::string own_activation(const KerasSettings& settings) {
  const KerasCurve curve = read_activation(settings);
  if (curve.kind == "leaky_relu" || curve.kind == "softmax")
    settings.refuse("its activation is " + curve.kind, "expected it in a layer of its own");
  return curve.kind;
}

nn::ConvOptions conv_options(const KerasLayer& layer, const KerasSettings& settings) {
  check_channels_last(settings);
  if (settings.has({"depth_multiplier"}) && settings.count({"depth_multiplier"}, 1 << 20) != 1)
    settings.refuse("its depth_multiplier is not 1", "expected 1");
  return {.stride = settings.size({"strides", "subsample"}, 1),
          .padding = padding_of(settings),
          .dilation = settings.size({"dilation_rate", "atrous_rate"}, 1),
          .bias = settings.flag({"use_bias", "bias"}, true),
          .activation = own_activation(settings),
          .name = layer.name};
}

nn::Size2 kernel_size(const KerasSettings& settings) {
  if (settings.has({"nb_row"}))
    return {settings.count({"nb_row"}, 1 << 12), settings.count({"nb_col"}, 1 << 12)};
  if (!settings.has({"kernel_size"})) settings.count({"kernel_size"}, 1);
  return settings.size({"kernel_size"}, 1);
}

LayerMaker conv2d(const KerasLayer& layer, const KerasSettings& settings) {
  nn::ConvOptions options = conv_options(layer, settings);
  if (settings.has({"groups"})) options.groups = settings.count({"groups"}, kMostFilters);
  const std::int64_t filters = settings.count({"filters", "nb_filter"}, kMostFilters);
  return [options, filters, kernel = kernel_size(settings)](nn::Builder& net, const Values& in) {
    return net.conv2d(in[0], filters, kernel, options);
  };
}

LayerMaker depthwise_conv2d(const KerasLayer& layer, const KerasSettings& settings) {
  return [options = conv_options(layer, settings), kernel = kernel_size(settings)](
             nn::Builder& net, const Values& in) {
    return net.depthwise_conv2d(in[0], kernel, options);
  };
}

LayerMaker separable_conv2d(const KerasLayer& layer, const KerasSettings& settings) {
  const std::int64_t filters = settings.count({"filters", "nb_filter"}, kMostFilters);
  return [options = conv_options(layer, settings), filters, kernel = kernel_size(settings)](
             nn::Builder& net, const Values& in) {
    return net.separable_conv2d(in[0], filters, kernel, options);
  };
}

LayerMaker dense(const KerasLayer& layer, const KerasSettings& settings) {
  return [name = layer.name, units = settings.count({"units", "output_dim"}, kMostUnits),
          activation = own_activation(settings),
          bias = settings.flag({"use_bias", "bias"}, true)](nn::Builder& net, const Values& in) {
    return net.dense(in[0], units, name, activation, bias);
  };
}

// -1 or [-1], 3 or [3]; the channels of a matrix are axis 1, which of an image are the rows.
std::int64_t axis_of(const KerasSettings& settings, KerasSettings::Words words) {
  const nlohmann::json* axis = settings.find(words);
  if (axis != nullptr && axis->is_array() && axis->size() == 1) axis = &(*axis)[0];
  if (axis == nullptr) return -1;
  const std::int64_t number = axis->is_number_integer() ? axis->get<std::int64_t>() : 0;
  if (number != -1 && number != 1 && number != 3)
    settings.refuse("its axis is no axis of channels", "expected -1 or 3");
  return number;
}

void check_axis(const nn::Builder& net, ValueId x, std::int64_t axis, const std::string& place) {
  if (axis >= 0 && axis != net.spec(x).shape.rank() - 1)
    throw UsageError({.where = place,
                      .got = "its axis is " + std::to_string(axis),
                      .expected = "expected that of the channels, the last"});
}

LayerMaker batch_norm(const KerasLayer& layer, const KerasSettings& settings) {
  if (settings.has({"mode"}) && settings.real({"mode"}, 0) != 0)
    settings.refuse("its mode is not 0", "expected statistics of every channel");
  if (settings.flag({"renorm"}, false)) settings.refuse("it renormalises", "expected renorm=False");
  nn::BatchNormOptions options{.momentum = settings.real({"momentum"}, 0.99),
                               .epsilon = settings.real({"epsilon"}, 1e-3),
                               .scale = settings.flag({"scale"}, true),
                               .center = settings.flag({"center"}, true),
                               .name = layer.name};
  if (!(options.momentum > 0 && options.momentum < 1) || !(options.epsilon > 0))
    settings.refuse("its momentum or epsilon is out of range",
                    "expected a momentum between 0 and 1 and a positive epsilon");
  return [options, axis = axis_of(settings, {"axis"}), place = layer.place](nn::Builder& net,
                                                                            const Values& in) {
    check_axis(net, in[0], axis, place);
    return net.batch_norm(in[0], options);
  };
}

template <class Pool>
LayerMaker pool(const KerasLayer& layer, const KerasSettings& settings, Pool pool) {
  check_channels_last(settings);
  const nn::Size2 window = settings.size({"pool_size"}, 2);
  const nn::PoolOptions options{.stride = settings.size({"strides"}, window),
                                .padding = padding_of(settings),
                                .name = layer.name};
  return [pool, window, options](nn::Builder& net, const Values& in) {
    return (net.*pool)(in[0], window, options);
  };
}

LayerMaker max_pool(const KerasLayer& layer, const KerasSettings& settings) {
  return pool(layer, settings, &nn::Builder::max_pool);
}
LayerMaker average_pool(const KerasLayer& layer, const KerasSettings& settings) {
  return pool(layer, settings, &nn::Builder::average_pool);
}

LayerMaker global_pool(const KerasLayer& layer, const KerasSettings& settings) {
  check_channels_last(settings);
  return [name = layer.name, keep = settings.flag({"keepdims"}, false),
          mean = layer.type == "GlobalAveragePooling2D"](nn::Builder& net, const Values& in) {
    return mean ? net.global_average_pool(in[0], name, keep)
                : net.global_max_pool(in[0], name, keep);
  };
}

LayerMaker add(const KerasLayer& layer, const KerasSettings&) {
  return [name = layer.name](nn::Builder& net, const Values& in) { return net.add(in, name); };
}

LayerMaker multiply(const KerasLayer& layer, const KerasSettings&) {
  return [name = layer.name, place = layer.place](nn::Builder& net, const Values& in) {
    if (in.size() != 2)
      throw UsageError({.where = place,
                        .got = "it multiplies " + std::to_string(in.size()) + " tensors",
                        .expected = "expected two"});
    // The gate of squeeze-and-excite may stand on either side.
    const auto elements = [&](ValueId id) { return net.spec(id).shape.elements(); };
    const bool swapped = elements(in[0]) < elements(in[1]);
    return net.multiply(in[swapped ? 1 : 0], in[swapped ? 0 : 1], name);
  };
}

LayerMaker concatenate(const KerasLayer& layer, const KerasSettings& settings) {
  return [name = layer.name, axis = axis_of(settings, {"axis", "concat_axis"}),
          place = layer.place](nn::Builder& net, const Values& in) {
    check_axis(net, in[0], axis, place);
    return net.concat(in, name);
  };
}

// Keras 1: what became Add, Multiply and Concatenate.
LayerMaker merge(const KerasLayer& layer, const KerasSettings& settings) {
  const std::string mode = settings.word({"mode"}, "sum");
  if (mode == "sum") return add(layer, settings);
  if (mode == "mul") return multiply(layer, settings);
  if (mode != "concat") settings.refuse("it merges by " + mode, "expected sum, mul or concat");
  return concatenate(layer, settings);
}

LayerMaker scaled_add(const KerasLayer& layer, const KerasSettings& settings) {
  return [name = layer.name, scale = settings.real({"scale"}, 1), place = layer.place](
             nn::Builder& net, const Values& in) {
    if (in.size() != 2)
      throw UsageError({.where = place,
                        .got = "it adds " + std::to_string(in.size()) + " tensors",
                        .expected = "expected two"});
    return net.scaled_add(in[0], in[1], scale, name);
  };
}

LayerMaker zero_pad(const KerasLayer& layer, const KerasSettings& settings) {
  check_channels_last(settings);
  return
      [name = layer.name, b = settings.borders({"padding"})](nn::Builder& net, const Values& in) {
        return net.zero_pad(in[0], b[0], b[1], b[2], b[3], name);
      };
}

LayerMaker crop(const KerasLayer& layer, const KerasSettings& settings) {
  check_channels_last(settings);
  return
      [name = layer.name, b = settings.borders({"cropping"})](nn::Builder& net, const Values& in) {
        return net.crop(in[0], b[0], b[1], b[2], b[3], name);
      };
}

LayerMaker upsample(const KerasLayer& layer, const KerasSettings& settings) {
  check_channels_last(settings);
  const std::string kind = settings.word({"interpolation"}, "nearest");
  if (kind != "nearest") settings.refuse("its interpolation is " + kind, "expected nearest");
  return [name = layer.name, size = settings.size({"size"}, 2, kLargestFactor)](
             nn::Builder& net, const Values& in) { return net.upsample(in[0], size, name); };
}

LayerMaker flatten(const KerasLayer& layer, const KerasSettings& settings) {
  check_channels_last(settings);
  return
      [name = layer.name](nn::Builder& net, const Values& in) { return net.flatten(in[0], name); };
}

LayerMaker reshape(const KerasLayer& layer, const KerasSettings& settings) {
  return [name = layer.name, target = settings.shape({"target_shape"})](nn::Builder& net,
                                                                        const Values& in) {
    const Shape& from = net.spec(in[0]).shape;
    Ints shape = target;
    std::int64_t rest = from.elements() / from[0];
    for (const std::int64_t dim : shape)
      if (dim > 0) rest /= dim;
    for (std::int64_t& dim : shape)
      if (dim < 0) dim = rest;
    return net.reshape(in[0], shape, name);
  };
}

// Elements; with noise_shape (None, 1, 1, 1) whole samples; of SpatialDropout2D whole channels.
LayerMaker dropout(const KerasLayer& layer, const KerasSettings& settings) {
  std::string of = layer.type == "SpatialDropout2D" ? "channel" : "element";
  if (settings.has({"noise_shape"})) {
    const Ints noise = settings.shape({"noise_shape"});
    const auto ones = std::count(noise.begin() + 1, noise.end(), 1);
    if (ones != std::ssize(noise) - 1)
      settings.refuse("its noise_shape keeps some axes together", "expected [null, 1, 1, 1]");
    of = "image";
  }
  const double rate = settings.real({"rate", "p"}, 0.5);
  if (!(rate >= 0 && rate < 1)) settings.refuse("its rate is out of range", "expected 0 up to 1");
  return [name = layer.name, rate, of](nn::Builder& net, const Values& in) {
    return net.dropout(in[0], rate, name, of);
  };
}

LayerMaker activation(const KerasLayer& layer, const KerasSettings& settings) {
  const KerasCurve curve = read_activation(layer.type, settings);
  return [name = layer.name, curve](nn::Builder& net, const Values& in) {
    if (curve.kind.empty()) return in[0];
    if (curve.kind == "softmax") return net.softmax(in[0], name);
    return net.activation(in[0], curve.kind, name, curve.slope);
  };
}

LayerMaker identity(const KerasLayer&, const KerasSettings&) {
  return [](nn::Builder&, const Values& in) { return in[0]; };
}

const std::map<std::string, Translate, std::less<>>& translations() {
  static const std::map<std::string, Translate, std::less<>> kAll = {
      {"Activation", activation},
      {"ActivityRegularization", identity},
      {"Add", add},
      {"AveragePooling2D", average_pool},
      {"BatchNormalization", batch_norm},
      {"Concatenate", concatenate},
      {"Conv2D", conv2d},
      {"Cropping2D", crop},
      {"CustomScaleLayer", scaled_add},
      {"Dense", dense},
      {"DepthwiseConv2D", depthwise_conv2d},
      {"Dropout", dropout},
      {"Flatten", flatten},
      {"GlobalAveragePooling2D", global_pool},
      {"GlobalMaxPooling2D", global_pool},
      {"Identity", identity},
      {"LeakyReLU", activation},
      {"MaxPooling2D", max_pool},
      {"Merge", merge},
      {"Multiply", multiply},
      {"ReLU", activation},
      {"Reshape", reshape},
      {"SeparableConv2D", separable_conv2d},
      {"Softmax", activation},
      {"SpatialDropout2D", dropout},
      {"UpSampling2D", upsample},
      {"ZeroPadding2D", zero_pad}};
  return kAll;
}

}  // namespace

LayerMaker make_layer(const KerasLayer& layer) {
  const KerasSettings settings(layer.config, layer.place);
  const auto found = translations().find(layer.type);
  if (found == translations().end())
    settings.refuse("there is no such layer here", "expected one of Keras's for pictures");
  return found->second(layer, settings);
}

std::string activation_of(const KerasLayer& layer) {
  return read_activation(layer.type, KerasSettings(layer.config, layer.place)).kind;
}

std::string width_word(const KerasLayer& layer) {
  const bool dense = layer.type == "Dense";
  if (!dense && layer.type != "Conv2D" && layer.type != "SeparableConv2D") return "";
  const char* old = dense ? "output_dim" : "nb_filter";
  if (layer.config.is_object() && layer.config.contains(old)) return old;
  return dense ? "units" : "filters";
}

bool has_weights(const KerasLayer& layer) {
  return !width_word(layer).empty() || layer.type == "DepthwiseConv2D" ||
         layer.type == "BatchNormalization";
}

}  // namespace plimsoll::interop
