#include "autodiff/autodiff.h"

#include <algorithm>

#include "base/error.h"
#include "ops/calls.h"

namespace plimsoll {
namespace {

// For every value: whether a target can reach it.
std::vector<bool> find_reached(const Graph& graph, const Values& targets) {
  std::vector<bool> reached(graph.values().size(), false);
  for (ValueId target : targets) reached[target.at()] = true;
  for (const Node& node : graph.nodes())
    for (ValueId in : node.in)
      if (reached[in.at()])
        for (ValueId out : node.out) reached[out.at()] = true;
  return reached;
}

class Differentiator {
 public:
  Differentiator(Graph& graph, const std::vector<Gradient>& seeds, const Values& targets)
      : graph_(graph),
        nodes_(graph.nodes().size()),
        wanted_(find_reached(graph, targets)),
        gradient_(graph.values().size(), kNoValue) {
    for (const Gradient& seed : seeds) {
      expect(graph.spec(seed.value).shape == graph.spec(seed.of).shape,
             "a seed is like what it belongs to");
      add(seed.of, seed.value);
    }
  }

  // Last node first: whatever reads a value is done when its maker's turn comes.
  void run() {
    for (std::size_t n = nodes_; n-- > 0;) differentiate(graph_.nodes()[n]);
  }

  ValueId gradient_by(ValueId value) const { return gradient_[value.at()]; }

 private:
  void differentiate(const Node& node) {
    Values dy;
    for (ValueId out : node.out) dy.push_back(gradient_by(out));
    std::vector<bool> wants;
    for (ValueId in : node.in) wants.push_back(wanted_[in.at()]);
    if (std::none_of(dy.begin(), dy.end(), [](ValueId id) { return bool(id); }) ||
        std::none_of(wants.begin(), wants.end(), [](bool wanted) { return wanted; }))
      return;
    if (node.op->backward == nullptr)
      throw UsageError({.where = node.op->name + " '" + node.name + "'",
                        .got = "lies between a parameter and the loss but has no gradient",
                        .expected = "only differentiable ops there"});
    const Values dx = node.op->backward({graph_, node, dy, wants});
    expect(dx.size() == node.in.size(), "backward gives one gradient per input");
    for (std::size_t i = 0; i < dx.size(); ++i)
      if (dx[i] && wants[i]) add(node.in[i], dx[i]);
  }

  void add(ValueId to, ValueId term) {
    ValueId& sum = gradient_[to.at()];
    const LayerScope scope(graph_, graph_.layer_of(to));
    sum = sum ? ops::add(graph_, {sum, term}, graph_.value(to).name + "/grad/sum") : term;
  }

  Graph& graph_;
  std::size_t nodes_;  // of what is differentiated
  std::vector<bool> wanted_;
  std::vector<ValueId> gradient_;
};

}  // namespace

std::vector<Gradient> append_backward(Graph& graph, const std::vector<Gradient>& seeds,
                                      const Values& targets, Phase phase) {
  const PhaseScope scope(graph, phase);
  Differentiator differentiator(graph, seeds, targets);
  differentiator.run();
  Values last_first = targets;
  std::sort(last_first.rbegin(), last_first.rend());
  std::vector<Gradient> found;
  for (ValueId target : last_first) {
    const ValueId value = differentiator.gradient_by(target);
    if (!value) continue;
    if (graph.value(target).role == Role::parameter) graph.value(value).role = Role::gradient;
    found.push_back({target, value});
  }
  return found;
}

Values parameters_of(const Graph& graph) {
  Values parameters;
  for (std::size_t v = 0; v < graph.values().size(); ++v)
    if (graph.values()[v].role == Role::parameter)
      parameters.push_back({static_cast<std::int32_t>(v)});
  return parameters;
}

std::vector<Gradient> append_backward(Graph& graph, ValueId loss) {
  const PhaseScope phase(graph, Phase::backward);
  const LayerScope layer(graph, graph.layer_of(loss));
  const ValueId one = ops::fill(graph, 1, graph.value(loss).name + "/seed");
  return append_backward(graph, {{loss, one}}, parameters_of(graph));
}

}  // namespace plimsoll
