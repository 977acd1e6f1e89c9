// torchvision's Faster R-CNNs: every weight finds its own, whatever version wrote the file, and
// what reads a region does so in our order.
#include "tests/interop/torch_files.h"

namespace plimsoll {
namespace {

using interop::ImportedFile;

// As torchvision named them before 0.14.
std::string old_fasterrcnn_name(std::string name) {
  const std::string conv = "rpn.head.conv.";
  if (name.starts_with(conv)) return name.erase(conv.size(), 4);
  for (const std::string level : {"backbone.fpn.inner_blocks.", "backbone.fpn.layer_blocks."})
    if (name.starts_with(level)) return name.erase(level.size() + 1, 2);
  return name;
}

TEST(FasterrcnnNames, OfEveryVersionAreFound) {
  for (const bool old : {false, true}) {
    std::vector<StoredTensor> tensors = torch_tensors("fasterrcnn_r50", 90);
    if (old)
      for (StoredTensor& tensor : tensors) tensor.name = old_fasterrcnn_name(tensor.name);
    const ImportedFile file = named(tensors);
    EXPECT_EQ(file.network, "fasterrcnn_r50");
    EXPECT_EQ(file.preprocessing, "torch");
    EXPECT_TRUE(file.others.empty());
    expect_all_matched(file, 90);
  }
  const ImportedFile small = named(torch_tensors("fasterrcnn_mini", 3));
  EXPECT_EQ(small.network, "fasterrcnn_mini");
  expect_all_matched(small, 3);
}

TEST(FasterrcnnNames, OfAnotherNumberOfClassesMakeTheLastLayersAnew) {
  const ImportedFile file = named(torch_tensors("fasterrcnn_r50", 90));
  const interop::Matching matching = interop::match(file, layers_of("fasterrcnn_r50", 3));
  EXPECT_TRUE(matching.replaces_head);
  EXPECT_EQ(matching.head_width, 90);
  ASSERT_EQ(matching.mismatches.size(), 4U);
  EXPECT_EQ(matching.mismatches[0].ours, "roi_heads.box_predictor.cls_score/kernel [1024, 4]");
  EXPECT_EQ(matching.mismatches[0].theirs,
            "roi_heads.box_predictor.cls_score.weight F32 [91, 1024]");
}

TEST(FasterrcnnNames, OfASecondStageWithConvolutionsAreToldOf) {
  std::vector<StoredTensor> tensors = torch_tensors("fasterrcnn_r50", 90);
  tensors.push_back({.name = "rpn.head.conv.1.0.weight", .shape = {256, 256, 3, 3}});
  const ImportedFile file = named(tensors);
  EXPECT_EQ(file.network, "");
  ASSERT_EQ(file.notes.size(), 1U);
  EXPECT_NE(file.notes[0].find("v2"), std::string::npos);
}

TEST(FasterrcnnNames, AClassifiersWeightsAreABodys) {
  const ImportedFile file = named(torch_tensors("resnet50_torch", 1000));
  const interop::Matching matching = interop::match(file, layers_of("fasterrcnn_r50", 3));
  EXPECT_TRUE(matching.replaces_head);
  EXPECT_EQ(matching.matches.size(), 265U);
  EXPECT_EQ(matching.head_width, 0);
}

TEST(FasterrcnnNames, ADetectorDoesNotTakeTheHeadsOfAnother) {
  const ImportedFile file = named(torch_tensors("retinanet_r50", 91));
  EXPECT_EQ(file.network, "retinanet_r50");
  const ImportedFile other = named(torch_tensors("fasterrcnn_r50", 90));
  EXPECT_FALSE(interop::match(other, layers_of("fasterrcnn_mini", 90)).replaces_head);
}

TEST(FasterrcnnNames, TheEpsilonIsTakenInWhereThereWasNone) {
  const auto notes = [](std::int64_t classes, bool trained) {
    std::vector<StoredTensor> tensors = torch_tensors("fasterrcnn_r50", classes);
    if (trained) tensors.push_back({.name = "backbone.body.bn1.num_batches_tracked", .shape = {}});
    return named(tensors).notes.size();
  };
  EXPECT_EQ(notes(90, false), 1U);
  EXPECT_EQ(notes(90, true), 0U);
  EXPECT_EQ(notes(3, false), 0U);
}

// Ours reads the bins of a region with channels fastest, torchvision's channel by channel.
TEST(FasterrcnnNames, ExportedWeightsComeBack) {
  expect_round_trip("fasterrcnn_mini", [](const SafetensorsReader& raw) {
    constexpr std::int64_t kChannels = 64, kBins = 49, kUnits = 256;
    for (std::size_t t = 0; t < raw.tensors().size(); ++t) {
      if (raw.tensors()[t].name != "roi_heads.box_head.fc6.weight") continue;
      EXPECT_EQ(raw.tensors()[t].shape, (std::vector<std::int64_t>{kUnits, kChannels * kBins}));
      const std::vector<float> kernel = elements(raw, t);
      for (const std::int64_t unit : {0, 100, 255})
        for (const std::int64_t channel : {0, 1, 63})
          for (const std::int64_t bin : {0, 6, 7, 48}) {
            const std::int64_t ours = (bin * kChannels + channel) * kUnits + unit;
            const std::int64_t theirs = (unit * kChannels + channel) * kBins + bin;
            EXPECT_EQ(kernel[static_cast<std::size_t>(theirs)], static_cast<float>(ours % 1021 + 1))
                << unit << " " << channel << " " << bin;
          }
      return;
    }
    FAIL() << "there is no such layer";
  });
}

}  // namespace
}  // namespace plimsoll
