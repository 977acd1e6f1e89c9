// At which rate a body learns that begins with weights of others.
#include <gtest/gtest.h>

#include "job/training_settings.h"

namespace plimsoll {
namespace {

job::TrainingSettings lite0(const std::string& weights) {
  job::TrainingSettings settings;
  settings.model.model = "retinanet_lite0";
  settings.weights = weights;
  return settings;
}

constexpr const char* kBody = "block2a_expand_conv";
constexpr const char* kHead = "head.regression_head.bbox_reg";

TEST(BodyRate, IsATenthWhereTheBodyBringsWhatItLearnt) {
  const Tuning tuning = lite0("lite0.pth").tuning();
  EXPECT_EQ(lr_factor(tuning, kBody, "kernel"), 0.1);
  EXPECT_EQ(lr_factor(tuning, "stem_conv", "kernel"), 0.1);
  EXPECT_EQ(lr_factor(tuning, kHead, "kernel"), 1);
}

TEST(BodyRate, IsThatOfAllWhereNothingIsLearntYet) {
  EXPECT_EQ(lr_factor(lite0("").tuning(), kBody, "kernel"), 1);
}

TEST(BodyRate, GivesWayToWhatIsAskedFor) {
  job::TrainingSettings settings = lite0("lite0.pth");
  settings.lr_for = "block2*=0.5";
  EXPECT_EQ(lr_factor(settings.tuning(), kBody, "kernel"), 0.5);
  EXPECT_EQ(lr_factor(settings.tuning(), "block1a_dwconv", "kernel"), 0.1);
}

}  // namespace
}  // namespace plimsoll
