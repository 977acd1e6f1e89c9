// Commands other than `train` with several ranks, and what ranks find in the data.
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/cli/fitted_run.h"
#include "tests/cli/ranked_runs.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

class RankedCommands : public RankedRuns {};

TEST_F(RankedCommands, ASweepOfRatesByAnyNumberOfThemFindsTheSame) {
  const auto sweep = [&](const std::string& name, const std::string& before) {
    const Outcome outcome =
        run_program("find-lr " + images_.folder().path().string() +
                        " --model inception_mini --image 20 --batch 6 --accumulate 3 --steps 20 "
                        "--threads 1 --quiet --out " +
                        out(name).string(),
                    before);
    EXPECT_THAT(outcome.output, HasSubstr("curve.svg")) << outcome.code;
    return content(out(name) / "curve.csv");
  };
  const std::string alone = sweep("alone", "");
  EXPECT_THAT(alone, HasSubstr("rate,loss,smoothed\n"));
  for (const int ranks : {2, 3})
    EXPECT_EQ(sweep("of" + std::to_string(ranks), mpirun(ranks)), alone) << ranks;
}

TEST_F(RankedCommands, AGridOfRatesByTwoOfThemFindsTheSame) {
  const auto grid = [&](const std::string& name, const std::string& before) {
    run_program("find-lr " + images_.folder().path().string() +
                    " --model inception_mini --image 20 --batch 6 --accumulate 2 --steps 20 "
                    "--grid 1e-2,1e-3 --threads 1 --quiet --out " +
                    out(name).string(),
                before);
    return content(out(name) / "grid.csv");
  };
  const std::string alone = grid("alone", "");
  EXPECT_THAT(alone, HasSubstr("rate"));
  EXPECT_EQ(grid("of2", mpirun(2)), alone);
}

TEST_F(RankedCommands, ABenchTellsWhereTheTimeOfEachGoes) {
  for (const std::string& before : {mpirun(2), launcher()}) {
    const std::string ranks = before == launcher() ? " --ranks 2" : "";
    const Outcome outcome = run_program(
        "bench --model inception_mini --batch 8 --steps 2 --threads 1 --json" + ranks, before);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const nlohmann::json found = json_in(outcome.output);
    EXPECT_EQ(found.at("parts"), 2);
    ASSERT_EQ(found.at("ranks").size(), 2U);
    for (const auto& rank : found.at("ranks")) {
      EXPECT_GT(rank.at("compute_seconds"), 0);
      EXPECT_GE(rank.at("waiting_seconds"), 0);
      EXPECT_GT(rank.at("exchange_bytes"), 0);
      EXPECT_GT(rank.at("peak_memory_bytes"), 0);
    }
    for (const char* key : {"images_per_second", "apart_images_per_second", "efficiency"})
      EXPECT_GT(found.at(key), 0) << key;
    // What it measured is what a forecast takes.
    const Outcome plan = run_program(
        "plan --model inception_mini --batch 8 --accumulate 2 --ranks 2 --threads 1 --json "
        "--link " +
        found.at("link").at("text").get<std::string>());
    ASSERT_EQ(plan.code, 0) << plan.output;
    EXPECT_EQ(json_in(plan.output).at("ranks").at("forecast").size(), 2U);
  }
}

TEST_F(RankedCommands, OneThatIsSilentForTooLongEndsAll) {
  Background run(words("run",
                       "--accumulate 2 --ranks 2 --save-every 4 --epochs 10000 "
                       "--rank-timeout 5"),
                 out("log"), launcher());
  const pid_t victim = signal_rank(1, SIGSTOP);
  ASSERT_GT(victim, 0) << content(out("log"));
  const Outcome outcome = run.wait();
  ::kill(victim, SIGKILL);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("rank 1 on .*: silent for [0-9]+ s"));
  expect_sound_checkpoint(out("run"));
}

// The last file is of the last rank's share.
TEST_F(RankedCommands, ABadPictureIsRefusedInTheWordsOfOneProcess) {
  fs::resize_file(images_.file(2, 15), 60);
  const Outcome alone = train("alone", "--accumulate 3 --bad-files stop");
  EXPECT_EQ(alone.code, 1) << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("c2/15.bmp"));
  for (const int ranks : {2, 3}) {
    const Outcome outcome = train_ranks(ranks, "run", "--accumulate 3 --bad-files stop");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output, HasSubstr(alone.output.substr(alone.output.find("plimsoll: "))));
    EXPECT_FALSE(fs::exists(out("run")));
  }
}

TEST_F(RankedCommands, BadPicturesAreLeftOutByAllAndListedOnce) {
  fs::resize_file(images_.file(0, 2), 60);
  fs::resize_file(images_.file(2, 15), 60);
  const std::string settings = "--accumulate 3 --steps 6 --bad-files skip";
  ASSERT_EQ(train("alone", settings).code, 0);
  const Outcome outcome = train_ranks(3, "of3", settings);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(content(out("of3") / "bad_files.txt"), content(out("alone") / "bad_files.txt"));
  EXPECT_TRUE(last_weights(out("of3")) == last_weights(out("alone")));
}

// Each rank in a folder of its own, where DATA is another.
TEST_F(RankedCommands, OtherDataOnOneOfThemIsRefusedAndNamed) {
  const ImageFolder other(3, 15);
  for (const auto& [name, data] : {std::pair<std::string, fs::path>{"a", images_.folder().path()},
                                   {"b", other.folder().path()}}) {
    fs::create_directories(out(name));
    fs::create_directory_symlink(data, out(name) / "data");
  }
  const std::string program =
      std::string(PLIMSOLL_PROGRAM) +
      " train data --model inception_mini --image 20 --batch 3 --accumulate 2 --epochs 1 "
      "--threads 1 --quiet --out " +
      out("run").string();
  const Outcome outcome = run_command(mpirun(1) + "--wdir " + out("a").string() + " " + program +
                                      " : -n 1 --wdir " + out("b").string() + " " + program);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("rank 1 on .*: data: 45 samples of 3 classes"));
  EXPECT_FALSE(fs::exists(out("run")));
}

// What `top` and other programs read.
TEST_F(RankedCommands, TheStatusOfARunTellsOfEachOfThem) {
  Background run(words("run", "--accumulate 2 --ranks 2 --epochs 10000 --save-every 100000"),
                 out("log"), launcher());
  const auto ranks = [&]() -> nlohmann::json {
    const std::string text = content(out("run") / "status.json");
    if (!nlohmann::json::accept(text)) return nlohmann::json::array();
    return nlohmann::json::parse(text).value("ranks", nlohmann::json::array());
  };
  ASSERT_TRUE(Background::waits_until([&] {
    const nlohmann::json all = ranks();
    return all.size() == 2 && all[1].at("step") > 0 && all[1].at("step_seconds") > 0;
  })) << content(out("log"));
  const nlohmann::json second = ranks()[1];
  EXPECT_EQ(second.at("doing"), "training");
  EXPECT_GT(second.at("resident_bytes"), 0);
  EXPECT_THAT(run_program("top " + out("run").string()).output,
              testing::AllOf(testing::ContainsRegex("(training|validating) on 2 ranks"),
                             HasSubstr("FOR OTHERS")));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait().code, 143);
}

}  // namespace
}  // namespace plimsoll
