#include "data/source/fashion_mnist.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

std::string images_file(char count) {
  return std::string("\0\0\x08\x03\0\0\0", 7) + count + std::string("\0\0\0\x02\0\0\0\x02", 8) +
         std::string(static_cast<std::size_t>(count) * 4, 'p');
}

std::string labels_file(const std::string& labels) {
  return std::string("\0\0\x08\x01\0\0\0", 7) + static_cast<char>(labels.size()) + labels;
}

TEST(FashionMnist, LoadsTheTestImagesOfThePackage) {
  const Images images = load_fashion_mnist(Split::test);
  EXPECT_EQ(images.count, 10'000);
  EXPECT_EQ(images.height, 28);
  EXPECT_EQ(images.width, 28);
  EXPECT_EQ(images.channels, 1);
  ASSERT_EQ(images.pixels.size(), 7'840'000U);
  ASSERT_EQ(images.labels.size(), 10'000U);
  for (std::int32_t label = 0; label < 10; ++label)
    EXPECT_EQ(std::ranges::count(images.labels, label), 1000);
  EXPECT_EQ(images.class_names[9], "Ankle boot");
  EXPECT_EQ(images.labels[0], 9);
}

TEST(FashionMnist, LoadsTheTrainingImagesOfThePackage) {
  const Images images = load_fashion_mnist(Split::train);
  EXPECT_EQ(images.count, 60'000);
  for (std::int32_t label = 0; label < 10; ++label)
    EXPECT_EQ(std::ranges::count(images.labels, label), 6000);
}

TEST(FashionMnist, SaysWhatToInstall) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(load_fashion_mnist(Split::train, folder.path()), DataError,
                   "hint: apt-get install dataset-fashion-mnist");
}

TEST(FashionMnist, ReadsPlainFilesOfAnotherFolder) {
  const TemporaryFolder folder;
  folder.put("t10k-images-idx3-ubyte", images_file(3));
  folder.put("t10k-labels-idx1-ubyte", labels_file(std::string("\x00\x05\x09", 3)));
  const Images images = load_fashion_mnist(Split::test, folder.path());
  EXPECT_EQ(images.count, 3);
  EXPECT_EQ(images.labels, (std::vector<std::int32_t>{0, 5, 9}));
}

TEST(FashionMnist, RefusesImagesAndLabelsThatDoNotFit) {
  const TemporaryFolder folder;
  folder.put("train-images-idx3-ubyte", images_file(3));
  folder.put("train-labels-idx1-ubyte", labels_file("\x01\x02"));
  EXPECT_COMPLAINT(load_fashion_mnist(Split::train, folder.path()), DataError, "2 labels");
  folder.put("train-labels-idx1-ubyte", labels_file("\x01\x02\x0A"));
  EXPECT_COMPLAINT(load_fashion_mnist(Split::train, folder.path()), DataError,
                   "label 2: class 10; expected 0 to 9");
  folder.put("train-images-idx3-ubyte", labels_file("abc"));
  EXPECT_COMPLAINT(load_fashion_mnist(Split::train, folder.path()), DataError, "1 dimensions");
}

}  // namespace
}  // namespace plimsoll
