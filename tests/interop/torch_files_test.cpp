// Published PyTorch weights in our networks, against what the packages they came with compute.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/codec/decode.h"
#include "data/picture/transform.h"
#include "interop/imported_file.h"
#include "interop/match.h"
#include "tests/cli/program.h"
#include "tests/support/golden.h"
#include "tests/support/parity.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

TEST(TorchFiles, EfficientNetLiteIsFoundByItsNames) {
  SHARED_DATA_OR_SKIP(path, "pretrained/efficientnet-lite0-57934424.pth");
  const interop::ImportedFile file = interop::open_imported(path);
  EXPECT_EQ(file.network, "efficientnet_lite0");
  EXPECT_EQ(file.preprocessing, "tf");
  EXPECT_EQ(file.format, "PyTorch state_dict (before 1.6)");
  EXPECT_EQ(file.layers.front().name, "stem_conv");
}

// The published network, open for one picture.
struct PublishedLite0 {
  explicit PublishedLite0(const std::filesystem::path& path)
      : trainer(tests::golden_trainer(about, {})) {
    trainer.open();
    const interop::ImportedFile file = interop::open_imported(path);
    const interop::Matching matching = interop::match(file, trainer.step_graph().layers);
    EXPECT_EQ(matching.matches.size(), trainer.step_graph().parameters.size());
    for (const interop::Mismatch& mismatch : matching.mismatches)
      ADD_FAILURE() << mismatch.ours << " | " << mismatch.theirs;
    interop::load(file, matching.matches, weight_tensors(trainer.session(), trainer.step_graph()));
  }
  TensorView logits() {
    trainer.evaluate_step(1);
    return trainer.logits(Purpose::evaluate, 1);
  }

  const nlohmann::json about = {
      {"network", "efficientnet_lite0"}, {"batch", 1}, {"image", {3, 224, 224}}, {"classes", 1000}};
  const nlohmann::json golden = tests::load_golden("efficientnet_lite0_logits");
  Trainer trainer;
};

TEST(TorchFiles, EfficientNetLiteGivesThePackagesLogits) {
  SHARED_DATA_OR_SKIP(path, "pretrained/efficientnet-lite0-57934424.pth");
  PublishedLite0 lite(path);
  tests::fill_batch_by_rule(lite.trainer, lite.about, Purpose::evaluate);
  expect_logits(lite.logits(), lite.golden["logits"], "evaluation");
}

TEST(TorchFiles, EfficientNetLiteSeesInPhotographsWhatThePackageDoes) {
  SHARED_DATA_OR_SKIP(path, "pretrained/efficientnet-lite0-57934424.pth");
  SHARED_DATA_OR_SKIP(flowers, "flowers5");
  PublishedLite0 lite(path);
  constexpr std::int64_t kSide = 224;
  EXPECT_EQ(lite.golden["photographs"].size(), 10U);
  for (const nlohmann::json& photograph : lite.golden["photographs"]) {
    const std::string name = photograph["file"];
    const std::string bytes = content(flowers / name);
    Picture picture;
    Decoder().decode(std::as_bytes(std::span(bytes)), name, {}, picture);
    const std::int64_t left = (picture.width - kSide) / 2, top = (picture.height - kSide) / 2;
    std::vector<std::uint8_t> middle;
    for (std::int64_t y = top; y < top + kSide; ++y) {
      const auto row = picture.pixels.begin() + (y * picture.width + left) * 3;
      middle.insert(middle.end(), row, row + kSide * 3);
    }
    normalise(middle.data(), {kSide, kSide}, 3, {},
              lite.trainer.image(Purpose::evaluate, 1).as<float>());
    const TensorView logits = lite.logits();
    expect_logits(logits, photograph["logits"], name.c_str());
    const float* scores = logits.as<float>();
    EXPECT_EQ(std::max_element(scores, scores + 1000) - scores, photograph["class"].get<int>())
        << name;
  }
}

}  // namespace
}  // namespace plimsoll
