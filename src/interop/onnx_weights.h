// Tensors of an ONNX model that are a network's weights, as they are or with a BatchNorm in them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/onnx.h"
#include "graph/graph.h"
#include "step/weights.h"

namespace plimsoll::interop {

// A factor and a term for every channel: what a BatchNorm with running statistics does.
struct ChannelMap {
  std::vector<float> factor, term;
};

// Adds tensors to a model and gives their names. `weights` must stay alive as long as the model is
// not written.
class OnnxWeights {
 public:
  OnnxWeights(const Graph& graph, const std::vector<NamedTensor>& weights,
              std::vector<OnnxTensor>& tensors);

  // A weight in its own shape, or in `shape` with as many elements. Added once.
  std::string weight(ValueId id, std::vector<std::int64_t> shape = {});
  // A convolution's weight, filters first, times a factor for each filter.
  std::string scaled_weight(ValueId id, const std::string& name, std::vector<float> factor);
  std::string floats(const std::string& name, std::vector<float> values);
  std::string integers(const std::string& name, std::vector<std::int64_t> values);

  // All elements of a vector.
  std::vector<float> values_of(ValueId id) const;
  // What a bn_apply node does to its first input.
  ChannelMap channel_map(const Node& batch_norm) const;

 private:
  const TensorView& view_of(ValueId id) const;

  const Graph& graph_;
  std::map<std::string_view, const TensorView*> views_;
  std::vector<OnnxTensor>& tensors_;
  std::map<std::string, std::size_t, std::less<>> known_;
};

}  // namespace plimsoll::interop
