// `--memory` as a user meets it: fit or be refused before step 1, inside a real control group, with
// the same weights.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/memory_group.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

Json json_of(const std::string& output) {
  return Json::parse(output.substr(std::min(output.find('{'), output.size())));
}

constexpr const char* kBudgetNetwork = "fashion-mnist --model inception_mini --batch 256 ";

Json plan_budget(const std::string& more, int code = 0) {
  const Outcome outcome = run_program("plan " + std::string(kBudgetNetwork) + "--json " + more);
  EXPECT_EQ(outcome.code, code) << outcome.output;
  return json_of(outcome.output);
}

std::string train_words(const std::filesystem::path& out) {
  return "train " + std::string(kBudgetNetwork) + "--steps 3 --quiet --out " + out.string();
}

TEST(Budget, TrainingFitsInAControlGroupOfItsBudgetAndMemoryChangesNoBit) {
  const TemporaryFolder folder;
  const Json bounds = plan_budget("--memory unlimited");
  const auto floor = bounds["floor_bytes"].get<std::int64_t>();
  std::string expected;
  const std::int64_t budgets[] = {bounds["unlimited_bytes"].get<std::int64_t>(),
                                  (floor + bounds["unlimited_bytes"].get<std::int64_t>()) / 2,
                                  floor};
  for (const std::int64_t budget : budgets) {
    const std::filesystem::path out = folder.path() / std::to_string(budget);
    const MemoryGroup group(budget);
    if (!group.exists()) std::puts("no writable control group: the high-water mark judges alone");
    const Outcome outcome =
        run_program(train_words(out) + " --memory " + std::to_string(budget), group.enter());
    ASSERT_EQ(outcome.code, 0) << budget << ": " << outcome.output;
    const Json report = Json::parse(content(out / "report.json"));
    EXPECT_EQ(report["budget_bytes"], budget);
    if (!kSanitized) {
      const auto predicted = report["predicted_bytes"].get<double>();
      const auto measured = report["measured_peak_bytes"].get<double>();
      EXPECT_LE(measured, static_cast<double>(budget));
      EXPECT_NEAR(predicted, measured, std::max(8.0 * (1 << 20), 0.01 * measured));
    }
    EXPECT_EQ(report["predicted_bytes"],
              plan_budget("--memory " + std::to_string(budget))["total_bytes"]);
    const std::string weights = content(out / "weights" / "last.safetensors");
    if (expected.empty()) expected = weights;
    EXPECT_TRUE(weights == expected) << "other weights at " << budget;
  }
}

TEST(Budget, OneByteBelowTheFloorIsRefusedWithLeversAndNothingIsStarted) {
  const TemporaryFolder folder;
  // Of these instructions, so that the same tensors are in the way on every machine.
  const std::string isa = "--isa avx2 ";
  const auto floor = plan_budget(isa + "--memory unlimited")["floor_bytes"].get<std::int64_t>();
  const std::filesystem::path out = folder.path() / "run";
  const std::string below = isa + "--memory " + std::to_string(floor - 1);
  const Outcome outcome = run_program(train_words(out) + " " + below);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_FALSE(std::filesystem::exists(out));
  for (const char* lever : {"--batch", "--stash f16", "--spill", "--accumulate", "fullest at"})
    EXPECT_NE(outcome.output.find(lever), std::string::npos) << outcome.output;
  const Json refused = plan_budget(below, 3);
  EXPECT_FALSE(refused["fits"].get<bool>());
  EXPECT_FALSE(refused["levers"].empty());
}

