#include "format/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> counting_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

const std::vector<StoredTensor> kTensors = {
    {.name = "conv/kernel", .type = ElementType::f32, .shape = {3, 3, 2, 4}},
    {.name = "none", .type = ElementType::f16, .shape = {0, 5}},
    {.name = "step", .type = ElementType::i64, .shape = {}},
    {.name = "mask", .type = ElementType::u8, .shape = {3}},
};
const Metadata kMetadata = {{"format", "plimsoll"}, {"quote", "a \"b\" \n \xC3\xA9"}};

// Writes kTensors in pieces of `piece` bytes.
fs::path write_sample(const fs::path& path, std::size_t piece) {
  SafetensorsWriter writer(path, kTensors, kMetadata);
  for (const StoredTensor& tensor : kTensors) {
    const std::vector<std::byte> bytes = counting_bytes(static_cast<std::size_t>(tensor.bytes()));
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      writer.append(tensor.name, std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
  }
  writer.commit();
  return path;
}

std::vector<std::byte> read_all(const SafetensorsReader& reader, std::string_view name,
                                std::size_t buffer_size) {
  std::vector<std::byte> buffer(buffer_size);
  std::vector<std::byte> bytes;
  reader.read(name, buffer, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

void read_whole_safetensors(const fs::path& path) {
  const SafetensorsReader reader(path);
  for (const StoredTensor& tensor : reader.tensors()) read_all(reader, tensor.name, 16);
}

// A file with this JSON and so many bytes of data.
std::string file_of(const std::string& json, std::size_t payload) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(json.size() >> (8 * i) & 0xFF);
  return bytes + json + std::string(payload, 'x');
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const TemporaryFolder folder;
  const SafetensorsReader reader(write_sample(folder / "x", 10));
  EXPECT_EQ(reader.tensors(), kTensors);
  EXPECT_EQ(reader.metadata(), kMetadata);
  EXPECT_TRUE(reader.has_checksums());
  for (const StoredTensor& tensor : kTensors) {
    ASSERT_NE(reader.find(tensor.name), nullptr);
    for (const std::size_t buffer : {1, 7, 1000})
      EXPECT_EQ(read_all(reader, tensor.name, buffer),
                counting_bytes(static_cast<std::size_t>(tensor.bytes())));
  }
  EXPECT_EQ(reader.find("absent"), nullptr);
  EXPECT_EQ(reader.find("plimsoll.crc32"), nullptr);
  std::array<std::byte, 16> buffer{};
  EXPECT_NO_THROW(reader.verify(buffer));
}

TEST(Safetensors, WritesTheSameBytesWhateverThePieces) {
  const TemporaryFolder folder;
  const std::string one = read_file(write_sample(folder / "a", 1), 1_MiB);
  EXPECT_EQ(one, read_file(write_sample(folder / "b", 1000), 1_MiB));
  // The header is a part of the format that other programs read: fixed here byte for byte.
  EXPECT_EQ(one.substr(8, one.find("}}", one.find("plimsoll.crc32")) + 2 - 8),
            R"({"__metadata__":{"format":"plimsoll","quote":"a \"b\" \n é"},)"
            R"("conv/kernel":{"dtype":"F32","shape":[3,3,2,4],"data_offsets":[0,288]},)"
            R"("none":{"dtype":"F16","shape":[0,5],"data_offsets":[288,288]},)"
            R"("step":{"dtype":"I64","shape":[],"data_offsets":[288,296]},)"
            R"("mask":{"dtype":"U8","shape":[3],"data_offsets":[296,299]},)"
            R"("plimsoll.crc32":{"dtype":"U8","shape":[20],"data_offsets":[299,319]}})");
  EXPECT_EQ((one.size() - 319) % 8, 0U);
}

TEST(Safetensors, LeavesNothingWhenNotCommitted) {
  const TemporaryFolder folder;
  { SafetensorsWriter writer(folder / "x", kTensors, {}); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Safetensors, HoldsNoTensorsToo) {
  const TemporaryFolder folder;
  SafetensorsWriter(folder / "x", {}, {}).commit();
  EXPECT_TRUE(SafetensorsReader(folder / "x").tensors().empty());
}

TEST(Safetensors, RefusesNamesThatCannotBeStored) {
  const TemporaryFolder folder;
  const auto write = [&](std::vector<StoredTensor> tensors) {
    SafetensorsWriter(folder / "x", std::move(tensors), {});
  };
  EXPECT_COMPLAINT(write({{.name = "__metadata__"}}), UsageError, "reserved");
  EXPECT_COMPLAINT(write({{.name = "plimsoll.crc32"}}), UsageError, "reserved");
  EXPECT_COMPLAINT(write({{.name = "a"}, {.name = "a"}}), UsageError, "'a'");
  EXPECT_COMPLAINT(write({{.name = "\xFF\xFE"}}), UsageError, "UTF-8");
}

TEST(Safetensors, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string whole = read_file(write_sample(folder / "x", 64), 1_MiB);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const fs::path path = folder.put("cut", whole.substr(0, size));
    EXPECT_COMPLAINT(read_whole_safetensors(path), DataError, "cut");
  }
}

TEST(Safetensors, NoticesEveryFlippedBit) {
  const TemporaryFolder folder;
  const std::string whole = read_file(write_sample(folder / "x", 64), 1_MiB);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    const fs::path path = folder.put("damaged", damaged);
    // A flip in the name of the checksums makes the file one without checksums: that tensor is
    // then listed, which callers see as one they do not know.
    try {
      const SafetensorsReader reader(path);
      for (const StoredTensor& tensor : reader.tensors()) read_all(reader, tensor.name, 64);
      EXPECT_EQ(reader.tensors().size(), kTensors.size() + 1) << "byte " << at;
    } catch (const DataError&) {
    }
  }
}

