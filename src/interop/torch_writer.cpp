#include "interop/torch_writer.h"

#include <array>
#include <map>

#include "base/error.h"
#include "interop/axes.h"
#include "tensor/convert.h"

namespace plimsoll::interop {
namespace {

std::string torch_name(const nn::Layer& layer, std::string_view weight) {
  static const std::map<std::string_view, std::string_view> kWords{
      {"kernel", ".weight"},
      {"bias", ".bias"},
      {"depthwise_kernel", ".depthwise.weight"},
      {"pointwise_kernel", ".pointwise.weight"},
      {"gamma", ".weight"},
      {"beta", ".bias"},
      {"moving_mean", ".running_mean"},
      {"moving_variance", ".running_var"}};
  const auto word = kWords.find(weight);
  expect(word != kWords.end(), "a weight that PyTorch has a word for");
  const bool is_pointwise_bias = weight == "bias" && layer.type == "SeparableConv2D";
  return layer.name + (is_pointwise_bias ? ".pointwise" : "") + std::string(word->second);
}

struct Written {
  StoredTensor tensor;
  TensorView view;
  std::vector<int> order;
};

}  // namespace

void write_torch_safetensors(const std::filesystem::path& path,
                             const std::vector<nn::Layer>& layers,
                             const std::vector<NamedTensor>& weights, const Metadata& metadata) {
  std::map<std::string_view, TensorView> views;
  for (const NamedTensor& weight : weights) views[weight.name] = weight.view;
  std::vector<Written> all;
  std::vector<StoredTensor> tensors;
  for (const nn::Layer& layer : layers)
    for (const nn::Parameter& parameter : layer.parameters) {
      const TensorView& view = views.at(parameter.name);
      const Axes axes = view.spec.shape.rank() == 2 ? Axes::out_in : Axes::ours;
      all.push_back({.tensor = {.name = torch_name(
                                    layer, parameter.name.substr(parameter.name.rfind('/') + 1)),
                                .type = ElementType::f32,
                                .shape = stored_shape(view.spec.shape, axes)},
                     .view = view,
                     .order = order_of(axes, view.spec.shape.rank())});
      tensors.push_back(all.back().tensor);
    }
  SafetensorsWriter writer(path, std::move(tensors), metadata, Checksums::none);
  std::array<float, 16384> piece{};
  for (const Written& one : all) {
    const std::int64_t count = one.view.spec.shape.elements();
    for (std::int64_t first = 0; first < count; first += std::ssize(piece)) {
      const auto part = std::span(piece).first(
          static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(piece), count - first)));
      read_elements(one.view, first, part, one.order);
      writer.append(one.tensor.name, std::as_bytes(part));
    }
  }
  writer.commit();
}

}  // namespace plimsoll::interop
