#include <gtest/gtest.h>

#include <limits>

#include "tests/support/complaints.h"
#include "tests/support/small_graph.h"

namespace plimsoll {
namespace {

Graph parse(const std::string& lines) {
  return parse_graph("plimsoll graph 1\n" + lines, op_table(), "net.txt");
}

TEST(GraphText, APrintedGraphParsesBackToAnEqualOne) {
  const SmallGraph small;
  const std::string text = to_text(small.graph);
  const Graph copy = parse_graph(text, op_table(), "net.txt");
  verify(copy);
  EXPECT_EQ(to_text(copy), text);
  ASSERT_EQ(copy.nodes().size(), small.graph.nodes().size());
  for (std::size_t n = 0; n < copy.nodes().size(); ++n) {
    EXPECT_EQ(copy.nodes()[n].op, small.graph.nodes()[n].op);
    EXPECT_EQ(copy.nodes()[n].attrs, small.graph.nodes()[n].attrs);
    EXPECT_EQ(copy.nodes()[n].name, small.graph.nodes()[n].name);
    EXPECT_EQ(copy.nodes()[n].phase, small.graph.nodes()[n].phase);
    EXPECT_EQ(copy.nodes()[n].layer, small.graph.nodes()[n].layer);
  }
  for (const Value& value : small.graph.values()) {
    const ValueId id = copy.find(value.name);
    ASSERT_TRUE(id) << value.name;
    EXPECT_EQ(copy.spec(id), value.spec);
    EXPECT_EQ(copy.value(id).role, value.role);
    EXPECT_EQ(copy.value(id).layer, value.layer);
    ASSERT_EQ(copy.value(id).home.has_value(), value.home.has_value()) << value.name;
    if (!value.home) continue;
    EXPECT_EQ(copy.value(id).home->first_channel, value.home->first_channel);
    EXPECT_EQ(copy.value(copy.value(id).home->parent).name,
              small.graph.value(value.home->parent).name);
  }
}

TEST(GraphText, SaysWhatItHolds) {
  const std::string text = to_text(SmallGraph().graph);
  EXPECT_THAT(text, testing::StartsWith("plimsoll graph 1\ninput image : f32[2x8x4x3]/blocked\n"));
  EXPECT_THAT(text, testing::HasSubstr("\nparameter bn/gamma : f32[8] of bn\n"));
  EXPECT_THAT(text, testing::HasSubstr("\noptimizer bias/velocity : f32[8] of shift\n"));
  EXPECT_THAT(text,
              testing::HasSubstr("\ncurve : f32[2x8x4x3]/blocked in joined at 8 = activation"));
  EXPECT_THAT(text, testing::HasSubstr(" kind=tanh alpha=0.3 @ curve\n"));
  EXPECT_THAT(text, testing::HasSubstr(" : f32[8] gradient = channel_sum("));
  EXPECT_THAT(text, testing::HasSubstr(" @ bn/stats of bn\n"));
  EXPECT_THAT(text, testing::HasSubstr(" @ pool\n[loss]\nloss : "));
  EXPECT_THAT(text, testing::HasSubstr(" @ norm\n[update]\nbias/update : "));
}

TEST(GraphText, NumbersSurviveToTheLastBit) {
  const double numbers[] = {1.0,    -3.0,
                            0.1,    1e300,
                            5e-324, 123456789012345680.0,
                            -0.0,   std::numeric_limits<double>::infinity()};
  for (double number : numbers) {
    Graph graph(op_table());
    const ValueId x = graph.add_value("x", plain({3}), Role::input);
    graph.call1("scale", {x}, {{"factor", number}}, "y");
    const Graph copy = parse_graph(to_text(graph), op_table(), "net.txt");
    EXPECT_EQ(copy.nodes()[0].attrs.real("factor"), number) << to_text(graph);
    EXPECT_EQ(to_text(copy), to_text(graph));
  }
}

TEST(GraphText, BlankLinesAndSpacesDoNotMatter) {
  const Graph graph = parse("\n  input   x :f32[3x4] \n\n y :f32[3x4]=scale( x )  factor=2  @ y\n");
  EXPECT_EQ(to_text(graph),
            "plimsoll graph 1\ninput x : f32[3x4]\ny : f32[3x4] = scale(x) factor=2.0 @ y\n");
}

TEST(GraphText, AnythingWrongIsNamedByLineAndColumn) {
  const std::string x = "input x : f32[3x4]\n";
  EXPECT_COMPLAINT(parse_graph("", op_table(), "net.txt"), UsageError, "net.txt:1:1");
  EXPECT_COMPLAINT(parse_graph("plimsoll graph 2\n", op_table(), "net.txt"), UsageError,
                   "net.txt:1:");
  EXPECT_COMPLAINT(parse("input x\n"), UsageError, "net.txt:2:8");
  EXPECT_COMPLAINT(parse("input x : f33[3]\n"), UsageError, "element type");
  EXPECT_COMPLAINT(parse("input x : f32[3x-4]\n"), UsageError, "net.txt:2:");
  EXPECT_COMPLAINT(parse("input x : f32[0]\n"), UsageError, "dimension");
  EXPECT_COMPLAINT(parse("input x : f32[1x2x3x4x5]\n"), UsageError, "four");
  EXPECT_COMPLAINT(parse("input x : f32[99999999999999999999]\n"), UsageError, "dimension");
  EXPECT_COMPLAINT(parse("input x : f32[2000000000x2000000000]\n"), UsageError, "sensible size");
  EXPECT_COMPLAINT(parse("input x : f32[3x4]/blocked\n"), UsageError, "four dimensions");
  EXPECT_COMPLAINT(parse("input x : f32[3x4]/round\n"), UsageError, "a layout");
  EXPECT_COMPLAINT(parse("input x : f32[3x4] more\n"), UsageError, "end of the line");
  EXPECT_COMPLAINT(parse(x + x), UsageError, "net.txt:3:");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4] = scale(z) @ y\n"), UsageError, "'z'");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4] = scala(x) @ y\n"), UsageError, "scala");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x5] = scale(x) @ y\n"), UsageError, "f32[3x4]");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4] = scale(x) faktor=1 @ y\n"), UsageError, "'factor'");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4] = scale(x) factor=two @ y\n"), UsageError, "two");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4] = scale(x) factor=1.0\n"), UsageError, "'@ name'");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4], z : f32[3x4] = scale(x) @ y\n"), UsageError,
                   "1 outputs");
  EXPECT_COMPLAINT(parse(x + "x : f32[3x4] = scale(x) @ y\n"), UsageError, "'x'");
  EXPECT_COMPLAINT(parse(x + "y : f32[3x4] = scale(x, x, x) @ y\n"), UsageError, "3 inputs");
}

