// What goes wrong around a run: each ends as promised and nothing is lost.
#include <nlohmann/json.hpp>

#include "tests/cli/run_support.h"
#include "tests/support/memory_group.h"

namespace plimsoll {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Faults = SmallRuns;

TEST_F(Faults, AFullDiskWhileSavingLeavesTheOldCheckpointAndTheRunGoesOn) {
  SKIP_WITHOUT_PRELOAD();
  ASSERT_EQ(train("whole", "--save-every 6").code, 0);
  // The writes of the second and third checkpoint.
  const Outcome outcome =
      train("run", "--save-every 6",
            faults("FAULT_PATH=last.safetensors FAULT_CALLS=s FAULT_AT=2 FAULT_COUNT=2 FAULT_DO=" +
                   std::to_string(ENOSPC)));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("No space left on device"));
  EXPECT_THAT(outcome.output, HasSubstr("the one of step 6 stands"));
  EXPECT_THAT(outcome.output, HasSubstr("saving works again"));
  EXPECT_THAT(content(out("run") / "log.txt"), HasSubstr("No space left on device"));
  EXPECT_TRUE(last_weights(out("run")) == last_weights(out("whole")));
}

TEST_F(Faults, ADiskThatStaysFullEndsTheRunWithCode1AndTheOldCheckpoint) {
  SKIP_WITHOUT_PRELOAD();
  const Outcome outcome =
      train("run", "--save-every 6",
            faults("FAULT_PATH=last.safetensors FAULT_CALLS=s FAULT_AT=2 FAULT_COUNT=999 "
                   "FAULT_DO=" +
                   std::to_string(ENOSPC)));
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("not saved since step 6"));
  EXPECT_EQ(SafetensorsReader(out("run") / "weights/last.safetensors").metadata().at("step"), "6");
  // With room again, the same command trains the rest.
  ASSERT_EQ(train("whole").code, 0);
  ASSERT_EQ(train("run", "--save-every 6").code, 0);
  EXPECT_TRUE(last_weights(out("run")) == last_weights(out("whole")));
}

TEST_F(Faults, RecordsThatCannotBeWrittenDoNotStopTheRun) {
  for (const char* name : {"results.csv", "log.txt", "status.json", "report.json"})
    std::filesystem::create_directories(out("run") / name / "in the way");
  const Outcome outcome = train("run");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* name : {"results.csv", "log.txt", "report.json"})
    EXPECT_THAT(outcome.output, HasSubstr(std::string(name) + " could not be written"));
  ASSERT_EQ(train("whole").code, 0);
  EXPECT_TRUE(last_weights(out("run")) == last_weights(out("whole")));
}

TEST_F(Faults, ARunDirectoryThatIsRemovedComesBack) {
  Background run(words("run", "--epochs 60 --save-every 20"), folder_.path() / "output.txt");
  ASSERT_TRUE(run.waits_for(out("run") / "weights/last.safetensors"));
  std::filesystem::rename(out("run"), out("gone"));  // at once, while files are made in it
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  expect_sound_checkpoint(out("run"));
  EXPECT_EQ(SafetensorsReader(out("run") / "weights/last.safetensors").metadata().at("epoch"),
            "60");
  EXPECT_THAT(content(out("run") / "results.csv"), HasSubstr("\n1,12,"));
}

TEST_F(Faults, SignalsEndTheStepSaveAndSayHowToResume) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), {SIGTERM, 143}, {SIGHUP, 129}}) {
    const std::string name = "run" + std::to_string(signal);
    Background run(words(name, "--epochs 4000"), folder_.path() / "output.txt");
    ASSERT_TRUE(run.waits_for(out(name) / "status.json"));
    run.signal(signal);
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("resume: plimsoll train --resume " + out(name).string()));
    expect_sound_checkpoint(out(name));
    EXPECT_EQ(nlohmann::json::parse(content(out(name) / "report.json"))["stopped_by"], "interrupt");
  }
}

TEST_F(Faults, BeingStoppedForAWhileIsNoStall) {
  Background run(words("run", "--epochs 4000"), folder_.path() / "output.txt");
  ASSERT_TRUE(run.waits_for(out("run") / "status.json"));
  run.signal(SIGSTOP);
  ::sleep(12);
  run.signal(SIGCONT);
  ::sleep(3);
  run.signal(SIGINT);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.output, Not(HasSubstr("stalled")));
}

TEST_F(Faults, AStallIsReportedWithTheFileThatCausesIt) {
  SKIP_WITHOUT_PRELOAD();
  // Every picture is read once by the scan, then once in an epoch.
  Background run(words("run", "--epochs 4000"), folder_.path() / "output.txt",
                 faults("FAULT_PATH=c1/03.bmp FAULT_CALLS=r FAULT_AT=4 FAULT_DO=stall"));
  ASSERT_TRUE(run.waits_for_words("stalled: no progress for"));
  ASSERT_TRUE(run.waits_for_words("a data worker has been at"));
  run.signal(SIGKILL);
  const std::string output = run.wait().output;
  EXPECT_THAT(output, HasSubstr("c1/03.bmp for"));
  EXPECT_THAT(output, HasSubstr("thread "));
}

