#include "step/layer_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace plimsoll {
namespace {

constexpr double kExploding = 1e6;
constexpr double kDeadShare = 0.5;

// Calls visit(value) for every f32 or bf16 that is stored.
template <class Visit>
void over_values(const TensorView& view, Visit visit) {
  if (widened(view.spec.dtype) != DType::f32) return;
  const std::int64_t images = view.is_dense() ? 1 : view.spec.shape[0];
  const std::int64_t count =
      view.is_dense() ? view.spec.stored_elements() : view.spec.image_elements();
  for_element(view.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < images; ++n) {
      const T* values = view.as<T>() + n * view.image_stride;
      for (std::int64_t i = 0; i < count; ++i) visit(static_cast<float>(values[i]));
    }
  });
}

// Whether what it makes has gone through a ReLU.
bool is_relu(const Node& node) {
  if (node.op->form == Form::activation) return node.attrs.word("kind").starts_with("relu");
  return node.op->absorbs.output_relu && node.attrs.word("activation").starts_with("relu");
}

// Share of channels that are zero in every image and place.
double dead_share(const TensorView& view) {
  const Shape& shape = view.spec.shape;
  if (shape.rank() != 4 || view.spec.layout != Layout::blocked) return 0;
  std::vector<bool> alive(static_cast<std::size_t>(shape[1]), false);
  const std::int64_t plane = shape[2] * shape[3], lanes = view.spec.lanes;
  for_element(view.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        const T* block = view.image<T>(n) + c / lanes * plane * lanes + c % lanes;
        for (std::int64_t i = 0; i < plane && !alive[static_cast<std::size_t>(c)]; ++i)
          if (block[i * lanes] > T(0)) alive[static_cast<std::size_t>(c)] = true;
      }
  });
  return static_cast<double>(std::count(alive.begin(), alive.end(), false)) /
         static_cast<double>(alive.size());
}

// A network is seen in two directions; the loss is at the end of the first.
bool is_backward(const Node& node) { return node.phase >= Phase::backward; }

}  // namespace

std::optional<std::string> find_not_finite(Trainer& trainer, const StepCall& call) {
  std::optional<std::string> found;
  trainer.watch_batch(call.batch, call.step, call.sample, call.fill,
                      [&](const Node& node, std::span<const TensorView> out) {
                        bool finite = true;
                        for (const TensorView& view : out)
                          over_values(view, [&](float v) { finite = finite && std::isfinite(v); });
                        if (!finite)
                          found = fmt::format("{} ({}, {})", node.layer, node.op->name,
                                              is_backward(node) ? "backward" : "forward");
                        return finite;
                      });
  return found;
}

LayerReport look_at_layers(Trainer& trainer, const StepCall& call) {
  std::map<std::string, double> largest;
  std::vector<std::pair<double, std::string>> dead;
  trainer.watch_batch(call.batch, call.step, call.sample, call.fill,
                      [&](const Node& node, std::span<const TensorView> out) {
                        double& most = largest[node.layer];
                        for (const TensorView& view : out)
                          over_values(
                              view, [&](float v) { most = std::fmax(most, std::fabs(double{v})); });
                        if (!is_backward(node) && is_relu(node)) {
                          const double share = dead_share(out[0]);
                          if (share > kDeadShare) dead.emplace_back(share, node.layer);
                        }
                        return true;
                      });
  std::vector<std::pair<double, std::string>> by_size;
  for (const auto& [layer, value] : largest) by_size.emplace_back(value, layer);
  std::sort(by_size.rbegin(), by_size.rend());
  std::sort(dead.rbegin(), dead.rend());
  LayerReport report;
  const auto text = [](const std::pair<double, std::string>& layer) {
    return fmt::format("{}: values up to {:.2g}", layer.second, layer.first);
  };
  if (!by_size.empty()) report.largest = text(by_size[0]);
  for (const auto& layer : by_size)
    if (layer.first > kExploding) report.exploding.push_back(text(layer));
  for (const auto& [share, layer] : dead)
    report.dead.push_back(fmt::format("{}: {:.0f} % of its channels are zero for the whole batch",
                                      layer, 100 * share));
  return report;
}

}  // namespace plimsoll
