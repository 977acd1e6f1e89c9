// Which weights are trained, and how: freezing, rates by name, averages, class weights, mixup.
#include <map>

#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class Tuned : public SmallRuns {
 protected:
  static std::map<std::string, std::string> tensors(const std::filesystem::path& path) {
    const SafetensorsReader file(path);
    std::map<std::string, std::string> found;
    std::vector<std::byte> buffer(1 << 16);
    for (const StoredTensor& tensor : file.tensors())
      file.read(tensor.name, buffer, [&](std::span<const std::byte> piece) {
        found[tensor.name].append(reinterpret_cast<const char*>(piece.data()), piece.size());
      });
    return found;
  }
  std::map<std::string, std::string> trained(const std::string& name, const std::string& more) {
    const Outcome outcome = train(name, more);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    output_ = outcome.output;
    return tensors(out(name) / "weights/last.safetensors");
  }
  std::string output_;
};

TEST_F(Tuned, FrozenLayersStayAndTheirStatisticsToo) {
  const auto start = trained("start", "--steps 1 --lr-for *=0");
  const auto frozen = trained("frozen", "--steps 4 --freeze a_*,conv1*");
  EXPECT_THAT(output_, HasSubstr("frozen BatchNorms use their running statistics"));
  int same = 0;
  int other = 0;
  for (const auto& [name, bytes] : frozen) {
    if (name.starts_with("optimizer/")) {
      EXPECT_FALSE(name.starts_with("optimizer/a_") || name.starts_with("optimizer/conv1/"))
          << name << ": what is frozen needs no optimizer";
      continue;
    }
    const bool should_stay = name.starts_with("a_") || name.starts_with("conv1");
    const bool stayed = name.find("moving") == std::string::npos && bytes == start.at(name);
    (should_stay ? same : other) += 1;
    EXPECT_TRUE(stayed || !should_stay || name.find("moving") != std::string::npos) << name;
    EXPECT_FALSE(stayed && !should_stay && name.ends_with("/kernel")) << name;
  }
  EXPECT_GT(same, 4);
  EXPECT_GT(other, 4);
}

TEST_F(Tuned, UnfreezingTrainsEverythingFromThatEpochAndResumesAcrossIt) {
  const std::string more = "--freeze a_* --unfreeze-after 2 --epochs 4";
  const auto whole = trained("whole", more);
  EXPECT_THAT(output_, ContainsRegex("BatchNorms alone stay frozen after epoch 2, in [0-9.]+ MiB"));
  EXPECT_THAT(output_, HasSubstr("epoch 3: BatchNorms alone stay frozen from here on"));
  trained("part", "--freeze a_* --unfreeze-after 2 --epochs 1");
  trained("part", "--freeze a_* --unfreeze-after 2 --epochs 3");
  trained("part", more);
  EXPECT_TRUE(last_weights(out("part")) == last_weights(out("whole")));
}

TEST_F(Tuned, ARateOfZeroForALayerKeepsItsWeights) {
  const auto start = trained("start", "--steps 1 --lr-for *=0");
  const auto run = trained("run", "--steps 3 --lr-for */beta=2,a_1x1*=0");
  for (const auto& [name, bytes] : run)
    EXPECT_TRUE(!name.starts_with("a_1x1") || name.find("moving") != std::string::npos ||
                bytes == start.at(name))
        << name;
}

TEST_F(Tuned, APatternThatMatchesNothingIsRefused) {
  const Outcome outcome = train("run", "--freeze conv11");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("no layer with weights matches 'conv11'"));
  EXPECT_THAT(outcome.output, HasSubstr("did you mean 'conv1'?"));
  EXPECT_EQ(train("run", "--freeze '*'").code, 2);
}

TEST_F(Tuned, AnAverageFollowsTheWeightsAndIsTheBest) {
  const auto run = trained("run", "--ema 0.9 --epochs 2");
  const auto best = tensors(out("run") / "weights/best.safetensors");
  EXPECT_TRUE(best.contains("conv1/kernel"));
  EXPECT_FALSE(run.at("average/conv1/kernel") == run.at("conv1/kernel"));
  const auto plain = trained("plain", "--epochs 2");
  EXPECT_TRUE(plain.at("conv1/kernel") == run.at("conv1/kernel"))
      << "averages do not disturb the training";
}

TEST_F(Tuned, ClassWeightsOfOneChangeNothingAndOthersDo) {
  const auto plain = trained("plain", "--steps 3");
  const auto ones = trained("ones", "--steps 3 --class-weights c0=1,c1=1");
  const auto twos = trained("twos", "--steps 3 --class-weights c0=2");
  EXPECT_TRUE(plain.at("conv1/kernel") == ones.at("conv1/kernel"));
  EXPECT_FALSE(plain.at("conv1/kernel") == twos.at("conv1/kernel"));
  const Outcome wrong = train("wrong", "--class-weights c9=2");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("the data has no class 'c9'"));
}

TEST_F(Tuned, MixupTrains) {
  const auto plain = trained("plain", "--epochs 2 --augment horizontal_flip");
  const auto mixed = trained("mixed", "--epochs 2 --augment horizontal_flip,mixup=0.4");
  EXPECT_FALSE(plain.at("conv1/kernel") == mixed.at("conv1/kernel"));
}

TEST_F(Tuned, WeightsOfAnotherRunAreABeginningAndAnotherHeadStays) {
  trained("first", "--epochs 1");
  const std::string weights = " --weights " + (out("first") / "weights/best.safetensors").string();
  trained("same", "--epochs 1 --lr 1e-30" + weights);
  EXPECT_EQ(output_.find("the head is new"), std::string::npos) << output_;
  trained("other", "--epochs 1 --classes 7" + weights);
  EXPECT_THAT(output_, HasSubstr("the head is new"));
  EXPECT_THAT(output_, HasSubstr("predictions/kernel [256, 7]: predictions/kernel F32 [256, 3]"));
}

}  // namespace
}  // namespace plimsoll
