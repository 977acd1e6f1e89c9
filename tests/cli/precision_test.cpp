// `--precision bf16` as a user meets it: half the memory, the same promises.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_support.h"
#include "tests/support/memory_group.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

constexpr const char* kPrecisionNetwork = "fashion-mnist --model inception_mini --batch 128 ";

Json plan_precision(const std::string& more, int code = 0) {
  const Outcome outcome = run_program("plan " + std::string(kPrecisionNetwork) + "--json " + more);
  EXPECT_EQ(outcome.code, code) << outcome.output;
  return Json::parse(
      outcome.output.substr(std::min(outcome.output.find('{'), outcome.output.size())));
}

std::string train_words(const std::filesystem::path& out, const std::string& more) {
  return "train " + std::string(kPrecisionNetwork) + "--quiet --out " + out.string() + " " + more;
}

std::int64_t bytes_of(const Json& json, const char* key) { return json[key].get<std::int64_t>(); }

TEST(Precision, InBf16TrainingFitsItsBudgetAndMemoryChangesNoBit) {
  const TemporaryFolder folder;
  const Json bounds = plan_precision("--precision bf16 --memory unlimited");
  const std::int64_t floor = bytes_of(bounds, "floor_bytes");
  std::string expected;
  for (const std::int64_t budget :
       {floor, floor + floor / 4, bytes_of(bounds, "unlimited_bytes")}) {
    const std::filesystem::path out = folder.path() / std::to_string(budget);
    const MemoryGroup group(budget);
    const Outcome outcome = run_program(
        train_words(out, "--precision bf16 --steps 3 --memory " + std::to_string(budget)),
        group.enter());
    ASSERT_EQ(outcome.code, 0) << budget << ": " << outcome.output;
    const Json report = Json::parse(content(out / "report.json"));
    if (!kSanitized) {
      const auto predicted = report["predicted_bytes"].get<double>();
      const auto measured = report["measured_peak_bytes"].get<double>();
      EXPECT_LE(measured, static_cast<double>(budget));
      EXPECT_NEAR(predicted, measured, std::max(8.0 * (1 << 20), 0.01 * measured));
    }
    const std::string weights = content(out / "weights" / "last.safetensors");
    if (expected.empty()) expected = weights;
    EXPECT_TRUE(weights == expected) << "other weights at " << budget;
  }
}

TEST(Precision, ActivationsTakeHalfInBf16) {
  const auto kept = [](const Json& plan) {
    std::int64_t bytes = 0;
    for (const Json& line : plan["ledger"])
      if (line["line"] == "kept activations") bytes = line["bytes"].get<std::int64_t>();
    return bytes;
  };
  const std::int64_t wide = kept(plan_precision("--memory unlimited"));
  const std::int64_t narrow = kept(plan_precision("--memory unlimited --precision bf16"));
  ASSERT_GT(wide, 0);
  // Half, and the places of the largest, a byte each in either.
  EXPECT_LE(static_cast<double>(narrow), 0.53 * static_cast<double>(wide));
}

using ShortRuns = SmallRuns;

TEST_F(ShortRuns, GoOnInTheOtherPrecisionAndSaySo) {
  for (const std::string first : {"f32", "bf16"}) {
    const std::string then = first == "f32" ? "bf16" : "f32";
    ASSERT_EQ(train(first, "--epochs 1 --precision " + first).code, 0);
    const Outcome outcome =
        run_program("train --resume " + out(first).string() + " --epochs 2 --precision " + then);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_NE(content(out(first) / "log.txt").find("precision"), std::string::npos)
        << content(out(first) / "log.txt");
    EXPECT_EQ(Json::parse(content(out(first) / "report.json"))["steps"], 24);
  }
}

TEST_F(ShortRuns, LeaveWeightsForEitherPrecision) {
  ASSERT_EQ(train("run", "--epochs 2 --precision bf16").code, 0);
  double loss[2] = {};
  for (const bool is_short : {false, true}) {
    const Outcome outcome =
        run_program("eval " + out("run").string() + " " + images_.folder().path().string() +
                    " --json --precision " + (is_short ? "bf16" : "f32"));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    loss[is_short] =
        Json::parse(outcome.output.substr(outcome.output.find('{')))["loss"].get<double>();
  }
  EXPECT_NEAR(loss[0], loss[1], 0.05 * loss[0]);
  EXPECT_NE(loss[0], loss[1]);
}

TEST_F(ShortRuns, KilledAndResumedEndWithTheSameBytes) {
  SKIP_WITHOUT_PRELOAD();
  const std::string settings = "--precision bf16 --save-every 4";
  ASSERT_EQ(train("whole", settings).code, 0);
  for (const int at : {9, 23, 31}) {
    const Outcome killed =
        train("killed", settings,
              faults("FAULT_PATH=.safetensors FAULT_DO=kill FAULT_AT=" + std::to_string(at)));
    ASSERT_NE(killed.code, 0) << killed.output;
  }
  ASSERT_EQ(train("killed", settings).code, 0);
  EXPECT_TRUE(last_weights(out("killed")) == last_weights(out("whole")));
  EXPECT_EQ(lasting_results(out("killed")), lasting_results(out("whole")));
}

TEST(Precision, ARefusalNamesItAndKeepsItsWord) {
  const std::int64_t floor = bytes_of(plan_precision("--memory unlimited"), "floor_bytes");
  const Json refused = plan_precision("--memory " + std::to_string(floor - 1), 3);
  std::int64_t promised = 0;
  for (const Json& lever : refused["levers"])
    if (lever["option"] == "--precision bf16") promised = bytes_of(lever, "floor_bytes");
  ASSERT_GT(promised, 0) << refused["levers"].dump();
  EXPECT_LT(promised, floor);
  EXPECT_TRUE(
      plan_precision("--precision bf16 --memory " + std::to_string(promised))["fits"].get<bool>());
}

TEST(Precision, OfWhatHasSixteenBitsNothingIsStashed) {
  const Outcome outcome =
      run_program("plan " + std::string(kPrecisionNetwork) + "--precision bf16 --stash f16");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.output.find("--stash: f16 with --precision bf16"), std::string::npos)
      << outcome.output;
}

TEST(Precision, OtherWordsAreRefused) {
  for (const char* word : {"f16", "BF16", "''", "half"}) {
    const Outcome outcome =
        run_program("plan " + std::string(kPrecisionNetwork) + "--precision " + std::string(word));
    EXPECT_EQ(outcome.code, 2) << word;
    EXPECT_NE(outcome.output.find("expected f32 or bf16"), std::string::npos) << outcome.output;
  }
}

}  // namespace
}  // namespace plimsoll
