// Published PyTorch weights in our networks, against what the packages they came with compute.
#include <gtest/gtest.h>

#include "interop/imported_file.h"
#include "interop/match.h"
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

TEST(TorchFiles, EfficientNetLiteGivesThePackagesLogits) {
  SHARED_DATA_OR_SKIP(path, "pretrained/efficientnet-lite0-57934424.pth");
  const nlohmann::json about = {
      {"network", "efficientnet_lite0"}, {"batch", 1}, {"image", {3, 224, 224}}, {"classes", 1000}};
  Trainer trainer = tests::golden_trainer(about, {});
  trainer.open();
  const interop::ImportedFile file = interop::open_imported(path);
  const interop::Matching matching = interop::match(file, trainer.step_graph().layers);
  EXPECT_EQ(matching.matches.size(), trainer.step_graph().parameters.size());
  for (const interop::Mismatch& mismatch : matching.mismatches)
    ADD_FAILURE() << mismatch.ours << " | " << mismatch.theirs;
  interop::load(file, matching.matches, weight_tensors(trainer.session(), trainer.step_graph()));
  tests::fill_batch_by_rule(trainer, about, Purpose::evaluate);
  trainer.evaluate_step(1);
  expect_logits(trainer.logits(Purpose::evaluate, 1),
                tests::load_golden("efficientnet_lite0_logits")["logits"], "evaluation");
}

}  // namespace
}  // namespace plimsoll
