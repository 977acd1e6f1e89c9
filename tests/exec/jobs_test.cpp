// Kernels are chosen first; views are settled by what the chosen ones take.
#include "exec/jobs.h"

#include <gtest/gtest.h>

#include "ops/table.h"
#include "tensor/conv_layout.h"

namespace plimsoll {
namespace {

// A convolution and an activation that end in one concat.
struct Joined {
  Graph graph{op_table()};
  ValueId convolved, bent, joined;

  Joined() {
    const ValueId x = graph.add_value("x", blocked(2, 16, 6, 6), Role::input);
    const ValueId w =
        graph.add_value("w", conv_kernel_spec(graph.spec(x), 16, 1, 1, 1), Role::parameter);
    convolved = graph.call1("conv2d", {x, w}, {}, "convolved");
    bent = graph.call1("activation", {x}, {{"kind", std::string("tanh")}}, "bent");
    joined = graph.call1("concat", {convolved, bent}, {}, "joined");
  }
};

TEST(Jobs, AKernelThatTakesWholeTensorsOnlyGetsThem) {
  Joined net;
  const std::vector<PreparedNode> nodes = prepare_nodes(net.graph);
  ASSERT_FALSE(nodes[0].kernel->traits.slices);
  EXPECT_FALSE(net.graph.value(net.convolved).home);
  EXPECT_TRUE(net.graph.value(net.bent).home);
  EXPECT_NE(nodes[2].job, nullptr) << "the convolution's part must be copied";
  verify(net.graph);
}

TEST(Jobs, AnotherKernelOfTheSameOpMayTakeSlices) {
  Joined net;
  const std::vector<PreparedNode> nodes = prepare_nodes(net.graph, {.reference = true});
  ASSERT_TRUE(nodes[0].kernel->traits.slices);
  EXPECT_EQ(net.graph.value(net.convolved).home, (Home{net.joined, 0}));
  EXPECT_EQ(net.graph.value(net.bent).home, (Home{net.joined, 16}));
  EXPECT_EQ(nodes[2].job, nullptr);
  EXPECT_EQ(nodes[2].kernel_name(), "view");
  verify(net.graph);
}

TEST(Jobs, ScratchFollowsTheEnvironmentNotTheProcess) {
  Graph graph(op_table());
  const ValueId x = graph.add_value("x", plain({64, 300}), Role::input);
  const ValueId w = graph.add_value("w", plain({300, 512}), Role::parameter);
  graph.call1("dense", {x, w}, {}, "y");
  const auto scratch = [&](int threads) {
    return prepare_nodes(graph, {}, {.threads = threads})[0].job->scratch();
  };
  EXPECT_EQ(scratch(4) % 4, 0);
  EXPECT_GT(scratch(4), scratch(1));
}

}  // namespace
}  // namespace plimsoll
