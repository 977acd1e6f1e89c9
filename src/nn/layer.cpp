#include "nn/layer.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace plimsoll::nn {

std::int64_t Layer::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters) count += parameter.spec.shape.elements();
  return count;
}

std::vector<std::size_t> keras_order(const std::vector<Layer>& layers,
                                     const std::vector<std::size_t>& outputs) {
  constexpr std::size_t kUnmet = static_cast<std::size_t>(-1);
  std::vector<std::size_t> met(layers.size(), kUnmet);
  std::vector<std::size_t> finished;  // producers before consumers
  std::size_t count = 0;
  const std::function<void(std::size_t)> walk = [&](std::size_t layer) {
    if (met[layer] != kUnmet) return;
    met[layer] = count++;
    for (std::size_t input : layers[layer].inputs) walk(input);
    finished.push_back(layer);
  };
  for (std::size_t output : outputs) walk(output);

  std::vector<int> depth(layers.size(), 0);
  for (auto at = finished.rbegin(); at != finished.rend(); ++at)
    for (std::size_t input : layers[*at].inputs)
      depth[input] = std::max(depth[input], depth[*at] + 1);

  std::vector<std::size_t> order = finished;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return depth[a] != depth[b] ? depth[a] > depth[b] : met[a] < met[b];
  });
  return order;
}

}  // namespace plimsoll::nn
