// Every kernel against a reference on the same numbers in f64: the op's last kernel, or the tests'
// own where that is the only one.
#include <algorithm>
#include <cmath>

#include "tests/support/every_op.h"
#include "tests/support/op_references.h"

namespace plimsoll {
namespace {

void expect_close(const TensorView& got, const std::vector<double>& wanted, double tolerance) {
  const std::vector<double> elements = logical_elements(got);
  ASSERT_EQ(elements.size(), wanted.size());
  double largest = 0;
  for (double v : wanted) largest = std::max(largest, std::fabs(v));
  const double limit = is_real(got.spec.dtype) ? tolerance * largest : 0;
  // What is stored in bf16 was rounded once.
  const double rounding = got.spec.dtype == DType::bf16 ? 0x1p-8 : 0;
  for (std::size_t i = 0; i < elements.size(); ++i)
    ASSERT_LE(std::fabs(elements[i] - wanted[i]), limit + rounding * std::fabs(wanted[i]))
        << "element " << i << " of " << to_string(got.spec) << ": " << elements[i] << ", reference "
        << wanted[i] << ", largest " << largest;
}

using Outputs = std::vector<std::vector<double>>;

// By the last kernel, on the same numbers in f64.
Outputs from_reference_kernel(const OpDef& op, const Sample& sample, bool short_weights) {
  OpRun reference(op, sample, {.in_f64 = true, .short_weights = short_weights});
  EXPECT_TRUE(reference.prepare(op.kernels.back())) << "the reference takes every call";
  reference.run();
  reference.expect_padding_is_zero();
  Outputs outputs;
  for (std::size_t i = 0; i < reference.outputs(); ++i)
    outputs.push_back(logical_elements(reference.out(i)));
  return outputs;
}

// A kernel that is alone would only be compared with itself.
Outputs from_the_tests_own(const OpDef& op, const Sample& sample) {
  const OpReference compute = find_reference(op.name);
  if (compute == nullptr) {
    ADD_FAILURE() << "one kernel and no reference: write one in tests/support/op_references.cpp";
    return {};
  }
  const OpRun run(op, sample);
  std::vector<Numbers> in;
  for (std::size_t i = 0; i < run.inputs(); ++i)
    in.push_back({run.in(i).spec.shape, logical_elements(run.in(i))});
  return compute(complete_attrs(op, sample.attrs), in);
}

TEST_P(EveryOp, HasSamplesAndKernels) {
  EXPECT_FALSE(op().samples.empty());
  EXPECT_FALSE(op().kernels.empty());
  EXPECT_FALSE(op().doc.empty());
  ASSERT_NE(op().infer, nullptr);
  ASSERT_NE(op().cost, nullptr);
}

TEST_P(EveryOp, EveryKernelAgreesWithTheReference) {
  for_each_kernel(op(), [&](const Sample& sample, const Kernel& kernel) {
    OpRun fast(op(), sample);
    if (!fast.prepare(kernel)) return;
    fast.run();
    fast.expect_padding_is_zero();
    const bool alone = op().kernels.size() == 1;
    const Outputs wanted = alone ? from_the_tests_own(op(), sample)
                                 : from_reference_kernel(op(), sample, kernel.traits.shortens);
    ASSERT_EQ(wanted.size(), fast.outputs());
    for (std::size_t i = 0; i < fast.outputs(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      expect_close(fast.out(i), wanted[i], sample.tolerance);
    }
  });
}

// A sample that only the reference can do would test nothing else. What is for calls too large for
// a reference, tests/kernels holds against sums in double.
TEST_P(EveryOp, EveryKernelTakesSomeSample) {
  std::string skipped;
  const std::vector<Sample> samples = every_sample(op());
  for (const Kernel& kernel : op().kernels) {
    if (kernel.name == "strassen") continue;
    if (kernel.name == "onednn_bf16" && process_isa() != Isa::avx512_bf16) {
      skipped += std::string(kernel.name) + " ";
      continue;
    }
    const bool taken = std::ranges::any_of(
        samples, [&](const Sample& sample) { return OpRun(op(), sample).prepare(kernel); });
    EXPECT_TRUE(taken) << kernel.name;
  }
  if (!skipped.empty()) GTEST_SKIP() << skipped << "not tested: this processor has no avx512_bf16";
}

TEST_P(EveryOp, RefusesNonsenseWithAUsageError) {
  for (const Sample& sample : op().samples) {
    const Attrs attrs = complete_attrs(op(), sample.attrs);
    Specs specs;
    for (const SampleInput& input : sample.in) specs.push_back(input.spec);
    specs.push_back(plain({3, 1, 4, 1}, DType::u8));
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(op().infer(attrs, specs), UsageError) << specs.size() << " inputs";
      specs.push_back(plain({7}));
    }
  }
}

// The graph of one call of a sample.
Graph graph_of(const OpDef& op, const Sample& sample) {
  Graph graph(op_table());
  Values in;
  for (const SampleInput& input : sample.in)
    in.push_back(graph.add_value("x" + std::to_string(in.size()), input.spec, Role::parameter));
  graph.call(op.name, in, sample.attrs, "y");
  return graph;
}

TEST_P(EveryOp, SurvivesAsText) {
  for (const Sample& sample : op().samples) {
    const std::string text = to_text(graph_of(op(), sample));
    EXPECT_EQ(to_text(parse_graph(text, op_table(), "printed")), text);
  }
}

TEST_P(EveryOp, HasAPrice) {
  for (const Sample& sample : op().samples) {
    const Graph graph = graph_of(op(), sample);
    Specs in, out;
    for (ValueId id : graph.nodes()[0].in) in.push_back(graph.spec(id));
    for (ValueId id : graph.nodes()[0].out) out.push_back(graph.spec(id));
    const Cost cost = op().cost(graph.nodes()[0].attrs, in, out);
    EXPECT_GT(cost.bytes, 0);
    EXPECT_GE(cost.flops, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(op_table().all()), name_of_op);

}  // namespace
}  // namespace plimsoll
