#include "run/run.h"

#include <gtest/gtest.h>

#include "ops/table.h"
#include "step/evaluation.h"
#include "tests/run/run_sizes.h"
#include "tests/support/complaints.h"
#include "tests/support/image_folder.h"
#include "tests/support/small_pipeline.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

// A run of a small network over ten pictures of two classes, which are validated on, too.
class SmallRun {
 public:
  explicit SmallRun(RunOptions options, RunState from = {}) : options_(std::move(options)) {
    options_.out = folder_.path();
    options_.batch = kRunBatch;
    trainer_.open();
    run_.emplace(trainer_,
                 RunData{.train = train_,
                         .validation = &validation_,
                         .train_samples = kRunImages,
                         .validation_samples = kRunImages,
                         .normalisation = {}},
                 options_, from);
  }
  Run& run() { return *run_; }
  Trainer& trainer() { return trainer_; }
  const TemporaryFolder& folder() const { return folder_; }
  void forget() { run_.reset(); }

  // A letter for every event up to the end: s(tep), v(alidated), e(poch), c(heckpoint), m(essage),
  // f(inished).
  std::string story() {
    std::string letters;
    while (const std::optional<RunEvent> event = run_->next()) letters += letter(*event);
    return letters;
  }
  static char letter(const RunEvent& event) { return "svecmf"[event.index()]; }

 private:
  static PipelineSettings settings(bool training) {
    return {.batch = kRunBatch,
            .image = {.height = 28, .width = 28},
            .channels = 1,
            .shuffle = training,
            .repeat = training,
            .depth = 2,
            .workers = 1};
  }

  const ImageFolder images_{2, kRunImages / 2};
  const TemporaryFolder folder_;
  const SourcePtr source_ = images_.open();
  RunOptions options_;
  Trainer trainer_{op_table(),
                   [](nn::Builder& net) {
                     return zoo::find_network("inception_mini").build(net, {.classes = 2});
                   },
                   {.input = {.batch = kRunBatch, .channels = 1, .image = 28},
                    .train_batches = {kRunBatch, kRunImages % kRunBatch},
                    .evaluate_batches = {kRunBatch, kRunImages % kRunBatch},
                    .task = make_classification({.classes = 2, .class_names = {"c0", "c1"}}),
                    .tuning = {.average = 0.5}}};
  Pipeline train_{source_, settings(true), kLargest};
  Pipeline validation_{source_, settings(false), kLargest};
  std::optional<Run> run_;
};

TEST(Run, TellsWhatHappensInTheOrderItHappens) {
  SmallRun small({.epochs = 2});
  // The checkpoint at the end, and the words about it.
  EXPECT_EQ(small.story(), "sssvvvesssvvvecmf");
  EXPECT_FALSE(small.run().next().has_value());
}

TEST(Run, ACheckpointOnItsWayIsAnEvent) {
  RunOptions options{.epochs = 1};
  options.save.every_steps = 2;
  SmallRun small(options);
  EXPECT_EQ(small.story(), "sscsvvvecmf");
}

TEST(Run, AskedToStopItSavesAndFinishesInsteadOfTheNextStep) {
  SmallRun small({.epochs = 5});
  ASSERT_TRUE(small.run().next().has_value());
  small.run().stop();
  EXPECT_EQ(small.story(), "cmf");
  EXPECT_EQ(Checkpoint(small.folder() / "weights/last.safetensors").state.step, 1);
}

TEST(Run, StoppedWhileItValidatesItValidatesAgainWhenItGoesOn) {
  SmallRun small({.epochs = 1});
  char last = 's';
  while (last != 'v') last = SmallRun::letter(small.run().next().value());
  small.run().stop();
  EXPECT_EQ(small.story(), "cmf");
  const Checkpoint checkpoint(small.folder() / "weights/last.safetensors");
  EXPECT_EQ(checkpoint.state.position, kRunImages);
  EXPECT_EQ(checkpoint.state.epoch, 0);
  SmallRun resumed({.epochs = 1}, checkpoint.state);
  EXPECT_EQ(resumed.story(), "vvvecmf");
}

TEST(Run, ThrownAwayInTheMiddleOfValidationLeavesTheWeightsAsTheyWere) {
  SmallRun small({.epochs = 1});
  const auto weight = [&] {
    const auto tensors = weight_tensors(small.trainer().session(), small.trainer().step_graph());
    return tensors.at(0).view.at<float>(0);
  };
  char last = 's';
  float trained = 0;
  while (last != 'v') {
    trained = weight();
    last = SmallRun::letter(small.run().next().value());
  }
  EXPECT_NE(weight(), trained);  // the averages are in their place
  small.forget();
  EXPECT_EQ(weight(), trained);
}

TEST(Run, OfOneStageEndsInAPauseAndIsNotDone) {
  SmallRun small({.epochs = 3, .pause_after = 1});
  RunReport report;
  while (const std::optional<RunEvent> event = small.run().next())
    if (const auto* end = std::get_if<Finished>(&*event)) report = end->report;
  EXPECT_EQ(report.stopped_by, StopReason::pause);
  EXPECT_EQ(report.epochs, 1);
}

}  // namespace
}  // namespace plimsoll
