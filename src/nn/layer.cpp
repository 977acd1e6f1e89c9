#include "nn/layer.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::nn {
namespace {

// All calls of all layers, by number; walks as Keras does to find their depths.
class CallGraph {
 public:
  explicit CallGraph(const std::vector<Layer>& layers)
      : layers_(layers), met_(layers.size(), kUnmet) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      first_.push_back(calls_.size());
      for (std::size_t call = 0; call < layers[layer].calls.size(); ++call)
        calls_.push_back({layer, call});
    }
    visited_.resize(calls_.size(), false);
  }

  // Producers are finished before consumers. Not recursive: a described network may be deep.
  void walk(Source output) {
    std::vector<Visit> open;
    const auto enter = [&](std::size_t call) {
      if (visited_[call]) return;
      visited_[call] = true;
      std::size_t& met = met_[calls_[call].layer];
      if (met == kUnmet) met = count_++;
      open.push_back({call, 0});
    };
    enter(number(output));
    while (!open.empty()) {
      Visit& visit = open.back();
      const std::vector<Source>& inputs = inputs_of(visit.call);
      if (visit.next < inputs.size()) {
        enter(number(inputs[visit.next++]));
      } else {
        finished_.push_back(visit.call);
        open.pop_back();
      }
    }
  }

  std::vector<std::size_t> order() const {
    std::vector<int> depth(calls_.size(), 0);
    std::vector<int> layer_depth(layers_.size(), 0);
    for (auto call = finished_.rbegin(); call != finished_.rend(); ++call) {
      int& of_layer = layer_depth[calls_[*call].layer];
      of_layer = std::max(of_layer, depth[*call]);
      for (const Source& input : inputs_of(*call)) {
        int& of_input = depth[number(input)];
        of_input = std::max(of_input, of_layer + 1);
      }
    }
    std::vector<std::size_t> order;
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
      if (met_[layer] != kUnmet) order.push_back(layer);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return layer_depth[a] != layer_depth[b] ? layer_depth[a] > layer_depth[b] : met_[a] < met_[b];
    });
    return order;
  }

  bool is_reached(Source call) const { return visited_[number(call)]; }

 private:
  static constexpr std::size_t kUnmet = static_cast<std::size_t>(-1);
  struct Visit {
    std::size_t call;
    std::size_t next;  // of its inputs
  };

  std::size_t number(Source source) const { return first_[source.layer] + source.call; }
  const std::vector<Source>& inputs_of(std::size_t call) const {
    return layers_[calls_[call].layer].calls[calls_[call].call].inputs;
  }

  const std::vector<Layer>& layers_;
  std::vector<std::size_t> first_;  // call of every layer
  std::vector<Source> calls_;
  std::vector<bool> visited_;
  std::vector<std::size_t> met_;
  std::vector<std::size_t> finished_;
  std::size_t count_ = 0;
};

}  // namespace

std::int64_t Layer::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters) count += parameter.spec.shape.elements();
  return count;
}

std::vector<Layer> in_keras_order(const std::vector<Layer>& layers,
                                  const std::vector<Source>& outputs) {
  CallGraph graph(layers);
  for (const Source& output : outputs) graph.walk(output);
  const std::vector<std::size_t> order = graph.order();

  std::vector<std::size_t> place(layers.size(), 0);
  std::vector<std::vector<std::size_t>> call_place(layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    std::size_t kept = 0;
    for (std::size_t call = 0; call < layers[order[i]].calls.size(); ++call) {
      call_place[order[i]].push_back(kept);
      kept += graph.is_reached({order[i], call}) ? 1 : 0;
    }
  }
  std::vector<Layer> ordered;
  for (const std::size_t from : order) {
    Layer layer = layers[from];
    layer.calls.clear();
    for (std::size_t call = 0; call < layers[from].calls.size(); ++call) {
      if (!graph.is_reached({from, call})) continue;
      layer.calls.push_back(layers[from].calls[call]);
      for (Source& input : layer.calls.back().inputs)
        input = {place[input.layer], call_place[input.layer][input.call]};
    }
    ordered.push_back(std::move(layer));
  }
  return ordered;
}

const Layer* find_head(const std::vector<Layer>& layers, Source output) {
  while (layers[output.layer].parameters.empty()) {
    const LayerCall& call = layers[output.layer].calls[output.call];
    if (call.inputs.empty()) return nullptr;
    output = call.inputs[0];
  }
  return &layers[output.layer];
}

}  // namespace plimsoll::nn
