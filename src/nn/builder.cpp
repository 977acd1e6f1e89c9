#include "nn/nn.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/random.h"
#include "tensor/conv_layout.h"

namespace plimsoll::nn {
namespace {

constexpr std::int64_t kLargestParameter = std::int64_t{1} << 33;
constexpr std::int64_t kLargestOutput = std::int64_t{1} << 40;

// Values that a step is fed and read by (step/step_graph.h, task/) have these names; a layer's node
// gets another.
bool is_taken(std::string_view name) {
  static constexpr std::string_view kTaken[] = {
      "image",    "sample",   "label",      "target",     "weight",    "other",    "other_share",
      "lr",       "step",     "share",      "loss",       "norm",      "aux_loss", "l2",
      "correct",  "logits",   "boxes",      "box_labels", "box_count", "extent",   "match",
      "cls_loss", "box_loss", "detections", "lots",       "rois",      "proposals"};
  return std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken);
}

Ints pair(Size2 size) { return {size.h, size.w}; }

// A layer's own, or the function that none is.
std::string activation_word(std::string_view kind) {
  return kind.empty() ? "linear" : std::string(kind);
}

Attrs conv_config(Size2 kernel, const ConvOptions& options) {
  return {{"kernel_size", pair(kernel)},
          {"strides", pair(options.stride)},
          {"padding", std::string(name_of(options.padding))},
          {"dilation_rate", pair(options.dilation)},
          {"use_bias", std::int64_t{options.bias}},
          {"activation", activation_word(options.activation)}};
}

Attrs conv_config(std::int64_t filters, Size2 kernel, const ConvOptions& options) {
  Attrs config = conv_config(kernel, options);
  config.set("filters", filters);
  return config;
}

Attrs window_attrs(const Spec& x, Size2 kernel, const ConvOptions& options) {
  return {{"strides", pair(options.stride)},
          {"pads", padding_cells(options.padding, x, kernel, options.stride, options.dilation)},
          {"dilations", pair(options.dilation)}};
}

}  // namespace

std::string_view name_of(Padding padding) {
  constexpr std::array<std::string_view, 4> kNames{"same", "valid", "symmetric", "ceil"};
  return kNames[static_cast<std::size_t>(padding)];
}

Ints padding_cells(Padding padding, const Spec& x, Size2 kernel, Size2 stride, Size2 dilation) {
  if (padding == Padding::valid) return {0, 0, 0, 0};
  if (padding == Padding::symmetric) {
    const std::int64_t h = (kernel.h - 1) * dilation.h / 2;
    const std::int64_t w = (kernel.w - 1) * dilation.w / 2;
    return {h, w, h, w};
  }
  if (padding == Padding::ceil) {
    const auto over = [](std::int64_t size, std::int64_t k, std::int64_t s) {
      return size <= k ? 0 : (s - (size - k) % s) % s;
    };
    return {0, 0, over(x.shape[2], kernel.h, stride.h), over(x.shape[3], kernel.w, stride.w)};
  }
  const auto total = [](std::int64_t size, std::int64_t k, std::int64_t s, std::int64_t d) {
    const std::int64_t reach = (k - 1) * d + 1;
    const std::int64_t count = (size + s - 1) / s;
    return std::max<std::int64_t>((count - 1) * s + reach - size, 0);
  };
  const std::int64_t h = total(x.shape[2], kernel.h, stride.h, dilation.h);
  const std::int64_t w = total(x.shape[3], kernel.w, stride.w, dilation.w);
  return {h / 2, w / 2, h - h / 2, w - w / 2};
}

Values outputs_of(const Heads& heads) {
  Values outputs;
  for (const ValueId one : {heads.logits, heads.auxiliary})
    if (one) outputs.push_back(one);
  for (const Level& level : heads.levels)
    outputs.insert(outputs.end(), {level.scores, level.deltas});
  if (heads.second.scores)
    outputs.insert(outputs.end(), {heads.second.scores, heads.second.deltas});
  return outputs;
}

std::vector<Layer> layers_of(const Builder& builder, const Heads& heads) {
  std::vector<Source> ends;
  for (const ValueId output : outputs_of(heads)) ends.push_back(builder.source_of(output));
  return in_keras_order(builder.layers(), ends);
}

Builder::Builder(const OpTable& ops, const Input& input, Mode mode, IsFrozen is_frozen)
    : graph_(ops), mode_(mode), lanes_(input.lanes), is_frozen_(std::move(is_frozen)) {
  const Spec image{.dtype = input.dtype,
                   .shape = {input.batch, input.channels, input.image.h, input.image.w},
                   .layout = Layout::plain};
  image_ = graph_.add_value("image", image, Role::input);
  if (mode == Mode::training)
    sample_ = graph_.add_value("sample", plain({2}, DType::i64), Role::input);
  begin_layer("InputLayer", "input_layer", "", {}, {});
  end_layer(image_);
}

