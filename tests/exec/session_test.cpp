// What a step promises: no allocation, no page fault, the same bits every time.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <optional>
#include <type_traits>

#include "tests/support/allocation_counter.h"
#include "tests/support/golden.h"
#include "tests/support/residents.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

// Tapes are prepared, planned, opened: what a state does not have cannot be asked of it.
template <class Tapes>
concept HasAddresses = requires(const Tapes& tapes) {
  tapes.tape(0);
};
template <class Tapes>
concept HasMemory = requires(const Tapes& tapes) {
  tapes.resident("w");
};
static_assert(!HasAddresses<PreparedTapes> && HasAddresses<PlannedTapes> && HasAddresses<Session>);
static_assert(!HasMemory<PlannedTapes> && HasMemory<Session>);
static_assert(!std::is_constructible_v<Session, PreparedTapes>);
static_assert(!std::is_constructible_v<PlannedTapes, PreparedTapes>);

class Step : public testing::TestWithParam<const char*> {
 protected:
  Trainer make_trainer(const TrainerOptions& base = {}, std::optional<Fate> fate = std::nullopt) {
    Trainer trainer = tests::golden_trainer(golden_, {}, base);
    const Problem problem = trainer.tapes().problem(0);
    if (fate) trainer.plan(name_fates(problem, problem.all(*fate)));
    trainer.open(testing::TempDir());
    tests::fill_by_rule(trainer, golden_);
    return trainer;
  }
  StepResult step(Trainer& trainer, std::int64_t number) {
    tests::fill_batch_by_rule(trainer, golden_, Purpose::train);
    return trainer.train_step(batch_, 1e-3F, number, number * batch_);
  }
  const nlohmann::json golden_ = tests::load_golden(GetParam());
  const std::int64_t batch_ = golden_["batch"];
};

TEST_P(Step, TheSecondAllocatesNothing) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  // libgomp keeps the team of a parallel region for the next one, but not a team of one.
  const Threads threads(2);
  Trainer trainer = make_trainer();
  step(trainer, 0);
  tests::fill_batch_by_rule(trainer, golden_, Purpose::train);
  const std::int64_t before = allocations_so_far();
  trainer.train_step(batch_, 1e-3F, 1, batch_);
  trainer.evaluate_step(batch_);
  EXPECT_EQ(allocations_so_far() - before, 0);
}

TEST_P(Step, TheThirdFaultsOnNoPage) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer's shadow memory faults too";
  Trainer trainer = make_trainer();
  step(trainer, 0);
  step(trainer, 1);
  tests::fill_batch_by_rule(trainer, golden_, Purpose::train);
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  trainer.train_step(batch_, 1e-3F, 2, 2 * batch_);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(after.ru_majflt - before.ru_majflt, 0);
  EXPECT_LE(after.ru_minflt - before.ru_minflt, 16) << "the arena is populated before step 1";
}

TEST_P(Step, TwoRunsGiveTheSameBits) {
  Trainer first = make_trainer();
  Trainer second = make_trainer();
  for (std::int64_t number = 0; number < 3; ++number) {
    step(first, number);
    step(second, number);
  }
  EXPECT_EQ(residents(first), residents(second));
}

TEST_P(Step, RecomputingChangesNoBit) {
  Trainer keeps = make_trainer({}, Fate::keep);
  Trainer recomputes = make_trainer();
  EXPECT_LT(recomputes.session().arena_bytes(), keeps.session().arena_bytes());
  for (std::int64_t number = 0; number < 3; ++number) {
    step(keeps, number);
    step(recomputes, number);
  }
  EXPECT_EQ(residents(keeps), residents(recomputes));
}

TEST_P(Step, FusionAgreesWithLayerByLayer) {
  Trainer fused = make_trainer();
  Trainer plain = make_trainer({.fusion = Fusion::plain});
  const double expected = step(plain, 0).loss;
  EXPECT_NEAR(step(fused, 0).loss, expected, 1e-5 * expected);
}

TEST_P(Step, OneThreadAgreesWithTwo) {
  const auto loss_with = [&](int count) {
    const Threads threads(count);
    Trainer trainer = make_trainer();
    return step(trainer, 0).loss;
  };
  const double loss_of_one = loss_with(1);
  EXPECT_NEAR(loss_with(2), loss_of_one, 1e-6 * loss_of_one);
}

TEST_P(Step, ABadOneLeavesEveryResidentAsItWas) {
  Trainer trainer = make_trainer();
  step(trainer, 0);
  const std::vector<std::byte> before = residents(trainer);
  tests::fill_batch_by_rule(trainer, golden_, Purpose::train);
  trainer.image(Purpose::train, batch_).as<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const StepResult result = trainer.train_step(batch_, 1e-3F, 1, batch_);
  EXPECT_FALSE(std::isfinite(result.gradient_norm));
  EXPECT_EQ(residents(trainer), before);
}

INSTANTIATE_TEST_SUITE_P(Networks, Step,
                         testing::Values("inception_mini", "xception_mini", "resnet20"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace plimsoll
