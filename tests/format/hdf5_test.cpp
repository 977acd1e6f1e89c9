#include "format/hdf5.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "format/little_endian.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_files.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

std::vector<std::byte> read_all(const Hdf5File& file, std::size_t tensor) {
  alignas(8) std::array<std::byte, 24> buffer;
  std::vector<std::byte> bytes;
  file.read(tensor, buffer,
            [&](auto piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

void read_whole_hdf5(const fs::path& path) {
  const Hdf5File file(path);
  for (std::size_t t = 0; t < file.tensors().size(); ++t) read_all(file, t);
}

const StoredTensor& tensor_of(const Hdf5File& file, std::string_view path) {
  return file.tensors()[file.root().find(path)->tensor.value()];
}

TEST(Hdf5, ReadsAttributesOfTextAndIntegers) {
  const Hdf5File file(golden_file("interop/unwritten.h5"));
  const Hdf5Object& root = file.root();
  EXPECT_THAT(root.attribute("fixed")->texts, ElementsAre("one", "three"));
  EXPECT_THAT(root.attribute("variable")->texts, ElementsAre("zwei", "drei"));
  EXPECT_THAT(root.attribute("numbers")->integers, ElementsAre(-1, 2));
  EXPECT_TRUE(root.attribute("real")->integers.empty());
  EXPECT_TRUE(root.attribute("empty")->texts.empty());
  EXPECT_EQ(root.text("one"), "text");
  EXPECT_EQ(root.text("absent"), "");
  EXPECT_EQ(root.attribute("absent"), nullptr);
}

TEST(Hdf5, ListsMembersByName) {
  const Hdf5File file(golden_file("interop/many.h5"));
  const Hdf5Object* many = file.root().find("many");
  ASSERT_NE(many, nullptr);
  ASSERT_EQ(many->members.size(), 40U);
  EXPECT_EQ(many->members[9].name, "g09");
  EXPECT_NE(file.root().find("many/g39"), nullptr);
  EXPECT_EQ(file.root().find("many/g40"), nullptr);
  EXPECT_EQ(file.root().find("many//g39"), nullptr);
  EXPECT_EQ(file.root().find(""), &file.root());
}

TEST(Hdf5, ReadsNumbersOfEveryKindItKnows) {
  const Hdf5File file(golden_file("interop/unwritten.h5"));
  EXPECT_EQ(tensor_of(file, "f16").type, ElementType::f16);
  EXPECT_EQ(tensor_of(file, "i8").type, ElementType::i8);
  EXPECT_EQ(tensor_of(file, "scalar").type, ElementType::i64);
  EXPECT_TRUE(tensor_of(file, "scalar").shape.empty());
  const std::vector<std::byte> seven = read_all(file, *file.root().find("scalar")->tensor);
  EXPECT_EQ(seven.front(), std::byte{7});
  EXPECT_FALSE(file.root().find("big_endian")->tensor);
  EXPECT_FALSE(file.root().find("text")->tensor);
}

TEST(Hdf5, ReadsWhatWasNeverWrittenAsZeros) {
  const Hdf5File file(golden_file("interop/unwritten.h5"));
  EXPECT_THAT(tensor_of(file, "x").shape, ElementsAre(3, 5));
  EXPECT_EQ(read_all(file, *file.root().find("x")->tensor), std::vector<std::byte>(60));
}

TEST(Hdf5, ReadsAFileInsideAnother) {
  const TemporaryFolder folder;
  const std::string inner = read_file(golden_file("interop/unwritten.h5"), 1_MiB);
  const fs::path path = folder.put("x", "before" + inner + "behind");
  const Hdf5File file(path, 6, static_cast<std::int64_t>(inner.size()));
  EXPECT_EQ(file.tensors(), Hdf5File(golden_file("interop/unwritten.h5")).tensors());
  EXPECT_EQ(read_all(file, *file.root().find("scalar")->tensor).front(), std::byte{7});
  EXPECT_COMPLAINT(Hdf5File(path, 6, 1 << 20), DataError, "expected 1048576 at byte 6");
}

TEST(Hdf5, RefusesByNameWhatItDoesNotRead) {
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/chunked.h5")), DataError, "a chunked dataset");
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/compressed.h5")), DataError,
                   "compressed or filtered");
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/latest.h5")), DataError, "superblock of version");
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/soft_link.h5")), DataError, "soft link");
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/external_link.h5")), DataError, "newer format");
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/cycle.h5")), DataError, "a cycle");
  EXPECT_COMPLAINT(Hdf5File(golden_file("interop/tiny.keras")), DataError, "no signature of HDF5");
  try {
    const Hdf5File file(golden_file("interop/chunked.h5"));
  } catch (const DataError& error) {
    EXPECT_THAT(error.complaint().hint, testing::HasSubstr("h5py's defaults"));
  }
}

TEST(Hdf5, RefusesShapesLargerThanTheFile) {
  const TemporaryFolder folder;
  const std::string whole = read_file(golden_file("interop/unwritten.h5"), 1_MiB);
  // The shape [3, 5] of a dataset that takes no room in the file.
  std::string shape;
  append_little_endian(shape, 3, 8);
  append_little_endian(shape, 5, 8);
  const std::size_t at = whole.find(shape);
  ASSERT_NE(at, std::string::npos);
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1 << 20, 5},
                                                            {1ULL << 62, 4},
                                                            {0, 1ULL << 62},
                                                            {~0ULL, ~0ULL},
                                                            {1ULL << 32, 1ULL << 32}}) {
    std::string bad;
    append_little_endian(bad, rows, 8);
    append_little_endian(bad, columns, 8);
    std::string bytes = whole;
    bytes.replace(at, bad.size(), bad);
    EXPECT_COMPLAINT(Hdf5File(folder.put("x", bytes)), DataError, "larger than the file");
  }
}

TEST(Hdf5, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string whole = read_file(golden_file("interop/tiny.weights.h5"), 1_MiB);
  for (std::size_t part = 0; part < 50; ++part)
    EXPECT_COMPLAINT(read_whole_hdf5(folder.put("cut", whole.substr(0, whole.size() * part / 50))),
                     DataError, "cut");
}

TEST(Hdf5, SurvivesABitFlippedInEveryByte) {
  const TemporaryFolder folder;
  const std::string whole = read_file(golden_file("interop/unwritten.h5"), 1_MiB);
  const fs::path path = folder.put("damaged", whole);
  const std::int64_t peak = peak_of_allocations([&] {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const auto flip = [&](char byte) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
        file.flush();
      };
      flip(static_cast<char>(whole[at] ^ 1 << at % 8));
      try {
        read_whole_hdf5(path);
      } catch (const DataError&) {
      }
      flip(whole[at]);
    }
  });
  EXPECT_LT(peak, 1 << 20);
}

TEST(Hdf5, ReadsRealFiles) {
  const std::vector<std::pair<std::string, std::size_t>> files = {
      {"dog_cat_weights.h5", 10},
      {"fer2013_mini_XCEPTION.102-0.66.hdf5", 185},
      {"gender_mini_XCEPTION.21-0.95.hdf5", 185},
      {"pretrainedResnet.h5", 117},
      {"vww_96.h5", 385}};
  for (const auto& [name, tensors] : files) {
    SHARED_DATA_OR_SKIP(path, "keras/" + name);
    EXPECT_EQ(Hdf5File(path).tensors().size(), tensors) << name;
    EXPECT_NO_THROW(read_whole_hdf5(path)) << name;
  }
}

}  // namespace
}  // namespace plimsoll