Source Builder::source_of(ValueId id) const { return source_of_.at(id.index); }

std::string Builder::begin_layer(std::string_view type, std::string_view base,
                                 std::string_view name, const Values& inputs, const Attrs& config) {
  std::string chosen(name);
  if (chosen.empty()) {
    const int count = name_counts_[std::string(base)]++;
    chosen = std::string(base) + (count > 0 ? "_" + std::to_string(count) : "");
  }
  const auto [found, is_new] = by_name_.emplace(chosen, layers_.size());
  current_ = found->second;
  if (is_new) {
    layers_.push_back({.name = chosen,
                       .type = std::string(type),
                       .config = config,
                       .calls = {},
                       .parameters = {}});
  } else if (!shared_.contains(chosen)) {
    throw UsageError({.where = chosen,
                      .got = "two layers have this name",
                      .expected = "expected names that differ"});
  } else if (layer().type != type || layer().config != config) {
    throw UsageError({.where = chosen,
                      .got = "two different layers have this name",
                      .expected = "expected calls of one layer to be alike"});
  }
  const std::size_t call = layer().calls.size();
  layer().calls.emplace_back();
  for (ValueId input : inputs) layer().calls.back().inputs.push_back(source_of(input));
  graph_.set_layer(chosen);
  node_ = chosen;
  if (call > 0) node_ += "/call_" + std::to_string(call);
  if (is_taken(node_)) node_ += "/output";
  return node_;
}

ValueId Builder::end_layer(ValueId output) {
  const Spec& made = graph_.spec(output);
  double elements = 1;
  for (std::int64_t dim : made.shape) elements *= static_cast<double>(dim);
  if (elements > static_cast<double>(kLargestOutput))
    throw UsageError({.where = layer().name,
                      .got = "it makes a tensor of shape " + to_string(made.shape),
                      .expected = "expected at most 2^40 elements"});
  layer().calls.back().output = output;
  layer().calls.back().output_spec = made;
  source_of_[output.index] = {current_, layer().calls.size() - 1};
  graph_.set_layer("");
  return output;
}

ValueId Builder::parameter(std::string_view weight, const Spec& spec, const Init& init, Role role) {
  const std::string name = layer().name + "/" + std::string(weight);
  if (layer().calls.size() > 1) {
    const ValueId first = graph_.find(name);
    if (first && graph_.spec(first) == spec) return first;
    throw UsageError(
        {.where = name,
         .got = "a later call of the layer needs " + to_string(spec),
         .expected = "expected the first call's " + (first ? to_string(graph_.spec(first)) : "")});
  }
  double elements = 1;
  for (std::int64_t dim : spec.shape) elements *= static_cast<double>(dim);
  if (elements > static_cast<double>(kLargestParameter))
    throw UsageError({.where = name,
                      .got = "a weight of shape " + to_string(spec.shape),
                      .expected = "expected at most 2^33 elements",
                      .hint = "is the number of classes or units right?"});
  if (graph_.find(name))
    throw UsageError({.where = name,
                      .got = "a weight and a layer have this name",
                      .expected = "expected names that differ"});
  if (role == Role::parameter && is_frozen(layer().name)) role = Role::frozen;
  layer().parameters.push_back({name, spec, init, role == Role::parameter});
  return graph_.add_value(name, spec, role);
}

ValueId Builder::blocked_image(ValueId x) {
  if (spec(x).shape.rank() != 4 || spec(x).layout == Layout::blocked) return x;
  return graph_.call1("reorder", {x}, {{"lanes", lanes_}}, node_ + "/blocked");
}

ValueId Builder::conv2d(ValueId x, std::int64_t filters, Size2 kernel, const ConvOptions& options) {
  Attrs config = conv_config(filters, kernel, options);
  config.set("groups", options.groups);
  const std::string node = begin_layer("Conv2D", "conv2d", options.name, {x}, config);
  const bool reads_plain = spec(x).layout == Layout::plain && spec(x).shape.rank() == 4 &&
                           spec(x).shape[1] <= kMostPlainChannels && options.groups == 1;
  const ValueId from = reads_plain ? x : blocked_image(x);
  const Spec& in = spec(from);
  if (in.shape.rank() != 4 || filters < 1 || options.groups < 1 ||
      in.shape[1] % options.groups != 0 || filters % options.groups != 0)
    throw UsageError(
        {.where = "conv2d '" + layer().name + "'",
         .got = std::to_string(filters) + " filters in " + std::to_string(options.groups) +
                " groups over " + to_string(in),
         .expected = "expected an image, and channels and filters that the groups divide"});
  Attrs attrs = window_attrs(in, kernel, options);
  attrs.set("groups", options.groups);
  const Spec weights = conv_kernel_spec(in, filters, kernel.h, kernel.w, options.groups, lanes_);
  const std::int64_t area = kernel.h * kernel.w;
  Values operands{from, parameter("kernel", weights,
                                  {options.kernel_start.kind, area * weights.shape[1],
                                   area * filters / options.groups, options.kernel_start.scale})};
  if (options.bias)
    operands.push_back(
        parameter("bias", plain({filters}, widened(in.dtype)),
                  {.kind = options.bias_start.kind, .scale = options.bias_start.scale}));
  return end_layer(
      activated(graph_.call1("conv2d", operands, attrs, node), options.activation, node));
}

