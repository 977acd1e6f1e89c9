// A batch in parts whose BatchNorms share their statistics (`--bn sync`) against the
// whole batch of Keras and PyTorch.
#include "tests/support/mini_networks.h"
#include "tests/support/parity.h"

namespace plimsoll {
namespace {

class SyncedParity : public testing::TestWithParam<const char*> {
 protected:
  static TrainerOptions in_parts() {
    TrainerOptions options;
    options.accumulate = 2;
    options.sync_statistics = true;
    return options;
  }
  StepResult train(Trainer& trainer, float lr, std::int64_t step) const {
    const std::int64_t batch = golden_["batch"];
    return trainer.train_batch(batch, lr, step, step * batch,
                               [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                                 tests::fill_part_by_rule(inputs, golden_, first);
                               });
  }
  const nlohmann::json golden_ = tests::load_golden(GetParam());
};

TEST_P(SyncedParity, EveryGradientIsTheWholeBatchs) {
  Trainer trainer = tests::golden_trainer(golden_, {}, in_parts());
  trainer.open();
  tests::fill_by_rule(trainer, golden_);
  train(trainer, 1.0F, 0);
  expect_gradients(golden_, gradients_from_slots(trainer), gradient_tolerance(golden_));
}

TEST_P(SyncedParity, TenStepsOfEachOptimizerAreTheWholeBatchs) {
  expect_ten_steps(golden_, in_parts(), [&](Trainer& trainer, float lr, std::int64_t step) {
    return train(trainer, lr, step).loss;
  });
}

INSTANTIATE_TEST_SUITE_P(Small, SyncedParity, mini_networks(), network_name);
INSTANTIATE_TEST_SUITE_P(Large, SyncedParity, testing::Values("xception", "resnet50_torch"),
                         network_name);

}  // namespace
}  // namespace plimsoll
