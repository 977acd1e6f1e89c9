// torchvision's RetinaNets: every weight finds its own, whatever version wrote the file; what is
// not as ours is changed on the way.
#include <cmath>

#include "interop/changed_tensors.h"
#include "tests/interop/torch_files.h"

namespace plimsoll {
namespace {

using interop::ImportedFile;

// As torchvision named them before 0.14.
std::string old_retinanet_name(std::string name) {
  for (const std::string tower : {"head.classification_head.conv.", "head.regression_head.conv."})
    if (name.starts_with(tower)) {
      const int number = name[tower.size()] - '0';
      return tower + std::to_string(2 * number) + name.substr(tower.size() + 3);
    }
  for (const std::string level : {"backbone.fpn.inner_blocks.", "backbone.fpn.layer_blocks."})
    if (name.starts_with(level)) return name.erase(level.size() + 1, 2);
  return name;
}

TEST(RetinanetNames, OfEveryVersionAreFound) {
  for (const bool old : {false, true}) {
    std::vector<StoredTensor> tensors = torch_tensors("retinanet_r50", 91);
    if (old)
      for (StoredTensor& tensor : tensors) tensor.name = old_retinanet_name(tensor.name);
    const ImportedFile file = named(tensors);
    EXPECT_EQ(file.network, "retinanet_r50");
    EXPECT_EQ(file.preprocessing, "torch");
    EXPECT_TRUE(file.others.empty());
    expect_all_matched(file, 90);
  }
}

TEST(RetinanetNames, OfOurSmallOnesAreFound) {
  for (const std::string network : {"retinanet_mini", "retinanet_lite0"}) {
    const ImportedFile file = named(torch_tensors(network, 4));
    EXPECT_EQ(file.network, network);
    EXPECT_EQ(file.preprocessing, "tf");
    expect_all_matched(file, 3);
  }
}

TEST(RetinanetNames, OfAnotherNumberOfClassesMakeTheClassOutputAnew) {
  const ImportedFile file = named(torch_tensors("retinanet_r50", 91));
  const interop::Matching matching = interop::match(file, layers_of("retinanet_r50", 3));
  EXPECT_TRUE(matching.replaces_head);
  EXPECT_EQ(matching.head_width, 90);
  ASSERT_EQ(matching.mismatches.size(), 2U);
  EXPECT_EQ(matching.mismatches[0].ours,
            "head.classification_head.cls_logits/kernel [27, 256, 3, 3]");
  EXPECT_EQ(matching.mismatches[0].theirs,
            "head.classification_head.cls_logits.weight F32 [810, 256, 3, 3]");
}

TEST(RetinanetNames, OfHeadsWithGroupNormAreToldOf) {
  std::vector<StoredTensor> tensors = torch_tensors("retinanet_r50", 91);
  tensors.push_back({.name = "head.classification_head.conv.0.1.weight", .shape = {256}});
  const ImportedFile file = named(tensors);
  EXPECT_EQ(file.network, "");
  ASSERT_EQ(file.notes.size(), 1U);
  EXPECT_NE(file.notes[0].find("GroupNorm"), std::string::npos);
}

TEST(RetinanetNames, AClassifiersWeightsAreABodys) {
  struct Pair {
    const char *classifier, *detector;
    std::size_t body;  // weights
  };
  for (const Pair& pair : {Pair{"resnet50_torch", "retinanet_r50", 265},
                           Pair{"efficientnet_lite0", "retinanet_lite0", 240}}) {
    const ImportedFile file = named(torch_tensors(pair.classifier, 1000));
    const interop::Matching matching = interop::match(file, layers_of(pair.detector, 3));
    EXPECT_TRUE(matching.replaces_head) << pair.detector;
    EXPECT_EQ(matching.matches.size(), pair.body) << pair.detector;
    EXPECT_EQ(matching.head_width, 0);
    for (const interop::Mismatch& mismatch : matching.mismatches)
      EXPECT_TRUE(mismatch.ours.empty() || mismatch.ours.starts_with("backbone.fpn.") ||
                  mismatch.ours.starts_with("head."))
          << mismatch.ours;
  }
}

TEST(RetinanetNames, ADetectorDoesNotTakeTheBodyOfAnother) {
  const ImportedFile file = named(torch_tensors("efficientnet_lite0", 1000));
  EXPECT_FALSE(interop::match(file, layers_of("retinanet_mini", 3)).replaces_head);
}

// Only COCO's published weights are of BatchNorms that are constants without an epsilon.
TEST(RetinanetNames, TheEpsilonIsTakenInWhereThereWasNone) {
  const auto notes = [](std::int64_t columns, bool trained) {
    std::vector<StoredTensor> tensors = torch_tensors("retinanet_r50", columns);
    if (trained) tensors.push_back({.name = "backbone.body.bn1.num_batches_tracked", .shape = {}});
    return named(tensors).notes.size();
  };
  EXPECT_EQ(notes(91, false), 2U);
  EXPECT_EQ(notes(91, true), 1U) << "the background alone";
  EXPECT_EQ(notes(4, false), 1U);
}

TEST(ChangedTensors, LeaveOutRows) {
  const auto held = std::make_shared<HeldTensors>();
  held->add("kernel", {4, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  held->add("bias", {6}, {0, 1, 2, 3, 4, 5});
  held->add("other", {2}, {7, 8});
  interop::ChangedTensors changed(held);
  changed.leave_out_rows(0, 2);
  changed.leave_out_rows(1, 3);
  EXPECT_EQ(changed.tensors()[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(elements(changed, 0), (std::vector<float>{10, 11, 12, 30, 31, 32}));
  EXPECT_EQ(elements(changed, 1), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(elements(changed, 2), (std::vector<float>{7, 8}));
}

TEST(ChangedTensors, CombineTwoVectors) {
  const auto held = std::make_shared<HeldTensors>();
  held->add("gamma", {5}, {1, 2, 3, 4, 5});
  held->add("variance", {5}, {10, 20, 30, 40, 50});
  interop::ChangedTensors changed(held);
  changed.combine(0, 1, [](float a, float b) { return a + b; });
  EXPECT_EQ(elements(changed, 0), (std::vector<float>{11, 22, 33, 44, 55}));
  EXPECT_EQ(elements(changed, 1), (std::vector<float>{10, 20, 30, 40, 50}));
}

// A channel whose variance is far below the epsilon has the published scale all the same.
TEST(RetinanetNames, PublishedScalesAreKept) {
  const auto held = std::make_shared<HeldTensors>();
  const std::vector<float> gammas{1, 1e-8F, -0.5F}, variances{0.25F, 5.6e-45F, 3e-6F};
  for (StoredTensor& tensor : torch_tensors("retinanet_r50", 91)) {
    std::vector<float> values;
    if (tensor.name == "backbone.body.bn1.weight") values = gammas;
    if (tensor.name == "backbone.body.bn1.running_var") values = variances;
    held->add(tensor.name, tensor.shape, values);
  }
  ImportedFile file{.tensors = held};
  interop::name_torch_layers(file);
  for (const interop::ImportedLayer& layer : file.layers) {
    if (layer.name != "backbone.body.bn1") continue;
    for (const interop::ImportedWeight& weight : layer.weights) {
      if (weight.weight != "gamma") continue;
      const std::vector<float> made = elements(*file.tensors, weight.tensor);
      ASSERT_EQ(made.size(), gammas.size());
      for (std::size_t c = 0; c < made.size(); ++c) {
        const double wanted = double{gammas[c]} / std::sqrt(double{variances[c]});
        const double got = double{made[c]} / std::sqrt(double{variances[c]} + 1e-5);
        EXPECT_NEAR(got, wanted, 1e-6 * std::abs(wanted)) << c;
      }
      return;
    }
  }
  FAIL() << "there is no such gamma";
}

// What is exported has the background again, never positive, and comes back as it was.
TEST(RetinanetNames, ExportedWeightsComeBack) {
  expect_round_trip("retinanet_mini", [](const SafetensorsReader& raw) {
    const std::string output = "head.classification_head.cls_logits";
    for (std::size_t t = 0; t < raw.tensors().size(); ++t) {
      const StoredTensor& tensor = raw.tensors()[t];
      if (tensor.name == output + ".bias") {
        ASSERT_EQ(tensor.shape, std::vector<std::int64_t>{9 * 4});
        const std::vector<float> biases = elements(raw, t);
        for (std::size_t i = 0; i < biases.size(); ++i)
          EXPECT_EQ(biases[i] == -100, i % 4 == 0) << i;
      } else if (tensor.name == output + ".weight") {
        const std::vector<float> kernel = elements(raw, t);
        for (std::size_t i = 0; i < kernel.size(); ++i)
          ASSERT_EQ(kernel[i] == 0, i / (64 * 9) % 4 == 0) << i;
      }
    }
  });
}

}  // namespace
}  // namespace plimsoll