// The ledger's rules hold for the libraries they were calibrated with. Others may hold more.
TEST(Budget, WhatNobodyAccountedForIsSeenBeforeTheFirstStep) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer holds memory of its own";
  const ImageFolder images(2, 8);
  const TemporaryFolder folder;
  const std::string words = images.folder().path().string() +
                            " --model inception_mini --image 96 --batch 16 --threads 1 --memory ";
  const Json planned = json_of(run_program("plan --json " + words + "unlimited").output);
  const auto floor = std::to_string(planned["floor_bytes"].get<std::int64_t>());
  const auto train = [&](const std::string& memory, const std::string& before) {
    return run_program(
        "train --steps 2 --quiet --out " + (folder / memory).string() + " " + words + memory,
        before);
  };
  const std::string ballast = "env LD_PRELOAD=" PLIMSOLL_BALLAST " BALLAST_MIB=24 ";
  const Outcome refused = train(floor, ballast);
  EXPECT_EQ(refused.code, 3) << refused.output;
  for (const char* part : {"before the first step the process holds", "compiled kernels",
                           "code and libraries", "Nothing was trained"})
    EXPECT_NE(refused.output.find(part), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / floor / "weights/last.safetensors"));
  const Outcome unbound = train("unlimited", ballast);
  EXPECT_EQ(unbound.code, 0) << unbound.output;
  const Outcome unladen = train(floor, "");
  EXPECT_EQ(unladen.code, 0) << unladen.output;
}

TEST(Budget, TheLedgerAddsUpToTheTotal) {
  const Json made = plan_budget("--memory unlimited");
  std::int64_t sum = 0;
  for (const Json& line : made["ledger"]) sum += line["bytes"].get<std::int64_t>();
  EXPECT_EQ(sum, made["total_bytes"].get<std::int64_t>());
  EXPECT_EQ(made["total_bytes"], made["unlimited_bytes"]);
  for (const char* key : {"model", "batch", "image", "classes", "optimizer", "budget_bytes", "fits",
                          "arena_bytes", "kept", "recomputed", "half", "spilled",
                          "extra_flops_percent", "predicted_slowdown_percent", "peak"})
    EXPECT_TRUE(made.contains(key)) << key;
}

TEST(Budget, TheLargestBatchFitsAndOneMoreDoesNot) {
  const std::string words =
      "plan --model resnet20 --channels 1 --image 32 --memory 400MiB --json --batch ";
  const Outcome most = run_program(words + "max");
  ASSERT_EQ(most.code, 0) << most.output;
  const auto batch = json_of(most.output)["max_batch"].get<std::int64_t>();
  EXPECT_GT(batch, 1);
  EXPECT_EQ(run_program(words + std::to_string(batch)).code, 0);
  EXPECT_EQ(run_program(words + std::to_string(batch + batch / 8 + 1)).code, 3);
}

TEST(Budget, PlansAreSavedCheckedAndDrawn) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "plan.txt").string();
  const std::string words = "plan " + std::string(kBudgetNetwork) + "--memory 250MiB ";
  const std::string picture = (folder.path() / "plan.svg").string();
  ASSERT_EQ(run_program(words + "--save " + file + " --picture " + picture).code, 0);
  EXPECT_EQ(run_program(words + "--check " + file).code, 0);
  EXPECT_NE(content(picture).find("budget 250 MiB"), std::string::npos);
  const Outcome other =
      run_program("plan fashion-mnist --model resnet20 --memory 1GiB --check " + file);
  EXPECT_EQ(other.code, 1) << other.output;
  EXPECT_NE(other.output.find("expected one for graph"), std::string::npos) << other.output;
  std::string text = content(file);
  text[text.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << text;
  const Outcome damaged = run_program(words + "--check " + file);
  EXPECT_EQ(damaged.code, 1) << damaged.output;
}

TEST(Budget, NonsenseIsRefusedInThreeParts) {
  const auto refused = [&](const std::string& words, int code, const char* part) {
    const Outcome outcome = run_program("plan " + std::string(kBudgetNetwork) + words);
    EXPECT_EQ(outcome.code, code) << words << ": " << outcome.output;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << words << ": " << outcome.output;
  };
  refused("--memory 0", 2, "--memory");
  refused("--memory=-1", 2, "--memory");
  refused("--memory 12parsecs", 2, "12parsecs");
  refused("--stash f8", 2, "expected f32 or f16");
  refused("--accumulate 0", 2, "--accumulate");
  refused("--batch many", 2, "a number or max");
  refused("--spill /nowhere/at/all", 1, "--spill /nowhere/at/all");
  refused("--spill /proc", 1, "--spill /proc");
  const Outcome more = run_program("plan " + std::string(kBudgetNetwork) + "--memory 900TiB");
  EXPECT_EQ(more.code, 0);
  EXPECT_NE(more.output.find("more than the"), std::string::npos) << more.output;
}

}  // namespace
}  // namespace plimsoll
