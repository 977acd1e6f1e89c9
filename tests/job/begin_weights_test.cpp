// Weights of other programs to begin with: what an optimizer remembered comes along, and training
// goes on as it would have there.
#include "job/begin_weights.h"

#include <gtest/gtest.h>

#include <numeric>

#include "interop/keras_network.h"
#include "ops/table.h"
#include "tensor/convert.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"
#include "tests/support/zoo_trainer.h"

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

// A classifier's weights are those of a detector's body; the rest begins as it is, and that is
// told.
TEST(BeginWeights, AClassifierBeginsADetector) {
  SHARED_DATA_OR_SKIP(path, "pretrained/efficientnet-lite0-57934424.pth");
  const zoo::Network& network = zoo::find_network("retinanet_lite0");
  Trainer trainer(op_table(), [&](nn::Builder& net) { return network.build(net, {.classes = 3}); },
                  {.input = {.batch = 1, .channels = 3, .image = 64},
                   .train_batches = {1},
                   .task = task_of(network, 3),
                   .optimizer = {}});
  trainer.open();
  const auto sum_of = [&](const std::string& name) {
    for (const NamedTensor& tensor : weight_tensors(trainer.session(), trainer.step_graph()))
      if (tensor.name == name) {
        std::vector<float> values(static_cast<std::size_t>(tensor.view.spec.shape.elements()));
        read_elements(tensor.view, 0, values);
        return std::accumulate(values.begin(), values.end(), 0.0);
      }
    return 0.0;
  };
  const std::string body = "block7a_project_conv/kernel",
                    head = "backbone.fpn.inner_blocks.2.0/kernel";
  const double body_before = sum_of(body), head_before = sum_of(head);
  const job::Begun begun = job::begin_with(path.string(), {}, trainer);
  EXPECT_NE(sum_of(body), body_before);
  EXPECT_EQ(sum_of(head), head_before);
  ASSERT_EQ(begun.news.size(), 2U);
  EXPECT_NE(begun.news[0].find("240 tensors"), std::string::npos) << begun.news[0];
  EXPECT_NE(begun.news[1].find("begins with random weights"), std::string::npos);
  EXPECT_NE(begun.news[1].find(head), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