TEST_F(Faults, ASlowSaveIsNoStallThatEndsTheRun) {
  SKIP_WITHOUT_PRELOAD();
  // Longer than three steps and the grace of a stall.
  const Outcome outcome = train("run", "--epochs 1 --on-stall stop --save-every 2h",
                                faults("FAULT_PATH=last.safetensors FAULT_CALLS=s FAULT_AT=1 "
                                       "FAULT_DO=stall FAULT_SECONDS=9"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("stopped by the watchdog")));
  expect_sound_checkpoint(out("run"));
  EXPECT_EQ(SafetensorsReader(out("run") / "weights/last.safetensors").metadata().at("epoch"), "1");
}

TEST_F(Faults, AStallEndsARunThatWasToldToAndSaysThatNothingWasSaved) {
  SKIP_WITHOUT_PRELOAD();
  const Outcome outcome =
      train("run", "--epochs 4000 --on-stall stop",
            faults("FAULT_PATH=c1/03.bmp FAULT_CALLS=r FAULT_AT=4 FAULT_DO=stall"));
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("no checkpoint was written before"));
}

TEST_F(Faults, ALimitOfFileSizesIsAFullDisk) {
  const Outcome outcome = train("run", "--epochs 1", "ulimit -f 64 && ");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the checkpoint could not be written"));
  EXPECT_THAT(outcome.output, HasSubstr("File too large"));
  EXPECT_THAT(outcome.output, HasSubstr("ulimit -f"));
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  expect_sound_checkpoint(out("run"));
}

TEST_F(Faults, AReaderWhoLeavesCostsTheOutputNotTheRun) {
  const TemporaryFolder scratch;
  const std::string code = (scratch.path() / "code").string();
  const Outcome outcome = run_program(
      words("run", "--epochs 30") + " 2>&1; echo $? >" + code + "; } | head -1; true", "{ ");
  EXPECT_EQ(content(code), "0\n") << outcome.output;
  EXPECT_EQ(SafetensorsReader(out("run") / "weights/last.safetensors").metadata().at("epoch"),
            "30");
}

TEST_F(Faults, OutputThatCannotBeWrittenIsCode1) {
  const std::string errors = out("errors").string();
  for (const char* command : {"summary --json", "summary", "help train", "check --json"}) {
    const Outcome outcome =
        run_program(std::string(command) + " 2>" + errors + " >/dev/full; }", "{ ");
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_THAT(content(errors), HasSubstr("standard output: cannot write")) << command;
  }
  const Outcome outcome = train("run", "--epochs 1 --json >/dev/full");
  EXPECT_EQ(outcome.code, 1);
  expect_sound_checkpoint(out("run"));
}

TEST_F(Faults, ADiskThatFailsToReadNamesTheFileAndSavesFirst) {
  SKIP_WITHOUT_PRELOAD();
  const Outcome outcome =
      train("run", "--epochs 30",
            faults("FAULT_PATH=c1/03.bmp FAULT_CALLS=r FAULT_AT=5 FAULT_COUNT=999 FAULT_DO=" +
                   std::to_string(EIO)));
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("c1/03.bmp"));
  EXPECT_THAT(outcome.output, HasSubstr("Input/output error"));
  expect_sound_checkpoint(out("run"));
  EXPECT_TRUE(std::filesystem::exists(out("run") / "weights/last.safetensors"));
}

TEST_F(Faults, ALimitThatIsLoweredBelowTheNeedIsToldOfAndAKilledRunResumes) {
  const MemoryGroup group(std::int64_t{512} << 20);
  if (!group.exists()) GTEST_SKIP() << "no writable control group";
  const std::string larger = "--image 64 --batch 12 --save-every 2 --epochs 600";
  Background run("sh -c '" + group.enter() + PLIMSOLL_PROGRAM " " + words("run", larger) + "'",
                 folder_.path() / "output.txt", "env -- ", "");
  ASSERT_TRUE(run.waits_for(out("run") / "weights/last.safetensors"));
  ASSERT_TRUE(run.waits_for(out("run") / "status.json"));
  const auto status = nlohmann::json::parse(content(out("run") / "status.json"));
  group.set_limit(status["resident_bytes"].get<std::int64_t>() + (std::int64_t{3} << 20));
  const bool told = run.waits_for_words("memory: the run needs");
  run.signal(SIGKILL);
  run.wait();
  EXPECT_TRUE(told) << content(folder_.path() / "output.txt");
  expect_sound_checkpoint(out("run"));
  const std::string step =
      SafetensorsReader(out("run") / "weights/last.safetensors").metadata().at("step");
  const Outcome rest = train("run", larger + " --steps " + step + "9");
  EXPECT_THAT(rest.output, HasSubstr("resuming"));
}

}  // namespace
}  // namespace plimsoll
