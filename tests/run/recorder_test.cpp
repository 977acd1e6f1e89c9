#include "run/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "task/classification.h"
#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

const TaskPtr kTask = make_classification({});

ResultsRow row(std::int64_t epoch) {
  return {.epoch = epoch,
          .step = 10 * epoch,
          .time = 1.5 * static_cast<double>(epoch),
          .loss = 0.25,
          .metrics = {0.5},
          .validation = epoch % 2 == 0 ? std::optional(Evaluation{.loss = 0.125}) : std::nullopt,
          .lr = 0.1,
          .images_per_second = 12.5,
          .data_wait_percent = 0.5,
          .memory = Bytes{1000}};
}

TEST(Results, RowsComeBackFromTheirText) {
  const std::vector<ResultsRow> rows{row(1), row(2)};
  const auto parsed = parse_results(*kTask, results_csv(*kTask, rows), "here");
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(results_csv(*kTask, parsed), results_csv(*kTask, rows));
}

TEST(Results, ALineThatIsNoneOfOursIsNamed) {
  EXPECT_COMPLAINT(parse_results(*kTask, results_csv(*kTask, {row(1)}) + "1,2,x\n", "here"),
                   DataError, "here:3");
}

class Recording : public testing::Test {
 protected:
  Recording() { options.out = folder.path(); }

  const TemporaryFolder folder;
  RunOptions options;
  std::string said;
  const Recorder::Tell tell = [this](const std::string& text) { said += text + "\n"; };
};

TEST_F(Recording, AResumedRunKeepsTheRowsOfEpochsThatAreComplete) {
  {
    Recorder recorder(options, *kTask, {}, tell);
    for (int epoch = 1; epoch <= 5; ++epoch) recorder.add(row(epoch));
  }
  RunState state;
  state.step = 33;
  state.epoch = 3;
  const Recorder recorder(options, *kTask, state, tell);
  EXPECT_EQ(recorder.rows().size(), 3U);
  EXPECT_GE(recorder.seconds(), 4.5);
  EXPECT_EQ(said, "");
}

TEST_F(Recording, WhatCannotBeWrittenIsToldOfOnce) {
  options.out = folder.path() / "gone";
  Recorder recorder(options, *kTask, {}, tell);
  recorder.write_status("training");
  recorder.write_status("training");
  const std::string text = said;
  EXPECT_NE(text.find("status.json could not be written"), std::string::npos) << text;
  EXPECT_EQ(text.find("status.json could not", text.find("status.json could not") + 1),
            std::string::npos);
}

// ThreadSanitizer watches this one.
TEST_F(Recording, TheRunAndItsMonitorMayWriteAtTheSameTime) {
  Recorder recorder(options, *kTask, {}, tell);
  std::atomic<bool> ends = false;
  std::thread monitor([&] {
    while (!ends) {
      recorder.write_status("training");
      EXPECT_GE(recorder.seconds(), 0);
    }
  });
  Progress progress;
  RunState state;
  for (int epoch = 1; epoch <= 20; ++epoch) {
    progress.batches = epoch;
    recorder.note(progress, state);
    recorder.add(row(epoch));
    if (epoch % 5 == 0) recorder.go_back(epoch - 3);
  }
  RunReport report;
  report.stopped_by = StopReason::epochs;
  recorder.write_report(report);
  recorder.write_status("training");  // as if the monitor were late
  ends = true;
  monitor.join();
  const auto status =
      nlohmann::json::parse(read_file(folder.path() / "status.json", Bytes{1 << 20}));
  EXPECT_EQ(status["state"], "done");
  EXPECT_EQ(status["stopped_by"], "epochs");
  EXPECT_EQ(said, "");
}

TEST_F(Recording, ARunThatPausesIsNotDone) {
  Recorder recorder(options, *kTask, {}, tell);
  RunReport report;
  report.stopped_by = StopReason::pause;
  recorder.write_report(report);
  const auto status =
      nlohmann::json::parse(read_file(folder.path() / "status.json", Bytes{1 << 20}));
  EXPECT_EQ(status["state"], "planning");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "report.json"));
}

}  // namespace
}  // namespace plimsoll
