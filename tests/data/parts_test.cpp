#include "data/source/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

TEST(Parts, AreToldByAWordOfTheName) {
  for (const char* name : {"train", "Training", "x_train.csv", "train2017", "train-00000-of-00010",
                           "mnist-train.tfrecord-00000-of-00001"})
    EXPECT_EQ(part_of(name), "train") << name;
  for (const char* name : {"val", "valid", "VALIDATION", "instances_val2017.json"})
    EXPECT_EQ(part_of(name), "val") << name;
  EXPECT_EQ(part_of("raccoon_test.record"), "test");
  for (const char* name : {"", "trainers", "latest", "trainval", "train_test_all.csv", "cats"})
    EXPECT_EQ(part_of(name), "") << name;
}

TEST(Parts, AreChosenAsAskedElseAsPreferred) {
  const std::vector<std::filesystem::path> all = {"s/a-train-0", "s/a-test-0", "s/a-train-1",
                                                  "s/readme"};
  EXPECT_THAT(choose_part(all, {}, "s").chosen, ElementsAre("s/a-train-0", "s/a-train-1"));
  EXPECT_THAT(choose_part(all, {.part = "testing"}, "s").chosen, ElementsAre("s/a-test-0"));
  EXPECT_THAT(choose_part(all, {.preferred_parts = {"val", "test"}}, "s").chosen,
              ElementsAre("s/a-test-0"));
  EXPECT_THAT(choose_part(all, {}, "s").parts, ElementsAre("train", "test"));
  EXPECT_THAT(choose_part(all, {}, "s").others, ElementsAre("readme"));
}

TEST(Parts, ThatNamesDoNotTellOfAreAllTaken) {
  EXPECT_THAT(choose_part({"a", "b"}, {}, "s").chosen, ElementsAre("a", "b"));
  // One part, and others that belong to none: nothing says that the others are to be left out.
  EXPECT_THAT(choose_part({"a", "b_test"}, {}, "s").chosen, ElementsAre("a", "b_test"));
}

TEST(Parts, ThatAreNotThereAreRefused) {
  EXPECT_COMPLAINT(choose_part({"a"}, {.part = "train"}, "s"), UsageError, "s is not in parts");
  EXPECT_COMPLAINT(choose_part({"a-train", "a-val"}, {.part = "test"}, "s"), UsageError,
                   "s has the parts train and val; expected one of them");
  EXPECT_COMPLAINT(choose_part({"a-train"}, {.part = "tarin"}, "s"), UsageError, "--part tarin");
}

}  // namespace
}  // namespace plimsoll
