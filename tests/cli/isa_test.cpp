// `--isa` as a user meets it: recorded, obeyed, refused where the processor lacks it.
#include "base/cpu.h"
#include "run/checkpoint.h"
#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

using IsaRuns = SmallRuns;

TEST(Isa, IsRefusedByEveryCommandThatComputesWhereItIsNone) {
  for (const std::string command :
       {"train fashion-mnist", "plan", "find-lr fashion-mnist", "bench", "eval runs/none data",
        "predict runs/none picture.png", "check", "summary"}) {
    const Outcome outcome = run_program(command + " --isa sse2");
    EXPECT_EQ(outcome.code, 2) << command << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("--isa: 'sse2'; expected avx2, avx512 or avx512_bf16"))
        << command;
  }
}

TEST(Isa, IsRefusedWhereTheProcessorLacksIt) {
  if (has_avx512_bf16()) GTEST_SKIP() << "this processor has all there are";
  const Outcome outcome = run_program("plan --isa avx512_bf16");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--isa: avx512_bf16, which this processor lacks"));
  EXPECT_THAT(outcome.output,
              HasSubstr(has_avx512() ? "expected at most avx512" : "expected at most avx2"));
}

TEST_F(IsaRuns, AreRecordedAndGoOnAlikeWithTheSame) {
  ASSERT_EQ(train("run", "--epochs 1 --isa avx2").code, 0);
  EXPECT_THAT(content(out("run") / "args.toml"), HasSubstr("isa = \"avx2\""));
  const Outcome outcome = run_program("train --resume " + out("run").string() + " --epochs 2");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(out("run") / "log.txt"), Not(HasSubstr("changed since: isa")));

  const Checkpoint checkpoint(out("run") / "weights" / "last.safetensors");
  RunIdentity other = checkpoint.identity;
  EXPECT_EQ(other.with[kIsaKey], "avx2");
  other.with[kIsaKey] = "avx512";
  const std::vector<SettingChange> changes = compare(checkpoint, other);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].key, kIsaKey);
  EXPECT_EQ(changes[0].before, "avx2");
  EXPECT_EQ(changes[0].now, "avx512");
}

TEST_F(IsaRuns, ThatGoOnWithAnotherSayWhatChanges) {
  if (!has_avx512()) GTEST_SKIP() << "avx512: this processor lacks it";
  ASSERT_EQ(train("run", "--epochs 1 --isa avx2").code, 0);
  const Outcome outcome =
      run_program("train --resume " + out("run").string() + " --epochs 2 --isa avx512");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(out("run") / "log.txt"),
              HasSubstr("isa avx2 -> avx512; sums are rounded differently from here on"));
}

}  // namespace
}  // namespace plimsoll
