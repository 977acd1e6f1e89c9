#include "format/tensorflow_checkpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/format/counting.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_files.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

const StoredTensor& find(const TensorflowCheckpoint& file, std::string_view name) {
  for (const StoredTensor& tensor : file.tensors())
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + std::string(name));
}

std::vector<std::byte> bytes_of(const TensorflowCheckpoint& file, std::size_t tensor) {
  alignas(8) std::array<std::byte, 24> buffer;
  std::vector<std::byte> bytes;
  file.read(tensor, buffer, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

template <class T>
std::vector<T> elements_of(const TensorflowCheckpoint& file, std::string_view name) {
  const auto tensor = static_cast<std::size_t>(&find(file, name) - file.tensors().data());
  const std::vector<std::byte> bytes = bytes_of(file, tensor);
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

void read_whole_checkpoint(const fs::path& path) {
  const TensorflowCheckpoint file(path);
  for (std::size_t t = 0; t < file.tensors().size(); ++t) bytes_of(file, t);
}

TEST(TensorflowCheckpoint, ReadsBothFormatsByAnyOfTheirNames) {
  for (const char* name : {"v1.ckpt", "v2.ckpt", "v2.ckpt.index", "v2.ckpt.data-00000-of-00001"}) {
    SCOPED_TRACE(name);
    const TensorflowCheckpoint file(golden_file(std::string("tensorflow/") + name));
    EXPECT_EQ(file.format(), name[1] - '0');
    ASSERT_EQ(file.tensors().size(), 8U);
    EXPECT_EQ(find(file, "Net/Conv2d_1a/weights").shape, (std::vector<std::int64_t>{2, 2, 3, 4}));
    EXPECT_EQ(elements_of<float>(file, "Net/Conv2d_1a/weights"), counting(0.F, 48));
    EXPECT_EQ(elements_of<float>(file, "Net/Conv2d_1a/BatchNorm/beta"), counting(1.F, 4));
    EXPECT_EQ(elements_of<double>(file, "double"), counting(3.0, 3));
    EXPECT_EQ(elements_of<float>(file, "flat"), std::vector<float>(800, 0.5F));
    EXPECT_EQ(elements_of<std::int64_t>(file, "global_step"),
              std::vector<std::int64_t>{1234567890123});
    EXPECT_EQ(elements_of<std::int32_t>(file, "small"), counting(-2, 3));
    EXPECT_TRUE(elements_of<float>(file, "none").empty());
  }
}

TEST(TensorflowCheckpoint, RefusesVariablesInSlices) {
  EXPECT_COMPLAINT(TensorflowCheckpoint(golden_file("tensorflow/sliced1.ckpt")), DataError,
                   "slices");
  EXPECT_COMPLAINT(TensorflowCheckpoint(golden_file("tensorflow/sliced2.ckpt")), DataError,
                   "slices");
}

TEST(TensorflowCheckpoint, NamesWhatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(TensorflowCheckpoint(folder / "absent"), DataError, "absent");
  folder.put("x.index", read_file(golden_file("tensorflow/v2.ckpt.index"), 1_MiB));
  EXPECT_COMPLAINT(TensorflowCheckpoint(folder / "x"), DataError, "x.data-00000-of-00001");
}

TEST(TensorflowCheckpoint, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string table = read_file(golden_file("tensorflow/v1.ckpt"), 1_MiB);
  for (std::size_t size = 0; size < table.size(); size += 43)
    EXPECT_COMPLAINT(read_whole_checkpoint(folder.put("cut", table.substr(0, size))), DataError,
                     "cut");
  const std::string data = read_file(golden_file("tensorflow/v2.ckpt.data-00000-of-00001"), 1_MiB);
  folder.put("x.index", read_file(golden_file("tensorflow/v2.ckpt.index"), 1_MiB));
  for (std::size_t size = 0; size < data.size(); size += 43) {
    folder.put("x.data-00000-of-00001", data.substr(0, size));
    EXPECT_COMPLAINT(read_whole_checkpoint(folder / "x"), DataError, "expected it within the file");
  }
}

TEST(TensorflowCheckpoint, NoticesEveryFlippedBit) {
  const TemporaryFolder folder;
  const std::string table = read_file(golden_file("tensorflow/v1.ckpt"), 1_MiB);
  // Behind the footer's two places there is only padding.
  for (std::size_t at = 0; at < table.size() - 48; at += 3) {
    std::string damaged = table;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    const fs::path path = folder.put("damaged", damaged);
    // The block of statistics is never read.
    try {
      read_whole_checkpoint(path);
      EXPECT_GT(at, table.size() - 200) << at;
    } catch (const DataError&) {
    }
  }
  const std::string data = read_file(golden_file("tensorflow/v2.ckpt.data-00000-of-00001"), 1_MiB);
  folder.put("x.index", read_file(golden_file("tensorflow/v2.ckpt.index"), 1_MiB));
  for (std::size_t at = 0; at < data.size(); at += 7) {
    std::string damaged = data;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    folder.put("x.data-00000-of-00001", damaged);
    EXPECT_COMPLAINT(read_whole_checkpoint(folder / "x"), DataError, "do not match their checksum");
  }
}

}  // namespace
}  // namespace plimsoll
