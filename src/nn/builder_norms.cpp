// Layers that keep shapes as they are: BatchNorm, activations, dropout.
#include "base/error.h"
#include "base/random.h"
#include "nn/nn.h"

namespace plimsoll::nn {

ValueId Builder::batch_norm(ValueId x, const BatchNormOptions& options) {
  const double momentum = options.momentum > 0 ? options.momentum : batch_norm_momentum_;
  const std::string node =
      begin_layer("BatchNormalization", "batch_normalization", options.name, {x},
                  {{"momentum", momentum},
                   {"epsilon", options.epsilon},
                   {"scale", std::int64_t{options.scale}},
                   {"center", std::int64_t{options.center}}});
  const Shape shape = spec(x).shape;
  // Rows of a matrix are images of one pixel.
  const ValueId y =
      shape.rank() == 2
          ? graph_.call1("reshape", {x},
                         {{"shape", Ints{shape[0], shape[1], 1, 1}}, {"lanes", lanes_}},
                         node + "/pixels")
          : blocked_image(x);
  const Spec channels = plain({spec(y).shape[1]}, widened(spec(y).dtype));
  const bool uses_batch = mode_ == Mode::training && !options.frozen && !is_frozen(layer().name);
  if (uses_batch && layer().calls.size() > 1)
    throw UsageError({.where = layer().name,
                      .got = "a BatchNormalization that is called twice is to be trained",
                      .expected = "expected its running statistics to be of one tensor",
                      .hint = "freeze this layer"});
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
    const Values stats = graph_.call("bn_stats", {y}, {}, node + "/stats");
    mean = stats[0];
    variance = stats[1];
    running_.push_back({moving_mean, moving_variance, mean, variance, momentum});
  }
  Values operands{y, mean, variance};
  if (gamma) operands.push_back(gamma);
  if (beta) operands.push_back(beta);
  const ValueId normalised = graph_.call1("bn_apply", operands,
                                          {{"epsilon", options.epsilon},
                                           {"training", std::int64_t{uses_batch}},
                                           {"scale", std::int64_t{options.scale}},
                                           {"center", std::int64_t{options.center}}},
                                          node);
  if (shape.rank() != 2) return end_layer(normalised);
  return end_layer(
      graph_.call1("reshape", {normalised}, {{"shape", Ints{shape[0], shape[1]}}}, node + "/rows"));
}

ValueId Builder::activation(ValueId x, std::string_view kind, std::string_view name, double alpha) {
  struct KerasClass {
    std::string_view type, base;
    Attrs config;
  };
  const KerasClass keras =
      kind == "relu6" ? KerasClass{"ReLU", "re_lu", {{"max_value", 6.0}}}
      : kind == "leaky_relu"
          ? KerasClass{"LeakyReLU", "leaky_re_lu", {{"negative_slope", alpha}}}
          : KerasClass{"Activation", "activation", {{"activation", std::string(kind)}}};
  const std::string node = begin_layer(keras.type, keras.base, name, {x}, keras.config);
  return end_layer(graph_.call1("activation", {blocked_image(x)},
                                {{"kind", std::string(kind)}, {"alpha", alpha}}, node));
}

ValueId Builder::softmax(ValueId x, std::string_view name) {
  const std::string node = begin_layer("Softmax", "softmax", name, {x}, {});
  return end_layer(graph_.call1("softmax", {x}, {}, node));
}

ValueId Builder::dropout(ValueId x, double rate, std::string_view name, std::string_view of) {
  const bool spatial = of == "channel" && spec(x).shape.rank() == 4;
  Attrs config{{"rate", rate}};
  if (of == "image")
    config.set("noise_shape", Ints(static_cast<std::size_t>(spec(x).shape.rank()), 1));
  const std::string node =
      begin_layer(spatial ? "SpatialDropout2D" : "Dropout",
                  spatial ? "spatial_dropout2d" : "dropout", name, {x}, config);
  if (!(rate >= 0 && rate < 1))
    throw UsageError({.where = "dropout '" + layer().name + "'",
                      .got = "rate " + std::to_string(rate),
                      .expected = "expected at least 0 and below 1"});
  if (mode_ == Mode::inference || rate == 0) return end_layer(x);
  const auto key = static_cast<std::int64_t>(fnv1a64(node) >> 1);
  return end_layer(graph_.call1("dropout", {blocked_image(x), sample_},
                                {{"rate", rate}, {"key", key}, {"of", std::string(of)}}, node));
}

}  // namespace plimsoll::nn
