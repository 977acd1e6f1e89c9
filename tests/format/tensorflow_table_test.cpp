#include "format/tensorflow_table.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "format/little_endian.h"
#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using namespace std::string_literals;

// A block with its type and checksum.
std::string block_of(const std::string& contents, char type = 0) {
  std::string block = contents + type;
  append_little_endian(block, mask_crc32c(crc32c(std::as_bytes(std::span(block)))), 4);
  return block;
}

// An entry whose key shares `shared` bytes with the one before.
std::string entry_of(char shared, const std::string& added, const std::string& value) {
  return std::string{shared, static_cast<char>(added.size()), static_cast<char>(value.size())} +
         added + value;
}

const std::string kNoRestarts = "\0\0\0\0"s;

// A table of one data block of less than 128 bytes.
std::string table_of(const std::string& data, char type = 0, int references = 1) {
  const std::string stored = block_of(data, type);
  std::string index;
  for (int i = 0; i < references; ++i)
    index += entry_of(0, "z"s + static_cast<char>('a' + i), {'\0', static_cast<char>(data.size())});
  index = block_of(index + kNoRestarts);
  std::string footer =
      "\0\0"s + static_cast<char>(stored.size()) + static_cast<char>(index.size() - 5);
  footer.resize(40);
  append_little_endian(footer, 0xdb4775248b80fb57, 8);
  return stored + index + footer;
}

std::vector<std::pair<std::string, std::string>> entries_of(const std::filesystem::path& path) {
  std::vector<std::pair<std::string, std::string>> entries;
  TensorflowTable(path).visit([&](const TensorflowTable::Entry& entry) {
    entries.emplace_back(entry.key, std::string(reinterpret_cast<const char*>(entry.value.data()),
                                                entry.value.size()));
  });
  return entries;
}

TEST(TensorflowTable, ReadsKeysThatShareTheirBeginnings) {
  const TemporaryFolder folder;
  const std::string data =
      entry_of(0, "", "x") + entry_of(0, "conv/a", "1") + entry_of(5, "b", "22") + kNoRestarts;
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"", "x"}, {"conv/a", "1"}, {"conv/b", "22"}};
  EXPECT_EQ(entries_of(folder.put("x", table_of(data))), expected);
}

TEST(TensorflowTable, UnpacksSnappy) {
  const TemporaryFolder folder;
  const std::string data = entry_of(0, "a", std::string(30, 'y')) + kNoRestarts;
  // Its length, a literal of 5 bytes, a copy of 29 from one byte before, a literal of 4.
  const std::string packed =
      "\x26\x10"s + data.substr(0, 5) + "\x72\x01\0"s + "\x0C"s + kNoRestarts;
  EXPECT_EQ(entries_of(folder.put("x", table_of(packed, 1))).at(0).second, std::string(30, 'y'));
}

TEST(TensorflowTable, BelievesNoLengthThatSnappyCannotMake) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(entries_of(folder.put("x", table_of("\xFF\xFF\xFF\xFF\x0F\0\0"s, 1))), DataError,
                   "packed in a way");
  EXPECT_COMPLAINT(entries_of(folder.put("x", table_of("\x26\x10zz"s, 1))), DataError,
                   "cannot be unpacked");
  EXPECT_COMPLAINT(entries_of(folder.put("x", table_of("abc", 2))), DataError, "packed in a way");
}

TEST(TensorflowTable, SaysWhatIsWrongWithABlock) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& data, int references = 1) {
    entries_of(folder.put("x", table_of(data, 0, references)));
  };
  EXPECT_COMPLAINT(read(""), DataError, "without its end");
  EXPECT_COMPLAINT(read("\xFF\xFF\0\0"s), DataError, "without its end");
  EXPECT_COMPLAINT(read(entry_of(3, "a", "") + kNoRestarts), DataError, "does not fit");
  EXPECT_COMPLAINT(read("\0\x09\x01"s + kNoRestarts), DataError, "does not fit");
  EXPECT_COMPLAINT(read("\0\x80"s + kNoRestarts), DataError, "x: byte");
  EXPECT_COMPLAINT(read(entry_of(0, "b", "") + entry_of(0, "a", "") + kNoRestarts), DataError,
                   "do not rise");
  EXPECT_COMPLAINT(read(entry_of(0, "b", "") + kNoRestarts, 2), DataError, "overlap");
  EXPECT_COMPLAINT(entries_of(folder.put("x", "short")), DataError, "no table's footer");
  std::string damaged = table_of(entry_of(0, "b", "") + kNoRestarts);
  damaged[1] ^= 1;
  EXPECT_COMPLAINT(entries_of(folder.put("x", damaged)), DataError, "checksum");
}

}  // namespace
}  // namespace plimsoll
