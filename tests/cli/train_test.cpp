// `plimsoll train` end to end: what it leaves behind, that it repeats itself, how it ends.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/safetensors.h"
#include "tests/cli/program.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

Outcome train(const std::filesystem::path& out, const std::string& more,
              const std::string& before = "") {
  return run_program("train fashion-mnist --batch 512 --out " + out.string() + " " + more, before);
}

TEST(Train, LeavesItsRecordsAndACheckpoint) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "run";
  const Outcome outcome = train(out, "--steps 2 --optimizer adam --lr 1e-3 --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto report = nlohmann::json::parse(content(out / "report.json"));
  for (const char* key :
       {"model", "steps", "epochs", "images", "seconds", "images_per_second", "budget_bytes",
        "predicted_bytes", "measured_peak_bytes", "data_wait_percent", "loss", "accuracy",
        "val_loss", "val_accuracy", "stopped_by"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report["steps"], 2);
  EXPECT_EQ(report["stopped_by"], "steps");
  EXPECT_NE(content(out / "results.csv").find("epoch,step,time,loss,accuracy,val_loss"),
            std::string::npos);
  EXPECT_NE(content(out / "args.toml").find("optimizer = \"adam\""), std::string::npos);

  const SafetensorsReader reader(out / "weights" / "last.safetensors");
  EXPECT_EQ(reader.metadata().at("step"), "2");
  EXPECT_EQ(reader.tensors().front().name, "conv1/kernel");
  EXPECT_NE(reader.find("a_3x3_reduce/kernel"), nullptr)
      << "merged weights are saved under their own names";
  EXPECT_NE(reader.find("optimizer/a_3x3_reduce/kernel/velocity"), nullptr);
  std::vector<std::byte> buffer(65536);
  EXPECT_NO_THROW(reader.verify(buffer));
}

TEST(Train, RepeatsItselfToTheByte) {
  if (kThreadSanitized) GTEST_SKIP() << "minutes of arithmetic; the other runs start all threads";
  const TemporaryFolder folder;
  ASSERT_EQ(train(folder.path() / "a", "--steps 3 --quiet").code, 0);
  ASSERT_EQ(train(folder.path() / "b", "--steps 3 --quiet").code, 0);
  ASSERT_EQ(train(folder.path() / "c", "--steps 3 --quiet --seed 1").code, 0);
  const auto weights = [&](const char* run) {
    return content(folder.path() / run / "weights" / "last.safetensors");
  };
  EXPECT_TRUE(weights("a") == weights("b"));
  EXPECT_FALSE(weights("a") == weights("c"));
}

TEST(Train, ALossThatIsNotFiniteEndsTheRunWithCode4AndGoodWeights) {
  const TemporaryFolder folder;
  const Outcome outcome =
      train(folder.path() / "run", "--steps 50 --lr 1e8 --model resnet20 --quiet");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("not finite"), std::string::npos) << outcome.output;
  const SafetensorsReader reader(folder.path() / "run" / "weights" / "last.safetensors");
  std::vector<std::byte> buffer(65536);
  EXPECT_NO_THROW(reader.verify(buffer));
}

TEST(Train, AnInterruptFinishesTheStepAndSaves) {
  const TemporaryFolder folder;
  const Outcome outcome =
      train(folder.path() / "run", "--epochs 100", "timeout --foreground -s INT 5 ");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "run" / "weights" / "last.safetensors"))
      << outcome.output;
  const auto report = nlohmann::json::parse(content(folder.path() / "run" / "report.json"));
  EXPECT_EQ(report["stopped_by"], "interrupt");
}

}  // namespace
}  // namespace plimsoll
