// What a run may be resumed with, and what is refused with the difference named.
#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using Resume = SmallRuns;

TEST_F(Resume, MoreEpochsGoOnWhereTheRunEnded) {
  ASSERT_EQ(train("long", "--epochs 4").code, 0);
  ASSERT_EQ(train("short", "--epochs 2").code, 0);
  const Outcome again = train("short", "--epochs 4");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("resuming"));
  EXPECT_TRUE(last_weights(out("short")) == last_weights(out("long")));
  EXPECT_EQ(lasting_results(out("short")), lasting_results(out("long")));
}

TEST_F(Resume, ByNameAloneTakesTheRunsOptions) {
  ASSERT_EQ(train("whole").code, 0);
  ASSERT_EQ(train("run", "--epochs 2 --label-smoothing 0").code, 0);
  const Outcome again =
      run_program("train --resume " + out("run").string() + " --epochs 5 --quiet");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_TRUE(last_weights(out("run")) == last_weights(out("whole")));
}

TEST_F(Resume, ACompleteRunIsLeftAlone) {
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  const std::string before = last_weights(out("run"));
  const Outcome again = train("run", "--epochs 1");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.output, HasSubstr("is complete: 1 epochs"));
  EXPECT_TRUE(last_weights(out("run")) == before);
}

TEST_F(Resume, AnotherModelOptimizerOrDataIsRefusedWithTheDifference) {
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  const std::string before = last_weights(out("run"));
  const auto refused = [&](const std::string& more) {
    const Outcome outcome = train("run", "--epochs 2 " + more);
    EXPECT_EQ(outcome.code, 1) << more;
    EXPECT_TRUE(last_weights(out("run")) == before) << more;
    return outcome.output;
  };
  EXPECT_THAT(refused("--model xception_mini"),
              HasSubstr("the run there has inception_mini, this one xception_mini"));
  EXPECT_THAT(refused("--optimizer sgd"), HasSubstr("the run there has adam, this one sgd"));
  EXPECT_THAT(refused("--seed 3"), HasSubstr("seed"));
  const ImageFolder others(4, 16);
  EXPECT_THAT(refused("--data " + others.folder().path().string()), HasSubstr("classes"));
}

TEST_F(Resume, WhatMayChangeIsSaid) {
  if (kThreadSanitized) GTEST_SKIP() << "it does not see libgomp's barriers; see threads.h";
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  const Outcome again = train("run", "--epochs 2 --lr 5e-4 --threads 2");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.output, HasSubstr("lr 0.001 -> 0.0005"));
  EXPECT_THAT(again.output, HasSubstr("threads 1 -> 2"));
}

TEST_F(Resume, ADamagedTruncatedForeignOrOlderCheckpointIsRefusedAndKept) {
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  const std::filesystem::path path = out("run") / "weights" / "last.safetensors";
  const std::string good = content(path);
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const Outcome outcome = train("run", "--epochs 2");
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    EXPECT_TRUE(content(path) == bytes) << "nothing is overwritten";
    return outcome.output;
  };
  std::string damaged = good;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_THAT(refused(damaged), HasSubstr("checksum"));
  EXPECT_THAT(refused(good.substr(0, good.size() / 3)), HasSubstr("last.safetensors"));
  EXPECT_THAT(refused("not a checkpoint at all"), HasSubstr("last.safetensors"));
  std::string foreign = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  foreign = std::string{static_cast<char>(foreign.size()), 0, 0, 0, 0, 0, 0, 0} + foreign +
            std::string(4, '\0');
  EXPECT_THAT(refused(foreign), HasSubstr("another program"));
  std::string header = R"({"__metadata__":{"format":"plimsoll 0"}})";
  EXPECT_THAT(refused(std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header),
              HasSubstr("format 'plimsoll 0'"));
  std::ofstream(path, std::ios::binary) << good;
  EXPECT_EQ(train("run", "--epochs 2").code, 0);
}

TEST_F(Resume, TheSameCommandWithoutOutFindsItsUnfinishedRun) {
  const TemporaryFolder here;
  const std::string command = "train " + images_.folder().path().string() +
                              " --model inception_mini --image 20 --batch 3 --epochs 50 --quiet "
                              "--save-every 1 --threads 1";
  const std::string before = "cd " + here.path().string() + " && ";
  ASSERT_NE(run_program(command, before + "timeout -s KILL 1.5 ").code, 0);
  ASSERT_TRUE(std::filesystem::exists(here / "runs/inception_mini/weights/last.safetensors"));
  const Outcome again = run_program(command, before + "timeout -s INT 1.5 ");
  EXPECT_THAT(again.output, HasSubstr("resuming runs/inception_mini at step"));
  EXPECT_FALSE(std::filesystem::exists(here / "runs/inception_mini2"));
  ASSERT_NE(run_program(command + " --fresh", before + "timeout -s KILL 1 ").code, 0);
  EXPECT_TRUE(std::filesystem::exists(here / "runs/inception_mini2"));
}

TEST_F(Resume, ARunDirectoryHasOneRunAtATime) {
  Background first(words("run", "--epochs 4000"), folder_.path() / "first.txt");
  ASSERT_TRUE(first.waits_for(out("run") / "status.json"));
  const Outcome second = train("run", "--epochs 4000");
  EXPECT_EQ(second.code, 1) << second.output;
  EXPECT_THAT(second.output,
              HasSubstr("process " + std::to_string(first.pid()) + " is training there"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().code, 143);
}

}  // namespace
}  // namespace plimsoll
