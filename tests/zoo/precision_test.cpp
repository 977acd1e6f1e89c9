// Networks in bf16: every image is, and whoever reads or writes one does so itself.
#include <gtest/gtest.h>

#include "tests/support/zoo_trainer.h"

namespace plimsoll {
namespace {

Trainer short_trainer(const zoo::Network& network, std::int64_t lanes = kNarrowLanes) {
  return Trainer(op_table(),
                 [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
                 {.input = {.batch = 2,
                            .channels = network.channels,
                            .image = network.image,
                            .dtype = DType::bf16,
                            .lanes = lanes},
                  .train_batches = {2},
                  .evaluate_batches = {2},
                  .task = task_of(network)});
}

TEST(PrecisionOfTheZoo, NoImageIsWiderThanAsked) {
  for (const zoo::Network& network : zoo::networks()) {
    const Trainer trainer = short_trainer(network);
    for (std::size_t tape = 0; tape < trainer.tapes().size(); ++tape)
      for (const Value& value : trainer.tapes().graph(tape).values())
        EXPECT_FALSE(value.spec.layout == Layout::blocked && value.spec.dtype == DType::f32)
            << network.name << ": " << value.name << " is " << to_string(value.spec);
  }
}

TEST(PrecisionOfTheZoo, NoKernelIsGivenCopiesOfWholeImages) {
  for (const zoo::Network& network : zoo::networks()) {
    const Trainer trainer = short_trainer(network);
    for (std::size_t tape = 0; tape < trainer.tapes().size(); ++tape) {
      const Graph& graph = trainer.tapes().graph(tape);
      for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
        const Node& node = graph.nodes()[n];
        bool is_short = false;
        for (const Values* operands : {&node.in, &node.out})
          for (const ValueId id : *operands)
            is_short = is_short || graph.spec(id).dtype == DType::bf16;
        const Kernel* kernel =
            trainer.tapes().prepared(tape, NodeId{static_cast<std::int32_t>(n)}).kernel;
        if (!is_short || kernel == nullptr) continue;
        EXPECT_EQ(kernel->traits.bf16, TakesBf16::yes)
            << network.name << ": " << node.op->name << " by " << kernel->name;
      }
    }
  }
}

// Widening images would give away what these processors gain.
TEST(PrecisionOfTheZoo, ConvolutionsMultiplyBf16WhereTheProcessorDoes) {
  if (process_isa() != Isa::avx512_bf16) GTEST_SKIP() << "this processor has no avx512_bf16";
  for (const zoo::Network& network : zoo::networks()) {
    const Trainer trainer = short_trainer(network, kWideLanes);
    const Graph& graph = trainer.tapes().graph(0);
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      if (!node.op->name.starts_with("conv2d")) continue;
      const std::string_view kernel =
          trainer.tapes().prepared(0, NodeId{static_cast<std::int32_t>(n)}).kernel_name();
      const bool sums = node.op->arithmetic == Arithmetic::grad_weights;
      EXPECT_TRUE(kernel == "onednn_bf16" ||
                  (sums && (kernel == "simd_point" || kernel == "winograd")))
          << network.name << ": " << node.op->name << " of " << to_string(graph.spec(node.in[0]))
          << " by " << kernel;
    }
  }
}

TEST(PrecisionOfTheZoo, ParametersAndTheirGradientsStayF32) {
  const Trainer trainer = short_trainer(zoo::find_network("xception_mini"));
  for (const Value& value : trainer.tapes().graph(0).values())
    EXPECT_FALSE(is_resident(value.role) && value.spec.dtype == DType::bf16) << value.name;
}

}  // namespace
}  // namespace plimsoll
