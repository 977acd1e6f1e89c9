#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/error.h>
#include <plimsoll/plan.h>
#include <plimsoll/run.h>
#include <plimsoll/weights.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/complaints.h"
#include "tests/support/image_folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::HasSubstr;

// 24 pictures of 2 classes, 3 epochs of 4 steps.
class PublicFace : public testing::Test {
 protected:
  PublicFace() { v1::use_threads(1); }
  v1::Settings settings(const std::string& out) const {
    return {.network = {.name = "inception_mini", .image = "20"},
            .data = {.path = images_.folder().path().string(), .validation_share = 0.25},
            .memory = kSanitized ? "unlimited" : "400MiB",
            .batch = "4",
            .epochs = 3,
            .learning_rate = 1e-3,
            .out = path(out),
            .options = {{"optimizer", "adam"}}};
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string last(const std::string& name) const {
    return path(name) + "/weights/last.safetensors";
  }
  // All that happens, to the end.
  static std::vector<v1::Event> rest(v1::Run& run) {
    std::vector<v1::Event> events;
    while (const std::optional<v1::Event> event = run.next()) events.push_back(*event);
    return events;
  }

  const ImageFolder images_{2, 12};
  const TemporaryFolder folder_;
};

TEST_F(PublicFace, ARunTellsWhatHappensInOrder) {
  v1::Run run(settings("a"));
  const std::vector<v1::Event> events = rest(run);
  int steps = 0, validated = 0, epochs = 0, saved = 0;
  for (const v1::Event& event : events) {
    if (const auto* step = std::get_if<v1::StepDone>(&event)) {
      EXPECT_EQ(step->progress.step, ++steps);
    }
    validated += std::holds_alternative<v1::BatchValidated>(event) ? 1 : 0;
    epochs += std::holds_alternative<v1::EpochDone>(event) ? 1 : 0;
    saved += std::holds_alternative<v1::CheckpointWritten>(event) ? 1 : 0;
  }
  EXPECT_EQ(steps, 15);  // 18 pictures in batches of 4
  EXPECT_EQ(validated, 6);
  EXPECT_EQ(epochs, 3);
  EXPECT_GT(saved, 0);
  ASSERT_TRUE(std::holds_alternative<v1::Finished>(events.back()));
  const auto& end = std::get<v1::Finished>(events.back());
  EXPECT_EQ(end.stopped_by, "epochs");
  EXPECT_EQ(end.predicted_bytes, run.predicted_bytes());
  EXPECT_FALSE(run.next().has_value()) << "nothing behind the end";
}

TEST_F(PublicFace, ARunThatWasStoppedIsResumedByItsDirectoryToTheSameBytes) {
  v1::Run whole(settings("whole"));
  rest(whole);
  {
    v1::Run run(settings("parts"));
    while (const std::optional<v1::Event> event = run.next())
      if (const auto* step = std::get_if<v1::StepDone>(&*event))
        if (step->progress.step == 7) run.stop();
  }
  v1::Run resumed = v1::Run::resume(path("parts"));
  EXPECT_EQ(resumed.resumed_step(), 7);
  EXPECT_FALSE(resumed.is_complete());
  rest(resumed);
  EXPECT_TRUE(content(last("parts")) == content(last("whole")));
}

TEST_F(PublicFace, ARunThatIsCompleteSaysSo) {
  {
    v1::Run run(settings("more"));
    rest(run);
  }
  v1::Run same = v1::Run::resume(path("more"));
  EXPECT_TRUE(same.is_complete());
  EXPECT_FALSE(same.next().has_value());
}

TEST_F(PublicFace, AResumeTakesChangesByTheirOptions) {
  {
    v1::Run run(settings("changed"));
    rest(run);
  }
  v1::Run longer = v1::Run::resume(path("changed"), {{"epochs", "4"}});
  EXPECT_EQ(longer.resumed_step(), 15);
  const std::vector<v1::Event> events = rest(longer);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(std::get<v1::Finished>(events.back()).epochs, 4);
  EXPECT_THROW(v1::Run::resume(path("changed"), {{"epochz", "4"}}), UsageError);
  EXPECT_THROW(v1::Run::resume(path("changed"), {{"epochs", "-4"}}), UsageError);
  EXPECT_THROW(v1::Run::resume(path("nowhere")), UsageError);
}

// Longer than three steps and the grace of a stall.
constexpr std::chrono::seconds kLonger{8};

TEST_F(PublicFace, ARunThatNobodyAsksIsNotStalled) {
  const Watchdog watchdog;
  std::atomic<bool> told = false;
  v1::Run run(settings("idle"), {.on_stall = [&](const std::string&, bool) { told = true; }});
  for (int i = 0; i < 8; ++i) run.next();
  std::this_thread::sleep_for(kLonger);
  EXPECT_FALSE(told);
  rest(run);
  EXPECT_FALSE(told);
}

TEST_F(PublicFace, APlanIsTheOneThatTheProgramMakes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the program's";
  const v1::Plan plan = v1::make_plan(settings(""));
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.batch, 4);
  std::int64_t sum = 0;
  for (const v1::LedgerLine& line : plan.ledger) sum += line.bytes;
  EXPECT_EQ(sum, plan.total_bytes);
  const Outcome program = run_program(
      "plan " + images_.folder().path().string() +
      " --model inception_mini --image 20 --val-split 0.25 --memory 400MiB --batch 4 --optimizer "
      "adam --threads 1 --json");
  EXPECT_THAT(program.output, HasSubstr("\"total_bytes\": " + std::to_string(plan.total_bytes)));
  EXPECT_THAT(program.output, HasSubstr("\"floor_bytes\": " + std::to_string(plan.floor_bytes)));
}

TEST_F(PublicFace, APlanThatDoesNotFitNamesWhatWouldHelp) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the program's";
  v1::Settings large = settings("");
  large.batch = "512";
  large.memory = std::to_string(v1::make_plan(large).floor_bytes - 1);
  const v1::Plan plan = v1::make_plan(large);
  EXPECT_FALSE(plan.fits);
  EXPECT_THAT(plan.levers, Contains(testing::Field(&v1::Lever::option, HasSubstr("--batch"))));
  EXPECT_THROW(v1::Run{large}, BudgetError);
}

TEST_F(PublicFace, WeightsAreReadByName) {
  v1::Run run(settings("weights"));
  rest(run);
  const v1::Weights weights(path("weights") + "/weights/best.safetensors");
  EXPECT_EQ(weights.metadata().at("run.model"), "inception_mini");
  const std::vector<v1::WeightInfo> list = weights.list();
  ASSERT_FALSE(list.empty());
  std::int64_t elements = 1;
  for (const std::int64_t dim : list[0].shape) elements *= dim;
  EXPECT_EQ(std::ssize(weights.read(list[0].name)), elements);
  EXPECT_COMPLAINT(weights.read(list[0].name + "x"), UsageError, list[0].name);
  EXPECT_THROW(v1::Weights(path("weights") + "/args.toml"), DataError);
}

}  // namespace
}  // namespace plimsoll
