// What the losses of all tasks have in common: a network's heads, and their weights.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"
#include "nn/nn.h"

namespace plimsoll {

// A loss of one head: its logits, and the name of its nodes.
using HeadLoss = std::function<ValueId(ValueId logits, const std::string& layer)>;

// The loss of the main head, named "loss"; its logits get the name "logits".
ValueId append_main_loss(Graph& graph, const nn::Heads& heads, const HeadLoss& loss);
// That plus the auxiliary head's, if there is one, times its weight.
ValueId append_auxiliary_loss(Graph& graph, const nn::Heads& heads, ValueId main,
                              const HeadLoss& loss, double weight);

}  // namespace plimsoll
