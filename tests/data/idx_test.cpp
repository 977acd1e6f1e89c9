#include "data/source/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/files.h"
#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::string idx_file(std::initializer_list<std::uint32_t> shape, const std::string& values,
                     char type = 8) {
  std::string bytes = {0, 0, type, static_cast<char>(shape.size())};
  for (const std::uint32_t dim : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dim >> shift & 0xFF);
  return bytes + values;
}

fs::path put_gzip(const TemporaryFolder& folder, const std::string& name,
                  const std::string& bytes) {
  fs::path path = folder / name;
  gzFile file = ::gzopen(path.c_str(), "wb");
  EXPECT_EQ(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ::gzclose(file);
  return path;
}

TEST(Idx, ReadsPlainAndCompressedAlike) {
  const TemporaryFolder folder;
  const std::string bytes = idx_file({2, 3}, "abcdef");
  for (const fs::path& path : {folder.put("plain", bytes), put_gzip(folder, "gz", bytes)}) {
    const IdxArray array = read_idx(path);
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(std::string(array.values.begin(), array.values.end()), "abcdef");
  }
}

TEST(Idx, ReadsAnyRank) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_idx(folder.put("x", idx_file({1, 2, 1, 2, 1}, "abcd"))).shape.size(), 5U);
}

TEST(Idx, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string plain = idx_file({2, 3}, "abcdef");
  const std::string zipped = read_file(put_gzip(folder, "gz", plain), 1_MiB);
  for (const std::string& whole : {plain, zipped})
    for (std::size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(size);
      EXPECT_COMPLAINT(read_idx(folder.put("cut", whole.substr(0, size))), DataError, "cut: byte ");
    }
}

TEST(Idx, SaysWhatIsWrongAndAtWhichByte) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) { read_idx(folder.put("x", bytes)); };
  EXPECT_COMPLAINT(read("\x89PNG"), DataError, "x: byte 0: no IDX magic number");
  EXPECT_COMPLAINT(read(idx_file({1}, "aaaa", 13)), DataError, "x: byte 2: values of type 13");
  EXPECT_COMPLAINT(read(idx_file({}, "")), DataError, "x: byte 3: no dimensions");
  EXPECT_COMPLAINT(read(idx_file({2, 0}, "")), DataError, "x: byte 8: a dimension of size 0");
  EXPECT_COMPLAINT(read(idx_file({3}, "ab")), DataError, "x: byte 10");
  EXPECT_COMPLAINT(read(idx_file({3}, "abcd")), DataError, "x: byte 11: more bytes");
  EXPECT_COMPLAINT(read_idx(folder / "absent"), DataError, "absent");
}

TEST(Idx, AllocatesNothingForSizesThatCannotBe) {
  const TemporaryFolder folder;
  const std::string lie = idx_file({60'000, 28, 28}, "few");
  EXPECT_COMPLAINT(read_idx(folder.put("x", lie)), DataError, "47040000 values");
  EXPECT_COMPLAINT(read_idx(put_gzip(folder, "gz", lie)), DataError, "47040000 values");
  const std::string huge = idx_file({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x");
  EXPECT_COMPLAINT(read_idx(folder.put("x", huge)), DataError, "more than 4 GiB");
  EXPECT_COMPLAINT(read_idx(folder.put("x", idx_file({6}, "abcdef")), 5_B), DataError, "5 B");
}

TEST(Idx, NoticesDamageInCompressedFiles) {
  const TemporaryFolder folder;
  const std::string whole = read_file(put_gzip(folder, "gz", idx_file({6}, "abcdef")), 1_MiB);
  // The last 8 bytes are the CRC and the length; the 10 of the header hold a time and flags.
  for (std::size_t at = whole.size() - 8; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    EXPECT_COMPLAINT(read_idx(folder.put("x", damaged)), DataError, "damaged");
  }
}

}  // namespace
}  // namespace plimsoll
