#include "task/heads.h"

#include "ops/calls.h"

namespace plimsoll {

ValueId append_main_loss(Graph& graph, const nn::Heads& heads, const HeadLoss& loss) {
  const LayerScope scope(graph, "loss");
  const ValueId main = loss(heads.logits, "loss");
  graph.rename(main, "loss");
  graph.rename(heads.logits, "logits");
  return main;
}

ValueId append_auxiliary_loss(Graph& graph, const nn::Heads& heads, ValueId main,
                              const HeadLoss& loss, double weight) {
  if (!heads.auxiliary) return main;
  ValueId side;
  {
    const LayerScope scope(graph, "aux_loss");
    side = loss(heads.auxiliary, "aux_loss");
  }
  const LayerScope scope(graph, "loss");
  return ops::add(graph, {main, side}, "loss/with_aux", weight);
}

}  // namespace plimsoll
