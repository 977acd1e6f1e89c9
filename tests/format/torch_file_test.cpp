#include "format/torch_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "tests/format/counting.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_files.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::size_t index_of(const TorchFile& file, std::string_view name) {
  for (std::size_t t = 0; t < file.tensors().size(); ++t)
    if (file.tensors()[t].name == name) return t;
  throw std::runtime_error("no tensor " + std::string(name));
}

std::vector<std::byte> bytes_of(const TorchFile& file, std::size_t tensor, std::size_t room) {
  alignas(8) std::array<std::byte, 64> buffer;
  std::vector<std::byte> bytes;
  file.read(tensor, std::span(buffer).first(room), [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

template <class T>
std::vector<T> elements_of(const TorchFile& file, std::string_view name, std::size_t room = 24) {
  const std::vector<std::byte> bytes = bytes_of(file, index_of(file, name), room);
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

void read_whole_torch_file(const fs::path& path) {
  const TorchFile file(path);
  for (std::size_t t = 0; t < file.tensors().size(); ++t) bytes_of(file, t, 64);
}

TEST(TorchFile, ReadsEveryFormAlike) {
  for (const char* name : {"archive.pth", "old.pth", "protocol4.pth", "wrapped.pth"}) {
    SCOPED_TRACE(name);
    const TorchFile file(golden_file(std::string("torch/") + name));
    ASSERT_EQ(file.tensors().size(), 12U);
    EXPECT_EQ(
        file.tensors()[0],
        (StoredTensor{.name = "conv.weight", .type = ElementType::f32, .shape = {2, 3, 2, 2}}));
    EXPECT_EQ(elements_of<float>(file, "conv.weight"), counting(0.F, 24));
    EXPECT_EQ(elements_of<float>(file, "conv.weight", 8), counting(0.F, 24));
    EXPECT_EQ(elements_of<std::int64_t>(file, "bn.num_batches_tracked"),
              std::vector<std::int64_t>{7});
    EXPECT_EQ(elements_of<float>(file, "turned"),
              (std::vector<float>{2, 7, 12, 3, 8, 13, 4, 9, 14, 5, 10, 15, 6, 11, 16}));
    EXPECT_EQ(elements_of<float>(file, "shared.all"), counting(3.F, 24));
    EXPECT_EQ(elements_of<float>(file, "shared.part"),
              (std::vector<float>{11, 12, 13, 17, 18, 19}));
    EXPECT_EQ(elements_of<double>(file, "double"), counting(7.0, 2));
    EXPECT_EQ(elements_of<std::uint8_t>(file, "byte"), counting<std::uint8_t>(8, 5));
    EXPECT_EQ(elements_of<float>(file, "parameter"), counting(11.F, 4));
    EXPECT_EQ(file.tensors()[index_of(file, "half")].type, ElementType::f16);
    EXPECT_EQ(file.tensors()[index_of(file, "bfloat")].type, ElementType::bf16);
    EXPECT_EQ(file.tensors()[index_of(file, "bool")].type, ElementType::boolean);
    EXPECT_TRUE(elements_of<float>(file, "none").empty());
  }
  EXPECT_TRUE(TorchFile(golden_file("torch/archive.pth")).is_archive());
  EXPECT_FALSE(TorchFile(golden_file("torch/old.pth")).is_archive());
}

TEST(TorchFile, RunsNothingThatAFileCalls) {
  EXPECT_COMPLAINT(TorchFile(golden_file("torch/attack.pth")), DataError, "calls posix.system");
  EXPECT_COMPLAINT(TorchFile(golden_file("torch/attack.pkl")), DataError, "what torch.save writes");
}

TEST(TorchFile, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  for (const char* name : {"archive.pth", "old.pth"}) {
    const std::string whole = read_file(golden_file(std::string("torch/") + name), 1_MiB);
    for (std::size_t size = 0; size < whole.size(); size += whole.size() / 200)
      EXPECT_COMPLAINT(read_whole_torch_file(folder.put("cut", whole.substr(0, size))), DataError,
                       "cut");
  }
}

TEST(TorchFile, SurvivesEveryFlippedBit) {
  const TemporaryFolder folder;
  for (const char* name : {"archive.pth", "old.pth"}) {
    const std::string whole = read_file(golden_file(std::string("torch/") + name), 1_MiB);
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
      const fs::path path = folder.put("damaged", damaged);
      try {
        read_whole_torch_file(path);
      } catch (const DataError&) {
      }
    }
  }
}

// One float, as the old form with this shape and these strides (each a pickled tuple).
std::string one_float(std::string_view shape, std::string_view strides) {
  using namespace std::string_literals;
  const std::string prefix = "\x80\x02";
  return prefix + "\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19." + prefix + "M\xE9\x03." +
         prefix + "}." + prefix + "}X\x01\0\0\0a"s + "ctorch._utils\n_rebuild_tensor\n(" +
         "(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0kX\x03\0\0\0cpuK\x01NtQK\0"s +
         std::string(shape) + std::string(strides) + "tRs." + prefix + "]X\x01\0\0\0ka."s +
         "\x01\0\0\0\0\0\0\0\0\0\x80\x3F"s;
}

TEST(TorchFile, BelievesNoShapeOrStrideBeyondTheStorage) {
  const TemporaryFolder folder;
  using namespace std::string_literals;
  const TorchFile good(folder.put("x", one_float("K\x01\x85", "K\x01\x85")));
  EXPECT_EQ(elements_of<float>(good, "a"), std::vector<float>{1.F});
  const auto open = [&](std::string_view shape, std::string_view strides) {
    TorchFile(folder.put("x", one_float(shape, strides)));
  };
  EXPECT_COMPLAINT(open("K\x02\x85", "K\x01\x85"), DataError, "tensor 'a': F32 [2] reaches beyond");
  EXPECT_COMPLAINT(open("K\x02\x85", "K\0\x85"s), DataError, "reaches beyond");
  EXPECT_COMPLAINT(open("K\x01\x85", ")"), DataError, "strides for another shape");
  EXPECT_COMPLAINT(open("J\xFF\xFF\xFF\xFF\x85", "K\x01\x85"), DataError, "sizes from 0 up");
  const std::string huge = "\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x85";
  EXPECT_COMPLAINT(open(huge, "K\x01\x85"), DataError, "2^63");
  EXPECT_COMPLAINT(open("K\x02\x85", huge), DataError, "reaches beyond");
}

TEST(TorchFile, ReadsAPublishedFile) {
  SHARED_DATA_OR_SKIP(path, "pretrained/efficientnet-lite0-57934424.pth");
  const TorchFile file(path);
  EXPECT_FALSE(file.is_archive());
  EXPECT_EQ(file.tensors().front(),
            (StoredTensor{
                .name = "_conv_stem.weight", .type = ElementType::f32, .shape = {32, 3, 3, 3}}));
  EXPECT_NO_THROW(read_whole_torch_file(path));
}

}  // namespace
}  // namespace plimsoll
