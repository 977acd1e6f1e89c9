// Lists of pictures with several labels, or with numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/source/open_source.h"
#include "tests/support/complaints.h"
#include "tests/support/image_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Targets : public testing::Test {
 protected:
  SourcePtr open(const std::string& list, Reading reading = Reading::found) {
    images_.folder().put("list.csv", list);
    return open_source((images_.folder() / "list.csv").string(), {.reading = reading});
  }

  const ImageFolder images_{1, 4};
};

TEST_F(Targets, ARowMayHaveAnyNumberOfLabels) {
  const SourcePtr source = open(
      "c0/00.bmp,sun,sea\nc0/01.bmp,sea\nc0/02.bmp\nc0/03.bmp,sea,boat,sun\n", Reading::labels);
  EXPECT_EQ(source->target_kind(), TargetKind::labels);
  EXPECT_THAT(source->class_names(), ElementsAre("boat", "sea", "sun"));
  ASSERT_EQ(source->size(), 3) << "a row without a label is a defect";
  EXPECT_THAT(source->labels(0), ElementsAre(2, 1));
  EXPECT_THAT(source->labels(1), ElementsAre(1));
  EXPECT_THAT(source->labels(2), ElementsAre(1, 0, 2));
  EXPECT_THAT(source->index().per_class, ElementsAre(1, 3, 2));
  EXPECT_EQ(source->label(0), -1);
  EXPECT_THAT(source->numbers(0), IsEmpty());
  ASSERT_EQ(source->defects().size(), 1U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("line 3"));
}

TEST_F(Targets, EmptyFieldsAreNoLabels) {
  const SourcePtr source = open("c0/00.bmp,sun,\nc0/01.bmp,,\n", Reading::labels);
  ASSERT_EQ(source->size(), 2);
  EXPECT_THAT(source->labels(0), ElementsAre(0));
  EXPECT_THAT(source->labels(1), IsEmpty());
}

TEST_F(Targets, ANumberWithAFractionIsNoClass) {
  const SourcePtr source = open("c0/00.bmp,0.25\nc0/01.bmp,-3\n");
  EXPECT_EQ(source->target_kind(), TargetKind::numbers);
  ASSERT_EQ(source->size(), 2);
  EXPECT_THAT(source->numbers(0), ElementsAre(0.25F));
  EXPECT_THAT(source->numbers(1), ElementsAre(-3.0F));
  EXPECT_THAT(source->class_names(), ElementsAre("number 1"));
}

TEST_F(Targets, WholeNumbersAreClassesUnlessNumbersAreAskedFor) {
  EXPECT_EQ(open("c0/00.bmp,3\nc0/01.bmp,4\n")->target_kind(), TargetKind::label);
  const SourcePtr source =
      open("file,age,height\nc0/00.bmp,3,1.5\nc0/01.bmp,4,1.75\n", Reading::numbers);
  EXPECT_THAT(source->class_names(), ElementsAre("age", "height"));
  EXPECT_THAT(source->numbers(1), ElementsAre(4.0F, 1.75F));
}

TEST_F(Targets, WhatIsNoNumberIsADefectWithItsLine) {
  const SourcePtr source =
      open("c0/00.bmp,0.5\nc0/01.bmp,much\nc0/02.bmp,nan\nc0/03.bmp,1,2\n", Reading::numbers);
  EXPECT_EQ(source->size(), 1);
  ASSERT_EQ(source->defects().size(), 3U);
  EXPECT_THAT(source->defects()[0].got, HasSubstr("'much'"));
  EXPECT_THAT(source->defects()[2].got, HasSubstr("2 numbers"));
}

TEST_F(Targets, APartKeepsTheTargetsOfTheWhole) {
  const SourcePtr source = open("c0/00.bmp,0.5\nc0/01.bmp,1.5\nc0/02.bmp,2.5\n");
  const SourcePtr part = make_subset(source, {2, 0});
  EXPECT_EQ(part->target_kind(), TargetKind::numbers);
  EXPECT_THAT(part->numbers(0), ElementsAre(2.5F));
  EXPECT_THAT(part->numbers(1), ElementsAre(0.5F));
}

}  // namespace
}  // namespace plimsoll
