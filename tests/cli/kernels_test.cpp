// Kernels by a table that this machine made.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class Kernels : public SmallRuns {
 protected:
  std::string table() const { return (folder_ / "here.txt").string(); }
  // A table that says oneDNN wherever the one that was made says something else.
  void make_table() {
    const Outcome tuned = run_program(
        "bench --model inception_mini --image 20 --batch 3 --classes 3 "
        "--threads 1 --tune " +
        table());
    ASSERT_EQ(tuned.code, 0) << tuned.output;
    EXPECT_THAT(tuned.output, HasSubstr("conv2d_grad_kernel"));
    std::string text = content(table());
    for (std::size_t at = 0; (at = text.find(" winograd ", at)) != std::string::npos;)
      text.replace(at, 10, " onednn ");
    std::ofstream(table(), std::ios::binary) << text;
  }
};

TEST_F(Kernels, ByATableAreTheRunsOwnWhenItGoesOn) {
  make_table();
  ASSERT_EQ(train("whole", "--epochs 2 --kernels " + table()).code, 0);
  ASSERT_EQ(train("part", "--epochs 1 --kernels " + table()).code, 0);
  std::filesystem::remove(table());
  const Outcome resumed =
      run_program("train --resume " + out("part").string() + " --epochs 2 --quiet --threads 1");
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_EQ(last_weights(out("part")), last_weights(out("whole")));
}

TEST_F(Kernels, ThatAreNoTableAreRefusedBeforeAnythingStarts) {
  std::ofstream(table()) << "winograd everywhere";
  const Outcome refused = train("run", "--kernels " + table());
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("no table of kernels"));
  EXPECT_FALSE(std::filesystem::exists(out("run")));
}

TEST_F(Kernels, AreShownLayerByLayerAndPassByPass) {
  const Outcome bench =
      run_program("bench --model inception_mini --batch 8 --steps 1 --threads 1 --layers --json");
  ASSERT_EQ(bench.code, 0) << bench.output;
  const auto layers = nlohmann::json::parse(bench.output)["layers"];
  bool has_winograd = false;
  for (const auto& layer : layers)
    for (const char* pass : {"forward", "grad_input", "grad_weights"})
      has_winograd = has_winograd || layer[pass]["kernels"] == "winograd";
  EXPECT_TRUE(has_winograd);
  const Outcome text =
      run_program("bench --model inception_mini --batch 8 --steps 1 --threads 1 --layers");
  EXPECT_THAT(text.output, HasSubstr("BatchNorm"));
  EXPECT_THAT(text.output, HasSubstr("% of the FMA peak"));
}

TEST_F(Kernels, OfHeadsThatLevelsShareAreShownLevelByLevel) {
  const Outcome bench = run_program(
      "bench --model fasterrcnn_mini --image 64x96 --batch 1 --steps 1 --threads 1 "
      "--layers --json");
  ASSERT_EQ(bench.code, 0) << bench.output;
  const auto layers = nlohmann::json::parse(bench.output)["layers"];
  std::set<std::string> rows;
  for (const auto& layer : layers) rows.insert(layer["name"].get<std::string>());
  for (const char* level : {"16x24", "8x12", "4x6", "2x3"})
    EXPECT_TRUE(rows.contains("rpn.head.conv.0.0 " + std::string(level))) << level;
  EXPECT_TRUE(rows.contains("backbone.body.conv1"));
}

}  // namespace
}  // namespace plimsoll
