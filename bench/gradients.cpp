// Gradients of one step on made-up pictures, from weights of a file.
//   cmake --build build --target gradients
//   build/gradients MODEL BATCH IMAGE f32|bf16 WEIGHTS.safetensors GRADIENTS.safetensors
// bench/gradients calls it.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "bench/planned_trainer.h"
#include "ops/table.h"
#include "step/synthetic_batch.h"
#include "step/weights.h"
#include "zoo/zoo.h"

int main(int count, char** words) {
  using namespace plimsoll;
  if (count != 7) {
    fmt::print(stderr, "gradients MODEL BATCH IMAGE f32|bf16 WEIGHTS GRADIENTS\n");
    return 2;
  }
  const zoo::Network& network = zoo::find_network(words[1]);
  const std::int64_t batch = std::atoll(words[2]);
  Trainer trainer(op_table(),
                  [&](nn::Builder& net) {
                    return network.build(net, {.classes = network.classes, .dropout = 0});
                  },
                  {.input = input_of(network, batch, std::atoll(words[3]),
                                     std::string(words[4]) == "bf16" ? DType::bf16 : DType::f32),
                   .train_batches = {batch},
                   .evaluate_batches = {},
                   .task = make_classification({}),
                   .optimizer = {.name = "sgd", .momentum = 0.9}});
  trainer.open();
  load_tensors(SafetensorsReader(words[5]), weight_tensors(trainer.session(), trainer.step_graph()),
               trainer.shards());
  fill_synthetic_batch(trainer, batch);
  // With momentum and a rate of 1, the first step leaves -gradient in the slots, exactly.
  const StepResult result = trainer.train_step(batch, 1.0F, 0, 0);
  save_tensors(words[6], slot_tensors(trainer.session(), trainer.step_graph()), {},
               trainer.shards());
  fmt::print("{:.9g}\n", result.loss);
  return 0;
}
