// Weights of other programs to begin with: what an optimizer remembered comes along, and training
// goes on as it would have there.
#include "job/begin_weights.h"

#include <gtest/gtest.h>

#include "interop/keras_network.h"
#include "ops/table.h"
#include "tests/support/golden.h"

namespace plimsoll {
namespace {

// A user's Inception block, trained a little by Keras.
struct GoesOn {
  explicit GoesOn(const std::string& optimizer)
      : file(interop::open_imported(std::string(PLIMSOLL_TESTS_DIR) + "/golden/interop/goes_on_" +
                                    optimizer + ".keras")),
        network(interop::make_network(file.description, "goes_on")),
        about(tests::load_golden("keras_training")),
        steps(about[optimizer]) {}

  Trainer trainer(const std::string& optimizer, std::int64_t classes = 5,
                  std::vector<std::string> frozen = {}) const {
    Trainer made(op_table(),
                 [&](nn::Builder& net) { return network.build(net, {.classes = classes}); },
                 {.input = {.batch = about["batch"], .channels = 3, .image = 16},
                  .train_batches = {about["batch"]},
                  .optimizer = {.name = optimizer, .momentum = steps["momentum"]},
                  .tuning = {.frozen = std::move(frozen)}});
    made.open();
    return made;
  }

  std::vector<double> losses(Trainer& trainer, std::int64_t steps_before) const {
    const std::int64_t batch = about["batch"];
    std::vector<double> found;
    for (std::int64_t i = 0; i < 5; ++i) {
      tests::fill_batch_by_rule(trainer, about, Purpose::train);
      found.push_back(
          trainer.train_step(batch, steps["lr"].get<float>(), steps_before + i, i * batch).loss);
    }
    return found;
  }

  interop::ImportedFile file;
  zoo::Network network;
  nlohmann::json about, steps;
};

TEST(BeginWeights, TrainingGoesOnAsInKeras) {
  for (const std::string optimizer : {"sgd", "adam", "rmsprop"}) {
    const GoesOn golden(optimizer);
    Trainer trainer = golden.trainer(optimizer);
    const job::Begun begun =
        job::begin_with(golden.file, {.whole = true, .optimizer = optimizer}, trainer);
    EXPECT_EQ(begun.optimizer_steps, 3) << optimizer;
    ASSERT_EQ(begun.news.size(), 2U);
    EXPECT_NE(begun.news[1].find("the optimizer goes on: " + optimizer), std::string::npos);
    const std::vector<double> expected = golden.steps["losses"];
    const std::vector<double> found = golden.losses(trainer, begun.optimizer_steps);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-3 * expected[i]) << optimizer << " step " << i;

    Trainer forgetful = golden.trainer(optimizer);
    job::begin_with(golden.file, {.whole = true}, forgetful);
    EXPECT_GT(std::abs(golden.losses(forgetful, 0)[4] - expected[4]), 5e-3) << optimizer;
  }
}

TEST(BeginWeights, TheOptimizerOfFrozenLayersIsLeft) {
  const GoesOn golden("adam");
  Trainer trainer = golden.trainer("adam", 5, {"*", "!flower"});
  const job::Begun begun = job::begin_with(golden.file, {.optimizer = "adam"}, trainer);
  EXPECT_EQ(begun.optimizer_steps, 3);
  EXPECT_NE(begun.news[1].find("adam, 4 tensors"), std::string::npos) << begun.news[1];
}

TEST(BeginWeights, AnOptimizersStateThatDoesNotFitIsToldOfAndNotTaken) {
  const GoesOn golden("adam");
  Trainer other = golden.trainer("sgd");
  const job::Begun by_sgd = job::begin_with(golden.file, {.optimizer = "sgd"}, other);
  EXPECT_EQ(by_sgd.optimizer_steps, 0);
  EXPECT_NE(by_sgd.news.back().find("not taken: this run has --optimizer sgd"), std::string::npos);

  // A new head has no past.
  Trainer wider = golden.trainer("adam", 7);
  const job::Begun by_head = job::begin_with(golden.file, {.optimizer = "adam"}, wider);
  EXPECT_EQ(by_head.optimizer_steps, 0);
  EXPECT_NE(by_head.news.back().find("it has nothing for optimizer/flower"), std::string::npos);
  for (const NamedTensor& slot : slot_tensors(wider.session(), wider.step_graph()))
    EXPECT_EQ(slot.view.at<float>(0), 0) << slot.name;
}

}  // namespace
}  // namespace plimsoll
