#include "run/run_state.h"

#include <gtest/gtest.h>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

TEST(RunState, ComesBackFromACheckpointsMetadataToTheBit) {
  RunState state;
  state.step = 46'831;
  state.loss_sum = 0.1 + 0.2;
  state.best = -1.0 / 3;
  state.smooth_loss = 1e-300;
  state.lr_scale = 0.7;
  state.metric_sums = {{"correct", 1234}, {"absolute_error", 0.1}};
  Metadata metadata;
  put(state, metadata);
  EXPECT_EQ(metadata["correct"], "1234");
  EXPECT_EQ(read_state(metadata, "here"), state);
}

TEST(RunState, AMissingOrMalformedEntryIsNamed) {
  Metadata metadata;
  put(RunState(), metadata);
  for (const char* bad : {"", "x", "-1", "1.5", "99999999999999999999"}) {
    metadata["step"] = bad;
    EXPECT_COMPLAINT(read_state(metadata, "here"), DataError, "here: entry 'step'");
  }
  metadata["step"] = "1";
  metadata["best"] = "nan";
  EXPECT_COMPLAINT(read_state(metadata, "here"), DataError, "entry 'best'");
  metadata["best"] = "none";
  metadata["correct"] = "many";
  EXPECT_COMPLAINT(read_state(metadata, "here"), DataError, "entry 'correct'");
  metadata["correct"] = "1";
  metadata.erase("best");
  EXPECT_COMPLAINT(read_state(metadata, "here"), DataError, "there is none");
}

}  // namespace
}  // namespace plimsoll