TEST(Safetensors, NamesTheDamagedTensor) {
  const TemporaryFolder folder;
  std::string bytes = read_file(write_sample(folder / "x", 64), 1_MiB);
  bytes[bytes.size() - 22] ^= 1;
  const SafetensorsReader reader(folder.put("y", bytes));
  EXPECT_NO_THROW(read_all(reader, "step", 64));
  EXPECT_COMPLAINT(read_all(reader, "mask", 64), DataError, "tensor 'mask'");
  std::array<std::byte, 16> buffer{};
  EXPECT_COMPLAINT(reader.verify(buffer), DataError, "tensor 'mask'");
}

TEST(Safetensors, ReadsFilesOfOtherPrograms) {
  const TemporaryFolder folder;
  const SafetensorsReader reader(
      folder.put("x", file_of(R"({ "b" : {"shape":[2],"data_offsets":[2,6],"dtype":"BF16"}, )"
                              R"("a":{"dtype":"BOOL","shape":[1,2],"data_offsets":[0,2]}}   )",
                              6)));
  ASSERT_EQ(reader.tensors().size(), 2U);
  EXPECT_EQ(reader.tensors()[0].name, "a");
  EXPECT_EQ(reader.tensors()[1].type, ElementType::bf16);
  EXPECT_FALSE(reader.has_checksums());
  EXPECT_EQ(read_all(reader, "b", 3).size(), 4U);
}

struct BadHeader {
  const char* json;
  std::size_t payload;
  const char* complaint;
};

TEST(Safetensors, SaysWhatIsWrongWithAHeader) {
  const std::vector<BadHeader> cases = {
      {"", 8, "does not start with '{'"},
      {" {}", 0, "does not start with '{'"},
      {"[]", 0, "does not start with '{'"},
      {"{", 0, "not JSON"},
      {"{}x", 0, "not JSON"},
      {"{\"\xFF\":1}", 0, "not JSON"},
      {R"({"a":1})", 0, "a number at 'a'"},
      {R"({"a":[]})", 0, "an array at 'a'"},
      {R"({"a":null})", 0, "null at 'a'"},
      {R"({"a":{"dtype":"F32"}})", 0, "tensor 'a' is incomplete"},
      {R"({"a":{"dtype":"F31","shape":[],"data_offsets":[0,4]}})", 4, "type 'F31'"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "not negative"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "1.0 in 'shape'"},
      {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4, "an array in 'shape'"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0]}})", 4, "1 offsets"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,8]}})", 4, "a third offset"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4,0]}})", 4, "[4, 0)"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})", 4, "key 'x'"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4, "second key"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "expected 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 3, "cut short"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 5, "where the last tensor ends"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "leave a gap"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "overlap"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "'a' is there twice"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0, "2^63"},
      {R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0, "2^63"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", 1, "2^63"},
      {R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1]}})", 1, "shape"},
      {R"({"__metadata__":{"a":1}})", 0, "expected a string"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", 0, "metadata 'a' is there twice"},
      {R"({"__metadata__":{"a":{}}})", 0, "expected a string"},
      {R"({"plimsoll.crc32":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "CRC-32"},
  };
  const TemporaryFolder folder;
  for (const BadHeader& bad : cases) {
    SCOPED_TRACE(bad.json);
    EXPECT_COMPLAINT(SafetensorsReader(folder.put("x", file_of(bad.json, bad.payload))), DataError,
                     bad.complaint);
  }
}

TEST(Safetensors, SaysAtWhichByteOfTheFile) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(SafetensorsReader(folder.put("x", file_of(R"({"a":null})", 0))), DataError,
                   "x: byte 1");
  EXPECT_COMPLAINT(SafetensorsReader(folder.put("x", "1234")), DataError, "4 bytes");
}

TEST(Safetensors, BelievesNoLengthBeyondTheFile) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(SafetensorsReader(folder.put("x", std::string(8, '\xFF') + "{}")), DataError,
                   "18446744073709551615 bytes; expected at most 2");
}

TEST(Safetensors, RefusesHeadersBeyondTheFormatsLimit) {
  const TemporaryFolder folder;
  const std::string length("\x01\xE1\xF5\x05\0\0\0\0", 8);  // 100,000,001
  const fs::path path = folder.put("x", length + "{}");
  fs::resize_file(path, 200'000'000);
  EXPECT_COMPLAINT(SafetensorsReader{path}, DataError, "expected at most 100000000");
}

TEST(Safetensors, SurvivesDeepNesting) {
  const TemporaryFolder folder;
  const std::string deep = R"({"a":)" + std::string(1'000'000, '[');
  EXPECT_COMPLAINT(SafetensorsReader(folder.put("x", file_of(deep, 0))), DataError, "an array");
}

TEST(ElementTypes, AreSpelledAsSafetensorsDoes) {
  EXPECT_EQ(name_of(ElementType::f32), "F32");
  EXPECT_EQ(name_of(ElementType::boolean), "BOOL");
  EXPECT_EQ(size_of(ElementType::bf16), 2);
  EXPECT_EQ(find_element_type("I64"), ElementType::i64);
  EXPECT_EQ(find_element_type("f32"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll
