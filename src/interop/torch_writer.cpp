#include "interop/torch_writer.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "interop/axes.h"
#include "tensor/convert.h"
#include "zoo/detection_heads.h"
#include "zoo/region_heads.h"

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

Axes torch_axes(const nn::Layer& layer, const TensorView& view) {
  if (view.spec.shape.rank() != 2) return Axes::ours;
  return layer.name == zoo::kRegionDense ? Axes::out_bins : Axes::out_in;
}

struct Written {
  StoredTensor tensor;
  TensorView view;  // with the axes of the file
  std::vector<int> order;
  bool is_class_output = false;  // of a detector
};

// Of the column that stands for the background: its probability is no number of f32.
constexpr float kNeverPositive = -100;

class Appender {
 public:
  explicit Appender(SafetensorsWriter& writer) : writer_(writer) {}

  void append(const Written& one) {
    const std::int64_t count = one.view.spec.shape.elements();
    if (!one.is_class_output) return append_elements(one, 0, count);
    const std::int64_t rows = one.view.spec.shape[0];
    const bool is_bias = one.view.spec.shape.rank() == 1;
    for (std::int64_t anchor = 0; anchor < zoo::kAnchorsPerCell; ++anchor) {
      append_constant(one, is_bias ? kNeverPositive : 0, count / rows);
      const std::int64_t classes = count / zoo::kAnchorsPerCell;
      append_elements(one, anchor * classes, classes);
    }
  }

 private:
  std::span<float> room(std::int64_t wanted) {
    return std::span(piece_).first(
        static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(piece_), wanted)));
  }
  void append_elements(const Written& one, std::int64_t first, std::int64_t count) {
    for (const std::int64_t end = first + count; first < end; first += std::ssize(piece_)) {
      const std::span<float> part = room(end - first);
      read_elements(one.view, first, part, one.order);
      writer_.append(one.tensor.name, std::as_bytes(part));
    }
  }
  void append_constant(const Written& one, float value, std::int64_t count) {
    for (; count > 0; count -= std::ssize(piece_)) {
      const std::span<float> part = room(count);
      std::fill(part.begin(), part.end(), value);
      writer_.append(one.tensor.name, std::as_bytes(part));
    }
  }

  SafetensorsWriter& writer_;
  std::array<float, 16384> piece_{};
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
      const TensorView& ours = views.at(parameter.name);
      const Axes axes = torch_axes(layer, ours);
      const TensorView view = with_axes(ours, axes);
      all.push_back({.tensor = {.name = torch_name(
                                    layer, parameter.name.substr(parameter.name.rfind('/') + 1)),
                                .type = ElementType::f32,
                                .shape = stored_shape(ours.spec.shape, axes)},
                     .view = view,
                     .order = order_of(axes, view.spec.shape.rank()),
                     .is_class_output = layer.name == zoo::kClassOutput});
      if (all.back().is_class_output) all.back().tensor.shape[0] += zoo::kAnchorsPerCell;
      tensors.push_back(all.back().tensor);
    }
  SafetensorsWriter writer(path, std::move(tensors), metadata, Checksums::none);
  Appender appender(writer);
  for (const Written& one : all) appender.append(one);
  writer.commit();
}

}  // namespace plimsoll::interop
