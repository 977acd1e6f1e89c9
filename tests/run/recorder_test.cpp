#include "run/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

class Silent final : public RunObserver {
 public:
  void on_progress(const Progress&) override {}
  void on_epoch_end(const Progress&, const std::optional<Progress>&) override {}
  void on_message(const std::string& text) override { said += text + "\n"; }
  std::string said;
};

ResultsRow row(std::int64_t epoch) {
  return {.epoch = epoch,
          .step = 10 * epoch,
          .time = 1.5 * static_cast<double>(epoch),
          .loss = 0.25,
          .accuracy = 0.5,
          .val_loss = epoch % 2 == 0 ? std::optional(0.125) : std::nullopt,
          .val_accuracy = {},
          .lr = 0.1,
          .images_per_second = 12.5,
          .data_wait_percent = 0.5,
          .memory = Bytes{1000}};
}

TEST(Results, RowsComeBackFromTheirText) {
  const std::vector<ResultsRow> rows{row(1), row(2)};
  const auto parsed = parse_results(results_csv(rows), "here");
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(results_csv(parsed), results_csv(rows));
}

TEST(Results, ALineThatIsNoneOfOursIsNamed) {
  EXPECT_COMPLAINT(parse_results(results_csv({row(1)}) + "1,2,x\n", "here"), DataError, "here:3");
}

TEST(Recorder, AResumedRunKeepsTheRowsOfEpochsThatAreComplete) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder.path();
  Silent observer;
  {
    Recorder recorder(options, {}, observer);
    for (int epoch = 1; epoch <= 5; ++epoch) recorder.add(row(epoch));
  }
  RunState state;
  state.step = 33;
  state.epoch = 3;
  const Recorder recorder(options, state, observer);
  EXPECT_EQ(recorder.rows().size(), 3U);
  EXPECT_GE(recorder.seconds(), 4.5);
  EXPECT_EQ(observer.said, "");
}

TEST(Recorder, WhatCannotBeWrittenIsToldOfOnce) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder.path() / "gone";
  Silent observer;
  Recorder recorder(options, {}, observer);
  recorder.write_status("training");
  recorder.write_status("training");
  const std::string text = observer.said;
  EXPECT_NE(text.find("status.json could not be written"), std::string::npos) << text;
  EXPECT_EQ(text.find("status.json could not", text.find("status.json could not") + 1),
            std::string::npos);
}

// ThreadSanitizer watches this one.
TEST(Recorder, TheRunAndItsMonitorMayWriteAtTheSameTime) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder.path();
  Silent observer;
  Recorder recorder(options, {}, observer);
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
  report.stopped_by = "epochs";
  recorder.write_report(report);
  recorder.write_status("training");  // as if the monitor were late
  ends = true;
  monitor.join();
  const auto status =
      nlohmann::json::parse(read_file(folder.path() / "status.json", Bytes{1 << 20}));
  EXPECT_EQ(status["state"], "done");
  EXPECT_EQ(status["stopped_by"], "epochs");
  EXPECT_EQ(observer.said, "");
}

TEST(Recorder, ARunThatPausesIsNotDone) {
  const TemporaryFolder folder;
  RunOptions options;
  options.out = folder.path();
  Silent observer;
  Recorder recorder(options, {}, observer);
  RunReport report;
  report.stopped_by = kPause;
  recorder.write_report(report);
  const auto status =
      nlohmann::json::parse(read_file(folder.path() / "status.json", Bytes{1 << 20}));
  EXPECT_EQ(status["state"], "planning");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "report.json"));
}

}  // namespace
}  // namespace plimsoll
