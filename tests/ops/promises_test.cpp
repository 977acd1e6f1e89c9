// What tensor/kernel.h promises of every kernel, besides right numbers.
#include <algorithm>
#include <cmath>

#include "tests/support/allocation_counter.h"
#include "tests/support/every_op.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

bool is_own(const Kernel& kernel) { return !kernel.name.starts_with("onednn"); }

// The outputs' bits of one run; empty if the kernel cannot do the call.
std::vector<std::byte> bits_of(const OpDef& op, const Sample& sample, const Kernel& kernel,
                               Setting setting) {
  OpRun run(op, sample, setting);
  if (!run.prepare(kernel)) return {};
  run.run();
  return run.bits();
}

TEST_P(EveryOp, InPlaceEqualsOutOfPlace) {
  if (std::ranges::all_of(op().in_place, &InPlace::required)) GTEST_SKIP() << "has no choice";
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    OpRun apart(op(), sample);
    if (!apart.prepare(kernel)) return;
    apart.run();
    for (const InPlace& rule : op().in_place) {
      const auto out = static_cast<std::size_t>(rule.out),
                 over = static_cast<std::size_t>(rule.over);
      if (rule.required || out >= apart.outputs() || over >= sample.in.size()) continue;
      if (apart.out(out).spec.bytes() != apart.in_spec(over).bytes()) continue;
      EXPECT_TRUE(bits_of(op(), sample, kernel, {.in_place = rule}) == apart.bits())
          << "output " << out << " over input " << over;
    }
  });
}

TEST_P(EveryOp, OneThreadAgreesWithMany) {
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    OpRun alone(op(), sample), together(op(), sample);
    {
      const Threads one(1);
      if (!alone.prepare(kernel)) return;
      alone.run();
    }
    const Threads three(3);
    ASSERT_TRUE(together.prepare(kernel));
    together.run();
    if (is_own(kernel)) {
      EXPECT_TRUE(alone.bits() == together.bits()) << "our own kernels give the same bits";
      return;
    }
    for (std::size_t i = 0; i < alone.outputs(); ++i) {
      const std::vector<double> a = logical_elements(alone.out(i)),
                                b = logical_elements(together.out(i));
      double largest = 0;
      for (double v : a) largest = std::max(largest, std::fabs(v));
      for (std::size_t e = 0; e < a.size(); ++e)
        ASSERT_NEAR(a[e], b[e], 1e-5 * largest) << "element " << e;
    }
  });
}

TEST_P(EveryOp, KernelsStayInsideTheirBytes) {
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    OpRun run(op(), sample);
    if (!run.prepare(kernel)) return;
    run.run();
    run.expect_only_outputs_written();
  });
}

TEST_P(EveryOp, SlicesGiveTheSameBitsAndLeaveTheirNeighboursAlone) {
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    OpRun dense(op(), sample), sliced(op(), sample, {.sliced = true});
    if (!kernel.traits.slices || !sliced.has_sliced_operands() || !dense.prepare(kernel)) return;
    ASSERT_TRUE(sliced.prepare(kernel)) << "what it takes dense it takes as slices";
    dense.run();
    sliced.run();
    EXPECT_TRUE(sliced.bits() == dense.bits());
    sliced.expect_only_outputs_written();
  });
}

TEST_P(EveryOp, RunsAllocateNothing) {
  // libgomp keeps the team of a parallel region for the next one, but not a team of one.
  const Threads threads(2);
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    OpRun run(op(), sample);
    if (!is_own(kernel) || !run.prepare(kernel)) return;
    run.run();
    const std::int64_t before = allocations_so_far();
    run.run();
    EXPECT_EQ(allocations_so_far() - before, 0);
  });
}

TEST_P(EveryOp, SameBitsWhereverBuffersLie) {
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    const auto here = bits_of(op(), sample, kernel, {.shift = 0, .scratch_byte = 0xFF});
    EXPECT_TRUE(bits_of(op(), sample, kernel, {.shift = 64, .scratch_byte = 0}) == here);
  });
}

}  // namespace
}  // namespace plimsoll
