// A trainer of one of our networks, at the size it was made for.
#pragma once

#include "ops/table.h"
#include "step/trainer.h"
#include "task/detection.h"
#include "zoo/zoo.h"

namespace plimsoll {

// What the network is made for, with its own number of classes unless another is given.
inline TaskPtr task_of(const zoo::Network& network, std::int64_t classes = 0) {
  if (network.anchor_base == 0) return make_classification({});
  return make_detection(
      {.classes = classes > 0 ? classes : network.classes, .anchor_base = network.anchor_base});
}

// Trains batches of `batch`; everything else is as `options` say. A dropout below 0 is the
// network's own.
inline Trainer zoo_trainer(std::string_view name, std::int64_t batch, TrainerOptions options = {},
                           double dropout = -1) {
  const zoo::Network& network = zoo::find_network(name);
  options.input = {.batch = batch, .channels = network.channels, .image = network.image};
  options.train_batches = {batch};
  if (network.anchor_base > 0) options.task = task_of(network);
  return Trainer(
      op_table(),
      [&](nn::Builder& net) {
        return network.build(net, {.classes = network.classes, .dropout = dropout});
      },
      options);
}

}  // namespace plimsoll
