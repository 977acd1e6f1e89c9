#include "task/heads.h"

namespace plimsoll {

ValueId append_main_loss(Graph& graph, const nn::Heads& heads, const HeadLoss& loss) {
  const ValueId main = loss(heads.logits, "loss");
  graph.rename(main, "loss");
  graph.rename(heads.logits, "logits");
  return main;
}

ValueId append_auxiliary_loss(Graph& graph, const nn::Heads& heads, ValueId main,
                              const HeadLoss& loss, double weight) {
  if (!heads.auxiliary) return main;
  const ValueId side = loss(heads.auxiliary, "aux_loss");
  return graph.call1("add", {main, side}, {{"last_factor", weight}}, "loss/with_aux");
}

}  // namespace plimsoll
