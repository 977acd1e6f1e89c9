#include "interop/onnx_weights.h"

#include <cmath>

#include "base/error.h"
#include "tensor/convert.h"

namespace plimsoll::interop {

OnnxWeights::OnnxWeights(const Graph& graph, const std::vector<NamedTensor>& weights,
                         std::vector<OnnxTensor>& tensors)
    : graph_(graph), tensors_(tensors) {
  for (const NamedTensor& weight : weights) views_[weight.name] = &weight.view;
}

const TensorView& OnnxWeights::view_of(ValueId id) const {
  const std::string& name = graph_.value(id).name;
  const auto found = views_.find(name);
  expect(found != views_.end() && found->second->spec.dtype == DType::f32,
         "every weight of the network is given, as f32");
  return *found->second;
}

std::string OnnxWeights::weight(ValueId id, std::vector<std::int64_t> shape) {
  const std::string& name = graph_.value(id).name;
  if (!known_.emplace(name, tensors_.size()).second) return name;
  const TensorView view = view_of(id);
  if (shape.empty()) shape.assign(view.spec.shape.begin(), view.spec.shape.end());
  tensors_.push_back({.name = name,
                      .shape = std::move(shape),
                      .read = [view](std::int64_t first,
                                     std::span<float> out) { read_elements(view, first, out); },
                      .integers = {}});
  return name;
}

std::string OnnxWeights::scaled_weight(ValueId id, const std::string& name,
                                       std::vector<float> factor) {
  const TensorView view = view_of(id);
  const std::int64_t filter = view.spec.shape.elements() / view.spec.shape[0];
  tensors_.push_back(
      {.name = name,
       .shape = {view.spec.shape.begin(), view.spec.shape.end()},
       .read =
           [view, filter, factor = std::move(factor)](std::int64_t first, std::span<float> out) {
             read_elements(view, first, out);
             for (std::size_t i = 0; i < out.size(); ++i)
               out[i] *= factor[static_cast<std::size_t>((first + static_cast<std::int64_t>(i)) /
                                                         filter)];
           },
       .integers = {}});
  return name;
}

std::string OnnxWeights::floats(const std::string& name, std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  tensors_.push_back({.name = name,
                      .shape = {count},
                      .read =
                          [values = std::move(values)](std::int64_t first, std::span<float> out) {
                            std::copy_n(values.begin() + first, out.size(), out.begin());
                          },
                      .integers = {}});
  return name;
}

std::string OnnxWeights::integers(const std::string& name, std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  tensors_.push_back({.name = name, .shape = {count}, .read = {}, .integers = std::move(values)});
  return name;
}

std::vector<float> OnnxWeights::values_of(ValueId id) const {
  const TensorView& view = view_of(id);
  std::vector<float> values(static_cast<std::size_t>(view.spec.shape.elements()));
  read_elements(view, 0, values);
  return values;
}

ChannelMap OnnxWeights::channel_map(const Node& batch_norm) const {
  const std::vector<float> mean = values_of(batch_norm.in[1]);
  const std::vector<float> variance = values_of(batch_norm.in[2]);
  const double epsilon = batch_norm.attrs.real("epsilon");
  ChannelMap map{.factor = std::vector<float>(mean.size(), 1.0F),
                 .term = std::vector<float>(mean.size(), 0.0F)};
  std::size_t next = 3;
  if (batch_norm.attrs.flag("scale")) map.factor = values_of(batch_norm.in[next++]);
  if (batch_norm.attrs.flag("center")) map.term = values_of(batch_norm.in[next]);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double factor =
        static_cast<double>(map.factor[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    map.term[c] = static_cast<float>(static_cast<double>(map.term[c]) -
                                     static_cast<double>(mean[c]) * factor);
    map.factor[c] = static_cast<float>(factor);
  }
  return map;
}

}  // namespace plimsoll::interop
