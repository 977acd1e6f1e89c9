#include "nn/nn.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "tensor/conv_layout.h"

namespace plimsoll::nn {
namespace {

constexpr std::int64_t kLargestParameter = std::int64_t{1} << 33;

Ints pair(Size2 size) { return {size.h, size.w}; }

Attrs window_attrs(const Spec& x, Size2 kernel, const ConvOptions& options) {
  return {{"strides", pair(options.stride)},
          {"pads", padding_cells(options.padding, x, kernel, options.stride, options.dilation)},
          {"dilations", pair(options.dilation)}};
}

}  // namespace

Ints padding_cells(Padding padding, const Spec& x, Size2 kernel, Size2 stride, Size2 dilation) {
  if (padding == Padding::valid) return {0, 0, 0, 0};
  const auto total = [](std::int64_t size, std::int64_t k, std::int64_t s, std::int64_t d) {
    const std::int64_t reach = (k - 1) * d + 1;
    const std::int64_t count = (size + s - 1) / s;
    return std::max<std::int64_t>((count - 1) * s + reach - size, 0);
  };
  const std::int64_t h = total(x.shape[2], kernel.h, stride.h, dilation.h);
  const std::int64_t w = total(x.shape[3], kernel.w, stride.w, dilation.w);
  return {h / 2, w / 2, h - h / 2, w - w / 2};
}

Builder::Builder(const OpTable& ops, const Input& input, Mode mode, IsFrozen is_frozen)
    : graph_(ops), mode_(mode), is_frozen_(std::move(is_frozen)) {
  const Spec image{.dtype = input.dtype,
                   .shape = {input.batch, input.channels, input.image.h, input.image.w},
                   .layout = Layout::plain};
  image_ = graph_.add_value("image", image, Role::input);
  if (mode == Mode::training)
    sample_ = graph_.add_value("sample", plain({2}, DType::i64), Role::input);
  begin_layer("InputLayer", "input_layer", "", {});
  end_layer(image_);
}

std::size_t Builder::layer_of(ValueId id) const { return layer_of_.at(id.index); }

std::string Builder::begin_layer(std::string_view type, std::string_view base,
                                 std::string_view name, const Values& inputs) {
  std::string chosen(name);
  if (chosen.empty()) {
    const int count = name_counts_[std::string(base)]++;
    chosen = std::string(base) + (count > 0 ? "_" + std::to_string(count) : "");
  }
  for (const Layer& layer : layers_)
    if (layer.name == chosen)
      throw UsageError({.where = chosen,
                        .got = "two layers have this name",
                        .expected = "expected names that differ"});
  Layer layer{.name = chosen,
              .type = std::string(type),
              .output = {},
              .output_spec = {},
              .inputs = {},
              .parameters = {}};
  for (ValueId input : inputs) layer.inputs.push_back(layer_of(input));
  layers_.push_back(std::move(layer));
  graph_.set_layer(chosen);
  return chosen;
}

ValueId Builder::end_layer(ValueId output) {
  layers_.back().output = output;
  layers_.back().output_spec = graph_.spec(output);
  layer_of_[output.index] = layers_.size() - 1;
  graph_.set_layer("");
  return output;
}

ValueId Builder::parameter(std::string_view weight, const Spec& spec, const Init& init, Role role) {
  const std::string name = layers_.back().name + "/" + std::string(weight);
  double elements = 1;
  for (std::int64_t dim : spec.shape) elements *= static_cast<double>(dim);
  if (elements > static_cast<double>(kLargestParameter))
    throw UsageError({.where = name,
                      .got = "a weight of shape " + to_string(spec.shape),
                      .expected = "expected at most 2^33 elements",
                      .hint = "is the number of classes or units right?"});
  if (role == Role::parameter && is_frozen(layers_.back().name)) role = Role::frozen;
  layers_.back().parameters.push_back({name, spec, init, role == Role::parameter});
  return graph_.add_value(name, spec, role);
}

ValueId Builder::blocked_image(ValueId x) {
  if (spec(x).shape.rank() != 4 || spec(x).layout == Layout::blocked) return x;
  return graph_.call1("reorder", {x}, {}, layers_.back().name + "/blocked");
}

ValueId Builder::conv2d(ValueId x, std::int64_t filters, Size2 kernel, const ConvOptions& options) {
  const std::string layer = begin_layer("Conv2D", "conv2d", options.name, {x});
  const bool reads_plain = spec(x).layout == Layout::plain && spec(x).shape.rank() == 4 &&
                           spec(x).shape[1] <= kMostPlainChannels && options.groups == 1;
  const ValueId from = reads_plain ? x : blocked_image(x);
  const Spec& in = spec(from);
  if (in.shape.rank() != 4 || filters < 1 || options.groups < 1 ||
      in.shape[1] % options.groups != 0 || filters % options.groups != 0)
    throw UsageError(
        {.where = "conv2d '" + layer + "'",
         .got = std::to_string(filters) + " filters in " + std::to_string(options.groups) +
                " groups over " + to_string(in),
         .expected = "expected an image, and channels and filters that the groups divide"});
  Attrs attrs = window_attrs(in, kernel, options);
  attrs.set("groups", options.groups);
  const Spec weights = conv_kernel_spec(in, filters, kernel.h, kernel.w, options.groups);
  const std::int64_t area = kernel.h * kernel.w;
  Values operands{from, parameter("kernel", weights,
                                  {Init::Kind::glorot_uniform, area * weights.shape[1],
                                   area * filters / options.groups})};
  if (options.bias) operands.push_back(parameter("bias", plain({filters}, in.dtype), {}));
  return end_layer(
      activated(graph_.call1("conv2d", operands, attrs, layer), options.activation, layer));
}

ValueId Builder::activated(ValueId x, std::string_view kind, const std::string& layer) {
  if (kind.empty()) return x;
  return graph_.call1("activation", {x}, {{"kind", std::string(kind)}},
                      layer + "/" + std::string(kind));
}

ValueId Builder::depthwise(ValueId x, std::string_view weight, Size2 kernel,
                           const ConvOptions& options, const std::string& layer) {
  const Spec& in = spec(x);
  const Spec weights{.dtype = in.dtype,
                     .shape = {in.shape[1], 1, kernel.h, kernel.w},
                     .layout = Layout::depth_kernel};
  const std::int64_t area = kernel.h * kernel.w;
  const ValueId w =
      parameter(weight, weights, {Init::Kind::glorot_uniform, area * in.shape[1], area});
  return graph_.call1("depthwise_conv2d", {x, w}, window_attrs(in, kernel, options), layer);
}

ValueId Builder::depthwise_conv2d(ValueId x, Size2 kernel, const ConvOptions& options) {
  const std::string layer = begin_layer("DepthwiseConv2D", "depthwise_conv2d", options.name, {x});
  ValueId y = depthwise(blocked_image(x), "kernel", kernel, options, layer);
  if (options.bias) {
    const ValueId b = parameter("bias", plain({spec(y).shape[1]}, spec(y).dtype), {});
    y = graph_.call1("add_bias", {y, b}, {}, layer + "/bias");
  }
  return end_layer(activated(y, options.activation, layer));
}

ValueId Builder::separable_conv2d(ValueId x, std::int64_t filters, Size2 kernel,
                                  const ConvOptions& options) {
  const std::string layer = begin_layer("SeparableConv2D", "separable_conv2d", options.name, {x});
  const ValueId middle =
      depthwise(blocked_image(x), "depthwise_kernel", kernel, options, layer + "/depthwise");
  const std::int64_t channels = spec(middle).shape[1];
  Values operands{middle,
                  parameter("pointwise_kernel", conv_kernel_spec(spec(middle), filters, 1, 1, 1),
                            {Init::Kind::glorot_uniform, channels, filters})};
  if (options.bias) operands.push_back(parameter("bias", plain({filters}, spec(x).dtype), {}));
  return end_layer(
      activated(graph_.call1("conv2d", operands, {}, layer), options.activation, layer));
}

ValueId Builder::dense(ValueId x, std::int64_t units, std::string_view name,
                       std::string_view activation) {
  const std::string layer = begin_layer("Dense", "dense", name, {x});
  const Spec& in = spec(x);
  if (in.shape.rank() != 2 || units < 1)
    throw UsageError({.where = "dense '" + layer + "'",
                      .got = std::to_string(units) + " units over " + to_string(in),
                      .expected = "expected at least one unit over a [N,C] tensor",
                      .hint = "flatten or pool images first"});
  const Spec weights = plain({in.shape[1], units}, in.dtype);
  Values operands{x,
                  parameter("kernel", weights, {Init::Kind::glorot_uniform, in.shape[1], units})};
  operands.push_back(parameter("bias", plain({units}, in.dtype), {}));
  return end_layer(activated(graph_.call1("dense", operands, {}, layer), activation, layer));
}

ValueId Builder::batch_norm(ValueId x, const BatchNormOptions& options) {
  const std::string layer =
      begin_layer("BatchNormalization", "batch_normalization", options.name, {x});
  const ValueId y = blocked_image(x);
  const Spec channels = plain({spec(y).shape[1]}, spec(y).dtype);
  const bool uses_batch = mode_ == Mode::training && !options.frozen && !is_frozen(layer);
  ValueId gamma = kNoValue;
  ValueId beta = kNoValue;
  const Role role = options.frozen ? Role::frozen : Role::parameter;
  if (options.scale) gamma = parameter("gamma", channels, {Init::Kind::ones}, role);
  if (options.center) beta = parameter("beta", channels, {Init::Kind::zeros}, role);
  const ValueId moving_mean =
      parameter("moving_mean", channels, {Init::Kind::zeros}, Role::statistics);
  const ValueId moving_variance =
      parameter("moving_variance", channels, {Init::Kind::ones}, Role::statistics);
  ValueId mean = moving_mean;
  ValueId variance = moving_variance;
  if (uses_batch) {
    const Values stats = graph_.call("bn_stats", {y}, {}, layer + "/stats");
    mean = stats[0];
    variance = stats[1];
    running_.push_back({moving_mean, moving_variance, mean, variance,
                        options.momentum > 0 ? options.momentum : batch_norm_momentum_});
  }
  Values operands{y, mean, variance};
  if (gamma) operands.push_back(gamma);
  if (beta) operands.push_back(beta);
  return end_layer(graph_.call1("bn_apply", operands,
                                {{"epsilon", options.epsilon},
                                 {"training", std::int64_t{uses_batch}},
                                 {"scale", std::int64_t{options.scale}},
                                 {"center", std::int64_t{options.center}}},
                                layer));
}

ValueId Builder::activation(ValueId x, std::string_view kind, std::string_view name, double alpha) {
  const bool capped = kind == "relu6";
  const std::string layer =
      begin_layer(capped ? "ReLU" : "Activation", capped ? "re_lu" : "activation", name, {x});
  return end_layer(graph_.call1("activation", {blocked_image(x)},
                                {{"kind", std::string(kind)}, {"alpha", alpha}}, layer));
}

ValueId Builder::softmax(ValueId x, std::string_view name) {
  const std::string layer = begin_layer("Softmax", "softmax", name, {x});
  return end_layer(graph_.call1("softmax", {x}, {}, layer));
}

ValueId Builder::dropout(ValueId x, double rate, std::string_view name) {
  const std::string layer = begin_layer("Dropout", "dropout", name, {x});
  if (rate < 0 || rate >= 1)
    throw UsageError({.where = "dropout '" + layer + "'",
                      .got = "rate " + std::to_string(rate),
                      .expected = "expected at least 0 and below 1"});
  if (mode_ == Mode::inference || rate == 0) return end_layer(x);
  const auto key = static_cast<std::int64_t>(fnv1a64(layer) >> 1);
  return end_layer(
      graph_.call1("dropout", {blocked_image(x), sample_}, {{"rate", rate}, {"key", key}}, layer));
}

}  // namespace plimsoll::nn
