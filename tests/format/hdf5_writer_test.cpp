#include "format/hdf5_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

// The file with all its datasets zero.
std::string file_of(const Hdf5Plan& plan) {
  std::string file = plan.head;
  file.resize(static_cast<std::size_t>(plan.bytes));
  return file;
}

TEST(Hdf5Writer, WhatItPlansIsRead) {
  const TemporaryFolder folder;
  Hdf5NewGroup root;
  root.attributes = {{"one", {"text"}}, {"list", {"a"}, true}, {"none", {}, true}};
  Hdf5NewGroup& inner = root.group("a/b");
  inner.datasets.push_back({.name = "x", .type = ElementType::f32, .shape = {2, 3}});
  inner.datasets.push_back({.name = "step", .type = ElementType::i64, .shape = {}});
  inner.datasets.push_back({.name = "half", .type = ElementType::f16, .shape = {3}});
  const Hdf5Plan plan = plan_hdf5(root);
  const Hdf5File file(folder.put("x", file_of(plan)));
  EXPECT_EQ(file.root().text("one"), "text");
  EXPECT_THAT(file.root().attribute("list")->texts, ElementsAre("a"));
  EXPECT_TRUE(file.root().attribute("none")->texts.empty());
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[2].name, "a/b/x");
  EXPECT_THAT(file.tensors()[2].shape, ElementsAre(2, 3));
  EXPECT_EQ(file.tensors()[0].type, ElementType::f16);
  EXPECT_EQ(plan.bytes, static_cast<std::int64_t>(plan.head.size()) + 24 + 8 + 8);
}

TEST(Hdf5Writer, GroupsMayBeLarge) {
  const TemporaryFolder folder;
  for (const int count : {0, 1, 8, 9, 256, 257, 9000}) {
    Hdf5NewGroup root;
    for (int i = 0; i < count; ++i)
      root.datasets.push_back({.name = std::to_string(i), .type = ElementType::f32, .shape = {1}});
    const Hdf5File file(folder.put("x", file_of(plan_hdf5(root))));
    EXPECT_EQ(file.root().members.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(file.root().find(std::to_string(count - 1)) != nullptr, count > 0);
  }
}

TEST(Hdf5Writer, TextsMayBeLongAndMany) {
  const TemporaryFolder folder;
  Hdf5NewGroup root;
  const std::string large(300'000, 'x');
  root.attributes.push_back({"config", {large}});
  for (int i = 0; i < 40; ++i)
    root.group("g" + std::to_string(i))
        .attributes.push_back({"names", std::vector<std::string>(2000, std::to_string(i)), true});
  const Hdf5File file(folder.put("x", file_of(plan_hdf5(root))));
  EXPECT_EQ(file.root().text("config"), large);
  EXPECT_EQ(file.root().find("g39")->attribute("names")->texts.back(), "39");
}

}  // namespace
}  // namespace plimsoll
