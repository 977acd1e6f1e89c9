// Layers without weights: pools, joins and changes of shape.
#include "base/error.h"
#include "nn/nn.h"

namespace plimsoll::nn {

ValueId Builder::pool(ValueId x, std::string_view op, std::string_view type, std::string_view base,
                      Size2 window, const PoolOptions& options) {
  const std::string node = begin_layer(type, base, options.name, {x},
                                       {{"pool_size", Ints{window.h, window.w}},
                                        {"strides", Ints{options.stride.h, options.stride.w}},
                                        {"padding", std::string(name_of(options.padding))}});
  const ValueId from = blocked_image(x);
  Attrs attrs{{"kernel", Ints{window.h, window.w}},
              {"strides", Ints{options.stride.h, options.stride.w}},
              {"pads", padding_cells(options.padding, spec(from), window, options.stride, 1)}};
  if (op == "max_pool") attrs.set("positions", std::int64_t{mode_ == Mode::training});
  return end_layer(graph_.call(op, {from}, attrs, node)[0]);
}

ValueId Builder::max_pool(ValueId x, Size2 window, const PoolOptions& options) {
  return pool(x, "max_pool", "MaxPooling2D", "max_pooling2d", window, options);
}

ValueId Builder::average_pool(ValueId x, Size2 window, const PoolOptions& options) {
  return pool(x, "avg_pool", "AveragePooling2D", "average_pooling2d", window, options);
}

ValueId Builder::global_pool(ValueId x, std::string_view kind, std::string_view type,
                             std::string_view base, std::string_view name, bool keep_dims) {
  const std::string node =
      begin_layer(type, base, name, {x}, {{"keepdims", std::int64_t{keep_dims}}});
  return end_layer(
      graph_.call1("global_pool", {blocked_image(x)},
                   {{"kind", std::string(kind)}, {"keepdims", std::int64_t{keep_dims}}}, node));
}

ValueId Builder::global_average_pool(ValueId x, std::string_view name, bool keep_dims) {
  return global_pool(x, "avg", "GlobalAveragePooling2D", "global_average_pooling2d", name,
                     keep_dims);
}

ValueId Builder::global_max_pool(ValueId x, std::string_view name, bool keep_dims) {
  return global_pool(x, "max", "GlobalMaxPooling2D", "global_max_pooling2d", name, keep_dims);
}

ValueId Builder::add(const Values& terms, std::string_view name) {
  const std::string node = begin_layer("Add", "add", name, terms, {});
  return end_layer(graph_.call1("add", terms, {}, node));
}

ValueId Builder::multiply(ValueId x, ValueId factor, std::string_view name) {
  const std::string node = begin_layer("Multiply", "multiply", name, {x, factor}, {});
  return end_layer(graph_.call1("multiply", {x, factor}, {}, node));
}

ValueId Builder::scaled_add(ValueId x, ValueId branch, double factor, std::string_view name) {
  const std::string node =
      begin_layer("CustomScaleLayer", "custom_scale_layer", name, {x, branch}, {{"scale", factor}});
  return end_layer(graph_.call1("add", {x, branch}, {{"last_factor", factor}}, node));
}

ValueId Builder::concat(const Values& parts, std::string_view name) {
  const std::string node =
      begin_layer("Concatenate", "concatenate", name, parts, {{"axis", std::int64_t{-1}}});
  return end_layer(graph_.call1("concat", parts, {}, node));
}

ValueId Builder::zero_pad(ValueId x, std::int64_t top, std::int64_t left, std::int64_t bottom,
                          std::int64_t right, std::string_view name) {
  const std::string node = begin_layer("ZeroPadding2D", "zero_padding2d", name, {x},
                                       {{"padding", Ints{top, left, bottom, right}}});
  return end_layer(graph_.call1("zero_pad", {x}, {{"pads", Ints{top, left, bottom, right}}}, node));
}

ValueId Builder::crop(ValueId x, std::int64_t top, std::int64_t left, std::int64_t bottom,
                      std::int64_t right, std::string_view name) {
  const std::string node = begin_layer("Cropping2D", "cropping2d", name, {x},
                                       {{"cropping", Ints{top, left, bottom, right}}});
  return end_layer(graph_.call1("crop", {x}, {{"pads", Ints{top, left, bottom, right}}}, node));
}

ValueId Builder::upsample(ValueId x, Size2 factor, std::string_view name) {
  const std::string node =
      begin_layer("UpSampling2D", "up_sampling2d", name, {x}, {{"size", Ints{factor.h, factor.w}}});
  return end_layer(
      graph_.call1("upsample", {blocked_image(x)}, {{"scale", Ints{factor.h, factor.w}}}, node));
}

ValueId Builder::flatten(ValueId x, std::string_view name) {
  const std::string node = begin_layer("Flatten", "flatten", name, {x}, {});
  const Shape& s = spec(x).shape;
  return end_layer(
      graph_.call1("reshape", {x}, {{"shape", Ints{s[0], s.elements() / s[0]}}}, node));
}

ValueId Builder::squeeze(ValueId x, std::string_view name) {
  const Shape& s = spec(x).shape;
  return reshape(x, {s.elements() / s[0]}, name);
}

ValueId Builder::reshape(ValueId x, const Ints& sample, std::string_view name) {
  const std::string node = begin_layer("Reshape", "reshape", name, {x}, {{"target_shape", sample}});
  if (sample.size() != 1 && sample.size() != 3)
    throw UsageError({.where = "reshape '" + layer().name + "'",
                      .got = "a shape of " + to_string(AttrValue(sample)),
                      .expected = "expected [K] or [H, W, C]"});
  Ints shape{spec(x).shape[0], sample.back()};
  shape.insert(shape.end(), sample.begin(), sample.end() - 1);
  // What was a matrix becomes as narrow as the network's images are.
  const bool is_short = spec(image_).dtype == DType::bf16;
  const Attrs attrs{
      {"shape", shape}, {"image", std::string(is_short ? "bf16" : "same")}, {"lanes", lanes_}};
  return end_layer(graph_.call1("reshape", {x}, attrs, node));
}

}  // namespace plimsoll::nn
