#include "base/text.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Text, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("adma", "adam"), 1);
}

TEST(Text, OffersTheNearestName) {
  const std::vector<std::string> models = {"inception_v3", "xception", "resnet50", "vgg16"};
  EXPECT_EQ(nearest("inception3", models), "inception_v3");
  EXPECT_EQ(nearest("Xception", models), "xception");
  EXPECT_EQ(nearest("resent50", models), "resnet50");
  EXPECT_EQ(nearest("vgg19", models), "vgg16");
}

TEST(Text, OffersNothingWhenNothingIsNear) {
  const std::vector<std::string> models = {"inception_v3", "xception"};
  EXPECT_EQ(nearest("bert", models), std::nullopt);
  EXPECT_EQ(nearest("", models), std::nullopt);
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), std::nullopt);
  EXPECT_EQ(nearest("xception", std::vector<std::string>{}), std::nullopt);
}

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, ReadsWholeNumbersThatAreAllOfIt) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "0x1", "9223372036854775808"})
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  EXPECT_EQ(to_lower("IMG_1.JPeG \xC3\x84"), "img_1.jpeg \xC3\x84");
}

TEST(Text, ListsThePathUpToItsRoot) {
  EXPECT_EQ(levels("/a/b"), (std::vector<std::string>{"/a/b", "/a", "/"}));
  EXPECT_EQ(levels("a/b/"), (std::vector<std::string>{"a/b", "a"}));
  EXPECT_EQ(levels("/"), (std::vector<std::string>{"/"}));
  EXPECT_EQ(levels(""), (std::vector<std::string>{}));
}

}  // namespace
}  // namespace plimsoll
