// Making graphs, and the rules verify() holds them to.
#include "graph/graph.h"

#include <gtest/gtest.h>

#include "tests/support/complaints.h"
#include "tests/support/small_graph.h"

namespace plimsoll {
namespace {

TEST(Graph, NamesAreMadeUnique) {
  Graph graph(op_table());
  const ValueId a = graph.add_value("x", plain({3}), Role::input);
  const ValueId b = graph.add_value("x", plain({3}), Role::input);
  const ValueId c = graph.call1("scale", {a}, {}, "x");
  EXPECT_EQ(graph.value(a).name, "x");
  EXPECT_EQ(graph.find(graph.value(b).name), b);
  EXPECT_EQ(graph.find(graph.value(c).name), c);
  graph.rename(c, "y");
  EXPECT_EQ(graph.find("y"), c);
  EXPECT_FALSE(graph.find("nobody"));
}

TEST(Graph, AWrongCallNamesItsLayer) {
  Graph graph(op_table());
  const ValueId x = graph.add_value("x", plain({3, 4}), Role::input);
  const ValueId b = graph.add_value("b", plain({4}), Role::parameter);
  EXPECT_COMPLAINT(graph.call("add_bias", {x, b}, {}, "block1/bias"), UsageError, "block1/bias");
  EXPECT_COMPLAINT(graph.call("no_such_op", {x}, {}, "block1"), UsageError, "no_such_op");
  EXPECT_COMPLAINT(graph.call("scale", {x}, {{"faktor", 1.0}}, "block1"), UsageError, "'factor'");
  EXPECT_COMPLAINT(graph.call("scale", {x}, {{"factor", std::string("x")}}, "b"), UsageError,
                   "like");
  EXPECT_TRUE(graph.nodes().empty()) << "a refused call leaves no trace";
  EXPECT_EQ(graph.values().size(), 2U);
}

TEST(Graph, AWholeNumberWillDoForARealAttribute) {
  Graph graph(op_table());
  const ValueId x = graph.add_value("x", plain({3, 4}), Role::input);
  graph.call("scale", {x}, {{"factor", std::int64_t{2}}}, "y");
  EXPECT_EQ(graph.nodes()[0].attrs.real("factor"), 2.0);
}

TEST(Graph, NodesKnowTheirPhaseAndLayer) {
  Graph graph(op_table());
  const ValueId x = graph.add_value("x", plain({3}), Role::input);
  const ValueId alone = graph.call1("scale", {x}, {}, "alone");
  {
    const PhaseScope phase(graph, Phase::update);
    const LayerScope layer(graph, "a/layer");
    const ValueId w = graph.add_value("w", plain({3}), Role::frozen);
    const ValueId y = graph.call1("scale", {w}, {}, "a/layer/y");
    EXPECT_EQ(graph.layer_of(w), "a/layer");
    EXPECT_EQ(graph.layer_of(y), "a/layer");
  }
  EXPECT_EQ(graph.layer_of(alone), "alone");
  EXPECT_EQ(graph.layer_of(x), "");
  EXPECT_EQ(graph.phase(), Phase::forward);
  EXPECT_EQ(graph.layer(), "");
  EXPECT_EQ(graph.begin_of(Phase::forward), 0U);
  EXPECT_EQ(graph.begin_of(Phase::loss), 1U) << "or of a later one";
  EXPECT_EQ(graph.nodes()[1].phase, Phase::update);
  EXPECT_TRUE(graph.trains());
  EXPECT_FALSE(SmallGraph(false).graph.trains());
}

TEST(Verify, AcceptsForwardBackwardAndUpdate) { verify(SmallGraph().graph); }

TEST(Verify, AcceptsUpdatesWithoutMomentumThatShareTheirRate) {
  Graph graph(op_table());
  const ValueId rate = graph.add_value("rate", plain({1}), Role::input);
  const ValueId norm = graph.add_value("norm", plain({1}, DType::f64), Role::input);
  for (const char* name : {"a", "b"}) {
    const ValueId w = graph.add_value(name, plain({3}), Role::parameter);
    const ValueId dw = graph.add_value(std::string("d") + name, plain({3}), Role::input);
    graph.call("sgd", {w, dw, rate, norm}, {{"momentum", 0.0}}, std::string(name) + "/update");
  }
  verify(graph);
}

class VerifyDeath : public testing::Test {
 protected:
  // OpenMP's threads are alive: the child must start afresh.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(VerifyDeath, RefusesAnInputThatIsMadeLater) {
  SmallGraph small;
  std::swap(small.graph.nodes().front(), small.graph.nodes().back());
  EXPECT_DEATH(verify(small.graph), "comes after the producers|knows its producer");
}

TEST_F(VerifyDeath, RefusesPhasesOutOfOrder) {
  SmallGraph small;
  small.graph.nodes().front().phase = Phase::backward;
  EXPECT_DEATH(verify(small.graph), "phases follow one another");
}

TEST_F(VerifyDeath, RefusesASpecTheOpDoesNotInfer) {
  SmallGraph small;
  small.graph.value(small.joined).spec.shape = {2, 24, 4, 3};
  EXPECT_DEATH(verify(small.graph), "spec its op infers");
}

TEST_F(VerifyDeath, RefusesASliceOutsideItsHome) {
  SmallGraph small;
  small.graph.value(small.right).home->first_channel = 16;
  EXPECT_DEATH(verify(small.graph), "inside its home");
}

TEST_F(VerifyDeath, RefusesASliceThatStartsInsideABlock) {
  SmallGraph small;
  small.graph.value(small.left).home->first_channel = 4;
  EXPECT_DEATH(verify(small.graph), "starts at a block");
}

TEST_F(VerifyDeath, RefusesAReadBehindAnUpdate) {
  SmallGraph small;
  const ValueId bias = small.graph.find("bias");
  small.graph.call1("scale", {bias}, {}, "late");
  EXPECT_DEATH(verify(small.graph), "not read after its update");
}

TEST_F(VerifyDeath, RefusesATemporaryThatNobodyMakes) {
  SmallGraph small;
  small.graph.add_value("orphan", plain({3}), Role::temporary);
  EXPECT_DEATH(verify(small.graph), "no producer");
}

}  // namespace
}  // namespace plimsoll