TEST(GraphText, PhasesComeInTheirOrder) {
  const auto graph = [](const std::string& phases) {
    return parse("input x : f32[3]\n" + phases + "y : f32[3] = scale(x) factor=2.0 @ y\n");
  };
  EXPECT_EQ(graph("[loss]\n[backward]\n").nodes()[0].phase, Phase::backward);
  EXPECT_COMPLAINT(graph("[backward]\n[loss]\n"), UsageError, "net.txt:4:2");
  EXPECT_COMPLAINT(graph("[loss]\n[loss]\n"), UsageError, "net.txt:4:2");
  EXPECT_COMPLAINT(graph("[sideways]\n"), UsageError, "a later phase");
  EXPECT_COMPLAINT(graph("[loss\n"), UsageError, "net.txt:3:6");
}

TEST(GraphText, OutputsOfOneNodeHaveDifferentNames) {
  const std::string lines =
      "input x : f32[2x8x3x3]/blocked\n"
      "a : f32[8], a : f32[8] = bn_stats(x) @ stats\n";
  EXPECT_COMPLAINT(parse(lines), UsageError, "net.txt:3:");
}

TEST(GraphText, OutputsMayHaveAnyFreeNames) {
  const std::string lines =
      "input x : f32[2x8x3x3]/blocked\n"
      "s:1 : f32[8], s : f32[8] = bn_stats(x) @ s\n";
  EXPECT_EQ(to_text(parse(lines)), "plimsoll graph 1\n" + lines);
}

TEST(GraphText, AHomeMustHoldItsSlice) {
  const std::string start =
      "input x : f32[2x8x3x3]/blocked\n"
      "input y : f32[2x8x3x3]/blocked\n";
  const auto graph = [&](const std::string& home) {
    return parse(start + "a : f32[2x8x3x3]/blocked " + home + " = scale(x) factor=2.0 @ a\n" +
                 "c : f32[2x16x3x3]/blocked = concat(a, y) @ c\n");
  };
  EXPECT_EQ(graph("in c at 8").value(ValueId{2}).home->first_channel, 8);
  EXPECT_COMPLAINT(graph("in d at 0"), UsageError, "net.txt:4:1");
  EXPECT_COMPLAINT(graph("in c at 4"), UsageError, "channel 4");
  EXPECT_COMPLAINT(graph("in c at 16"), UsageError, "channel 16");
  EXPECT_COMPLAINT(graph("in c at -8"), UsageError, "channel -8");
  EXPECT_COMPLAINT(graph("in a at 0"), UsageError, "inside its home");
  EXPECT_COMPLAINT(graph("in c"), UsageError, "'at'");
}

TEST(GraphText, HomesDoNotGoRoundInCircles) {
  const std::string lines =
      "input x : f32[2x8x3x3]/blocked\n"
      "a : f32[2x8x3x3]/blocked in b at 0 = scale(x) factor=2.0 @ a\n"
      "b : f32[2x8x3x3]/blocked in a at 0 = scale(a) factor=2.0 @ b\n";
  EXPECT_COMPLAINT(parse(lines), UsageError, "net.txt:");
}

}  // namespace
}  // namespace plimsoll
