// The tests of kernels are only worth something if they catch kernels that break their promises.
#include <gtest/gtest-spi.h>

#include "ops/rules.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/every_op.h"

namespace plimsoll {
namespace {

using Body = void (*)(const TensorView& x, const TensorView& y, std::byte* scratch);

// Copies its input as it should, then does what `body` does.
template <Body body>
class CopyAnd final : public Job {
 public:
  std::int64_t scratch() const override { return 24; }
  void run(const Args& args) noexcept override {
    put_elements(args.out[0], logical_elements(args.in[0]));
    body(args.in[0], args.out[0], args.scratch);
  }
};

template <Body body>
OpDef op_with() {
  return {.name = "copy",
          .doc = "A copy, and a sin.",
          .infer = [](const Attrs&, std::span<const Spec> in) -> Specs { return {in[0]}; },
          .in_place = {{.out = 0, .over = 0}},
          .cost = ops::pass_over<0>,
          .kernels = {{"bad",
                       [](const Call&) -> std::unique_ptr<Job> {
                         return std::make_unique<CopyAnd<body>>();
                       }}},
          .samples = {{.in = {{blocked(2, 5, 2, 2)}}}}};
}

template <Body body>
void check(Setting setting = {}) {
  const OpDef op = op_with<body>();
  OpRun run(op, op.samples[0], setting);
  ASSERT_TRUE(run.prepare(op.kernels[0]));
  run.run();
  run.expect_only_outputs_written();
  run.expect_padding_is_zero();
}

void be_good(const TensorView&, const TensorView&, std::byte*) {}
void write_behind(const TensorView&, const TensorView& y, std::byte*) { y.image<float>(1)[32] = 1; }
void write_before(const TensorView&, const TensorView& y, std::byte*) { y.as<float>()[-1] = 0; }
void write_input(const TensorView& x, const TensorView&, std::byte*) { x.as<float>()[0] += 1; }
void soil_padding(const TensorView&, const TensorView& y, std::byte*) { y.as<float>()[7] = 1; }
void exceed_scratch(const TensorView&, const TensorView&, std::byte* scratch) {
  scratch[24] = std::byte{1};
}
void use_scratch(const TensorView&, const TensorView&, std::byte* scratch) {
  scratch[23] = std::byte{1};
}

TEST(Harness, PassesAKernelThatKeepsItsPromises) {
  check<be_good>();
  check<be_good>({.sliced = true});
  check<be_good>({.shift = 64});
  check<use_scratch>();
}

TEST(Harness, CatchesWritesOutsideTheOutput) {
  EXPECT_NONFATAL_FAILURE(check<write_behind>(), "around an output");
  EXPECT_NONFATAL_FAILURE(check<write_before>(), "around an output");
  EXPECT_NONFATAL_FAILURE(check<write_behind>({.sliced = true}), "around an output");
}

TEST(Harness, CatchesWritesToAnInput) {
  EXPECT_NONFATAL_FAILURE(check<write_input>(), "input 0 was written");
  check<write_input>({.in_place = InPlace{.out = 0, .over = 0}});
}

TEST(Harness, CatchesMoreScratchThanWasAskedFor) {
  EXPECT_NONFATAL_FAILURE(check<exceed_scratch>(), "behind the scratch");
}

TEST(Harness, CatchesPaddingThatIsNotZero) {
  EXPECT_NONFATAL_FAILURE(check<soil_padding>(), "not zero");
}

TEST(Harness, CountsAllocations) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  const std::int64_t before = allocations_so_far();
  const auto number = std::make_unique<int>(7);
  EXPECT_EQ(allocations_so_far() - before, 1);
  EXPECT_EQ(*number, 7);
}

TEST(Harness, FillsDependOnNothingButTheKey) {
  const SampleInput input{blocked(2, 5, 2, 2)};
  EXPECT_EQ(sample_values(input, 3), sample_values(input, 3));
  EXPECT_NE(sample_values(input, 3), sample_values(input, 4));
  for (double v :
       sample_values({.spec = plain({99}), .fill = SampleInput::Fill::label, .limit = 4}, 1))
    EXPECT_TRUE(v == 0 || v == 1 || v == 2 || v == 3) << v;
}

}  // namespace
}  // namespace plimsoll
