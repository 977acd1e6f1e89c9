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

// Whatever is a file's name, and whatever a number may be written as.
TEST_F(Resume, WhateverWasTypedIsFoundAgain) {
  const std::vector<std::string> names{
      "007", "1e3", "true", "[x]", "two\nlines", "tab\t\x01", "'\"\\", "caf\xe9.d", "na\xc3\xafve"};
  int number = 0;
  for (const std::string& name : names) {
    const TemporaryFolder here;
    const std::string run = "run" + std::to_string(number++);
    std::filesystem::copy(images_.folder().path(), here.path() / name,
                          std::filesystem::copy_options::recursive);
    // Through a variable of the shell, which takes any byte as it is.
    ASSERT_EQ(::setenv("ODD_NAME", name.c_str(), 1), 0);
    const Outcome first = run_program(
        "train --data \"$ODD_NAME\" --model inception_mini --image 20 --batch 3 --epochs 1 --lr "
        ".05 "
        "--clip-norm 5. --seed 007 --threads 1 --quiet --out " +
            out(run).string(),
        "cd " + here.path().string() + " && ");
    ASSERT_EQ(first.code, 0) << number << first.output;
    // From another directory.
    const Outcome again =
        run_program("train --resume " + out(run).string() + " --epochs 2 --quiet");
    EXPECT_EQ(again.code, 0) << number << again.output;
    EXPECT_THAT(again.output, HasSubstr("resuming"));
    EXPECT_THAT(again.output, testing::Not(HasSubstr("changed since")));
  }
}

TEST_F(Resume, APictureThatWasReplacedIsNoticedAndACopyOfTheDataIsNot) {
  const TemporaryFolder here;
  const auto train_on = [&](const std::string& data, int epochs) {
    return train("run",
                 "--data " + (here.path() / data).string() + " --epochs " + std::to_string(epochs));
  };
  for (const char* copy : {"data", "copy"})
    std::filesystem::copy(images_.folder().path(), here.path() / copy,
                          std::filesystem::copy_options::recursive);
  ASSERT_EQ(train_on("data", 1).code, 0);
  EXPECT_EQ(train_on("copy", 2).code, 0);
  const std::filesystem::path picture = here.path() / "data" / ImageFolder::name(1, 3);
  std::string bytes = content(picture);
  bytes.back() ^= 1;  // of the same size
  std::ofstream(picture, std::ios::binary) << bytes;
  const Outcome refused = train_on("data", 3);
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("pictures: the run there has content"));
}

// The pause between the parts of a run with --unfreeze-after is not its end.
TEST_F(Resume, ARunKilledBeforeItsThawIsFoundAgain) {
  SKIP_WITHOUT_PRELOAD();
  const TemporaryFolder here;
  const std::string command = "train " + images_.folder().path().string() +
                              " --model inception_mini --image 20 --batch 3 --epochs 2 --quiet "
                              "--freeze 'a_*' --unfreeze-after 1 --threads 1 --save-every 1";
  const std::string before = "cd " + here.path().string() + " && ";
  // The second part begins with a status of its own; the run dies before that, whatever else the
  // log had to tell.
  const Outcome killed = run_program(
      command, before + faults("FAULT_PATH=log.txt FAULT_CALLS=w FAULT_TEXT='from here on' "
                               "FAULT_AT=1 FAULT_DO=kill"));
  ASSERT_NE(killed.code, 0) << killed.output;
  const Outcome again = run_program(command, before);
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("resuming runs/inception_mini at step"));
  EXPECT_FALSE(std::filesystem::exists(here / "runs/inception_mini2"));
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
