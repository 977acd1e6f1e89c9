#include "step/averages.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace plimsoll {
namespace {

// What an average follows.
std::byte* followed(const Session& session, const StepGraph::Copy& pair) {
  return session.resident(pair.of).data + pair.first * std::int64_t{sizeof(float)};
}

}  // namespace

void start_averages(const Session& session, const StepGraph& step) {
  for (const StepGraph::Copy& pair : step.averages) {
    const TensorView average = session.resident(pair.copy);
    std::memcpy(average.data, followed(session, pair),
                static_cast<std::size_t>(average.spec.bytes()));
  }
}

void start_averages(const Shards& shards) {
  const std::vector<NamedTensor> averages = average_tensors(shards.session(), shards.step());
  if (averages.empty() || !averages[0].shared)
    return start_averages(shards.session(), shards.step());
  std::map<std::string, TensorView> weights;
  for (const NamedTensor& weight : weight_tensors(shards.session(), shards.step()))
    weights[average_name(weight.name)] = weight.view;
  for (const NamedTensor& average : averages) {
    std::memcpy(average.view.data, weights.at(average.name).data,
                static_cast<std::size_t>(average.view.spec.bytes()));
    shards.store(average);
  }
}

AveragesInPlace::AveragesInPlace(Shards shards) : shards_(std::move(shards)) {
  exchange();
  if (shards_.step().has_averages) shards_.gather_weights();
}

void AveragesInPlace::put_back() {
  is_in_place_ = false;
  exchange();
  if (shards_.step().has_averages) shards_.gather_weights();
}

void AveragesInPlace::exchange() const {
  for (const StepGraph::Copy& pair : shards_.step().averages) {
    const TensorView average = shards_.session().resident(pair.copy);
    std::swap_ranges(average.data, average.data + average.spec.bytes(),
                     followed(shards_.session(), pair));
  }
}

}  // namespace plimsoll
