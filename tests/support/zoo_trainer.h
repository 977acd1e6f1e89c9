// A trainer of one of our networks, at the size it was made for.
#pragma once

#include "ops/table.h"
#include "step/trainer.h"
#include "zoo/zoo.h"

namespace plimsoll {

// Trains batches of `batch`; everything else is as `options` say. A dropout below 0 is the
// network's own.
inline Trainer zoo_trainer(std::string_view name, std::int64_t batch, TrainerOptions options = {},
                           double dropout = -1) {
  const zoo::Network& network = zoo::find_network(name);
  options.input = {.batch = batch, .channels = network.channels, .image = network.image};
  options.train_batches = {batch};
  return Trainer(
      op_table(),
      [&](nn::Builder& net) {
        return network.build(net, {.classes = network.classes, .dropout = dropout});
      },
      options);
}

}  // namespace plimsoll
