#include "step/part_gradients.h"

#include <algorithm>

#include "ops/calls.h"

namespace plimsoll {
namespace {

// Parameters that are read on the way from a part's features to its loss.
Values parameters_of(const Graph& graph, const TaskValues::Part& part) {
  std::vector<bool> seen(graph.values().size(), false);
  for (const ValueId begin : part.features) seen[begin.at()] = true;
  Values found;
  Values open{part.loss};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (seen[id.at()]) continue;
    seen[id.at()] = true;
    const Value& value = graph.value(id);
    if (value.role == Role::parameter) found.push_back(id);
    if (!value.producer) continue;
    for (const ValueId in : graph.node(value.producer).in) open.push_back(in);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Gradients by values, summed in the order in which they come.
class GradientSums {
 public:
  explicit GradientSums(Graph& graph) : graph_(graph) {}

  void add(const Gradient& term) {
    // Of one part: not yet the whole gradient of a parameter.
    graph_.value(term.value).role = Role::temporary;
    for (Gradient& sum : sums_) {
      if (sum.of != term.of) continue;
      const LayerScope layer(graph_, graph_.layer_of(term.of));
      sum.value =
          ops::add(graph_, {sum.value, term.value}, graph_.value(term.of).name + "/grad/of_parts");
      return;
    }
    sums_.push_back(term);
  }
  void seed(ValueId loss, ValueId share) {
    const LayerScope layer(graph_, graph_.layer_of(loss));
    if (share)
      sums_.push_back({loss, share});
    else
      add({loss, ops::fill(graph_, 1, graph_.value(loss).name + "/seed")});
  }
  const std::vector<Gradient>& sums() const { return sums_; }

 private:
  Graph& graph_;
  std::vector<Gradient> sums_;
};

}  // namespace

std::vector<Gradient> append_backward_by_parts(Graph& graph,
                                               const std::vector<TaskValues::Part>& parts,
                                               ValueId penalty, ValueId share) {
  GradientSums sums(graph);
  {
    const PhaseScope phase(graph, Phase::loss);
    for (const TaskValues::Part& part : parts) {
      Values targets = parameters_of(graph, part);
      targets.insert(targets.end(), part.features.begin(), part.features.end());
      GradientSums seed(graph);
      seed.seed(part.loss, share);
      for (const Gradient& one : append_backward(graph, seed.sums(), targets, Phase::loss))
        sums.add(one);
    }
  }
  const PhaseScope phase(graph, Phase::backward);
  if (penalty) sums.seed(penalty, share);
  return append_backward(graph, sums.sums(), parameters_of(graph));
}

}  // namespace plimsoll