ValueId Builder::activated(ValueId x, std::string_view kind, const std::string& node) {
  if (kind.empty()) return x;
  return graph_.call1("activation", {x}, {{"kind", std::string(kind)}},
                      node + "/" + std::string(kind));
}

ValueId Builder::depthwise(ValueId x, std::string_view weight, Size2 kernel,
                           const ConvOptions& options, const std::string& node) {
  const Spec& in = spec(x);
  const Spec weights{.dtype = widened(in.dtype),
                     .shape = {in.shape[1], 1, kernel.h, kernel.w},
                     .layout = Layout::depth_kernel,
                     .lanes = in.lanes};
  const std::int64_t area = kernel.h * kernel.w;
  const ValueId w =
      parameter(weight, weights, {Init::Kind::glorot_uniform, area * in.shape[1], area});
  return graph_.call1("depthwise_conv2d", {x, w}, window_attrs(in, kernel, options), node);
}

ValueId Builder::depthwise_conv2d(ValueId x, Size2 kernel, const ConvOptions& options) {
  const std::string node = begin_layer("DepthwiseConv2D", "depthwise_conv2d", options.name, {x},
                                       conv_config(kernel, options));
  ValueId y = depthwise(blocked_image(x), "kernel", kernel, options, node);
  if (options.bias) {
    const ValueId b = parameter("bias", plain({spec(y).shape[1]}, widened(spec(y).dtype)), {});
    y = graph_.call1("add_bias", {y, b}, {}, node + "/bias_added");
  }
  return end_layer(activated(y, options.activation, node));
}

ValueId Builder::separable_conv2d(ValueId x, std::int64_t filters, Size2 kernel,
                                  const ConvOptions& options) {
  const std::string node = begin_layer("SeparableConv2D", "separable_conv2d", options.name, {x},
                                       conv_config(filters, kernel, options));
  const ValueId middle =
      depthwise(blocked_image(x), "depthwise_kernel", kernel, options, node + "/depthwise");
  const std::int64_t channels = spec(middle).shape[1];
  Values operands{middle,
                  parameter("pointwise_kernel", conv_kernel_spec(spec(middle), filters, 1, 1, 1),
                            {Init::Kind::glorot_uniform, channels, filters})};
  if (options.bias)
    operands.push_back(parameter("bias", plain({filters}, widened(spec(x).dtype)), {}));
  return end_layer(activated(graph_.call1("conv2d", operands, {}, node), options.activation, node));
}

ValueId Builder::dense(ValueId x, std::int64_t units, std::string_view name,
                       std::string_view activation, bool bias) {
  return dense(x, units,
               {.bias = bias, .activation = std::string(activation), .name = std::string(name)});
}

ValueId Builder::dense(ValueId x, std::int64_t units, const DenseOptions& options) {
  const std::string node = begin_layer("Dense", "dense", options.name, {x},
                                       {{"units", units},
                                        {"use_bias", std::int64_t{options.bias}},
                                        {"activation", activation_word(options.activation)}});
  const Spec& in = spec(x);
  if (in.shape.rank() != 2 || units < 1)
    throw UsageError({.where = "dense '" + layer().name + "'",
                      .got = std::to_string(units) + " units over " + to_string(in),
                      .expected = "expected at least one unit over a [N,C] tensor",
                      .hint = "flatten or pool images first"});
  const auto start = [fan_in = in.shape[1], units](const Start& how) {
    return Init{how.kind, fan_in, units, how.scale};
  };
  const DType dtype = in.dtype;
  Values operands{
      x, parameter("kernel", plain({in.shape[1], units}, dtype), start(options.kernel_start))};
  if (options.bias)
    operands.push_back(parameter("bias", plain({units}, dtype), start(options.bias_start)));
  return end_layer(activated(graph_.call1("dense", operands, {}, node), options.activation, node));
}

}  // namespace plimsoll::nn
