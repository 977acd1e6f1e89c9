#include "format/zip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "format/little_endian.h"
#include "format/zip_writer.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::uint32_t crc32_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An entry as its directory describes it, whatever is true.
struct Claim {
  std::string name;
  std::string bytes;
  std::uint64_t method = 0;
  std::uint64_t unpacked = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t flags = 0;
  std::string local_name = name;
  std::uint64_t stored = bytes.size();
};

Claim stored(const std::string& name, const std::string& bytes) {
  return {.name = name, .bytes = bytes, .unpacked = bytes.size(), .crc32 = crc32_of(bytes)};
}

Claim packed(const std::string& name, const std::string& bytes) {
  return {.name = name,
          .bytes = deflated(bytes),
          .method = 8,
          .unpacked = bytes.size(),
          .crc32 = crc32_of(bytes)};
}

std::string archive_of(const std::vector<Claim>& claims, std::string comment = "") {
  std::string file;
  std::string directory;
  for (const Claim& claim : claims) {
    const std::size_t header = file.size();
    append_little_endian(file, 0x04034b50, 4);
    file += std::string(22, '\0');
    append_little_endian(file, claim.local_name.size(), 2);
    append_little_endian(file, 0, 2);
    file += claim.local_name + claim.bytes;
    append_little_endian(directory, 0x02014b50, 4);
    append_little_endian(directory, 0, 4);
    append_little_endian(directory, claim.flags, 2);
    append_little_endian(directory, claim.method, 2);
    append_little_endian(directory, 0, 4);
    append_little_endian(directory, claim.crc32, 4);
    append_little_endian(directory, claim.stored, 4);
    append_little_endian(directory, claim.unpacked, 4);
    append_little_endian(directory, claim.name.size(), 2);
    directory += std::string(12, '\0');
    append_little_endian(directory, header, 4);
    directory += claim.name;
  }
  const std::size_t start = file.size();
  file += directory;
  append_little_endian(file, 0x06054b50, 4);
  append_little_endian(file, 0, 4);
  append_little_endian(file, claims.size(), 2);
  append_little_endian(file, claims.size(), 2);
  append_little_endian(file, directory.size(), 4);
  append_little_endian(file, start, 4);
  append_little_endian(file, comment.size(), 2);
  return file + comment;
}

void read_whole_zip(const fs::path& path) {
  const ZipReader reader(path);
  for (const ZipEntry& entry : reader.entries()) reader.read(entry, 1_MiB);
}

TEST(Zip, ReadsBackWhatItWrote) {
  const TemporaryFolder folder;
  ZipWriter writer(folder / "x.zip");
  writer.add("metadata.json", "{}");
  writer.begin("deep/down/weights", 6);
  writer.append(std::as_bytes(std::span("abc", 3)));
  writer.append(std::as_bytes(std::span("def", 3)));
  writer.add("empty", "");
  writer.commit();
  const ZipReader reader(folder / "x.zip");
  ASSERT_EQ(reader.entries().size(), 3U);
  EXPECT_EQ(reader.entries()[1].name, "deep/down/weights");
  EXPECT_EQ(reader.read(*reader.find("deep/down/weights"), 6_B), "abcdef");
  EXPECT_EQ(reader.read(*reader.find("metadata.json"), 1_KiB), "{}");
  EXPECT_EQ(reader.read(*reader.find("empty"), 0_B), "");
  EXPECT_EQ(reader.find("absent"), nullptr);
  std::string in_place(6, ' ');
  reader.file().read_at(reader.find("deep/down/weights")->offset,
                        std::as_writable_bytes(std::span(in_place)));
  EXPECT_EQ(in_place, "abcdef");
}

TEST(Zip, LeavesNothingWhenNotCommitted) {
  const TemporaryFolder folder;
  { ZipWriter(folder / "x").add("a", "b"); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Zip, CountsMoreEntriesThan16BitsCan) {
  const TemporaryFolder folder;
  ZipWriter writer(folder / "x");
  for (int i = 0; i < 70'000; ++i) writer.add(std::to_string(i), "");
  writer.commit();
  const ZipReader reader(folder / "x");
  EXPECT_EQ(reader.entries().size(), 70'000U);
  EXPECT_NE(reader.find("69999"), nullptr);
}

TEST(Zip, ReadsSizesThatStandInTheExtraField) {
  const TemporaryFolder folder;
  std::string whole = archive_of({stored("a", "plain")});
  // The entry of the directory, with 20 more bytes behind its name.
  const std::size_t entry = whole.find("PK\x01\x02");
  std::string extra;
  append_little_endian(extra, 1, 2);
  append_little_endian(extra, 16, 2);
  append_little_endian(extra, 5, 8);
  append_little_endian(extra, 5, 8);
  whole.replace(entry + 20, 8, std::string(8, '\xFF'));
  whole[entry + 30] = static_cast<char>(extra.size());
  whole.insert(entry + 47, extra);
  const std::size_t end = whole.find("PK\x05\x06");
  whole[end + 12] = static_cast<char>(47 + extra.size());
  const ZipReader reader(folder.put("x", whole));
  EXPECT_EQ(reader.read(*reader.find("a"), 5_B), "plain");
}

TEST(Zip, ReadsWhatOthersWrite) {
  const TemporaryFolder folder;
  const std::string text(5000, 'a');
  const ZipReader reader(folder.put(
      "x", archive_of({stored("a", "plain"), packed("b/c", text), stored("b/", "")}, "a comment")));
  EXPECT_EQ(reader.read(*reader.find("a"), 1_MiB), "plain");
  EXPECT_TRUE(reader.find("a")->is_stored);
  EXPECT_EQ(reader.read(*reader.find("b/c"), 1_MiB), text);
  EXPECT_FALSE(reader.find("b/c")->is_stored);
  EXPECT_TRUE(ZipReader(folder.put("none", archive_of({}))).entries().empty());
}

TEST(Zip, RefusesNamesThatLeaveTheirFolder) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& name) {
    const ZipReader reader(folder.put("x", archive_of({stored(name, "")})));
  };
  EXPECT_COMPLAINT(open("../a"), DataError, "climbs");
  EXPECT_COMPLAINT(open("a/../../b"), DataError, "climbs");
  EXPECT_COMPLAINT(open("a/.."), DataError, "climbs");
  EXPECT_COMPLAINT(open("/etc/passwd"), DataError, "absolute");
  EXPECT_COMPLAINT(open("C:/a"), DataError, "absolute");
  EXPECT_COMPLAINT(open("a\\b"), DataError, "backslash");
  EXPECT_COMPLAINT(open(std::string("a\0b", 3)), DataError, "a zero");
  EXPECT_COMPLAINT(open(""), DataError, "empty name");
  EXPECT_NO_THROW(open("a/..b/c.."));
}

TEST(Zip, SaysWhatIsWrongWithAnArchive) {
  const TemporaryFolder folder;
  const auto open = [&](const std::vector<Claim>& claims) {
    read_whole_zip(folder.put("x", archive_of(claims)));
  };
  const auto changed = [](Claim claim, auto change) {
    change(claim);
    return claim;
  };
  EXPECT_COMPLAINT(open({stored("a", "1"), stored("a", "2")}), DataError, "second entry");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"), [](Claim& c) { c.flags = 1; })}), DataError,
                   "encrypted");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"), [](Claim& c) { c.method = 12; })}), DataError,
                   "method 12");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"), [](Claim& c) { c.unpacked = 2; })}), DataError,
                   "two sizes");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"), [](Claim& c) { c.crc32 ^= 1; })}), DataError,
                   "checksum");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"), [](Claim& c) { c.local_name = "b"; })}),
                   DataError, "agrees with the directory");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"),
                                 [](Claim& c) {
                                   c.stored = 1000;
                                   c.unpacked = 1000;
                                 })}),
                   DataError, "before the directory");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"),
                                 [](Claim& c) {
                                   c.stored = 10;
                                   c.unpacked = 10;
                                 }),
                         stored("b", "2")}),
                   DataError, "overlaps");
  EXPECT_COMPLAINT(open({changed(packed("a", "12345"), [](Claim& c) { c.unpacked = 4; })}),
                   DataError, "damaged");
  EXPECT_COMPLAINT(open({changed(packed("a", "12345"), [](Claim& c) { c.unpacked = 6; })}),
                   DataError, "damaged");
  EXPECT_COMPLAINT(open({changed(stored("a", "1"), [](Claim& c) { c.stored = 0xFFFFFFFF; })}),
                   DataError, "zip64");
}

TEST(Zip, UnpacksNoMoreThanItIsAskedFor) {
  const TemporaryFolder folder;
  const ZipReader reader(folder.put("bomb", archive_of({packed("a", std::string(8 << 20, '\0'))})));
  const std::int64_t peak = peak_of_allocations([&] {
    EXPECT_COMPLAINT(reader.read(reader.entries()[0], 1_MiB), DataError, "at most 1 MiB");
  });
  EXPECT_LT(peak, 1 << 16);
}

TEST(Zip, BelievesNoSizeThatDeflateCannotMake) {
  const TemporaryFolder folder;
  Claim claim = packed("a", "tiny");
  claim.unpacked = 1U << 31;
  const ZipReader reader(folder.put("liar", archive_of({claim})));
  const std::int64_t peak = peak_of_allocations(
      [&] { EXPECT_COMPLAINT(reader.read(reader.entries()[0], 4_GiB), DataError, "deflate"); });
  EXPECT_LT(peak, 1 << 16);
}

TEST(Zip, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string whole = archive_of({stored("a", "plain"), packed("b", std::string(99, 'b'))});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_COMPLAINT(read_whole_zip(folder.put("cut", whole.substr(0, size))), DataError, "cut");
}

TEST(Zip, SurvivesABitFlippedInEveryByte) {
  const TemporaryFolder folder;
  const std::string whole = archive_of({stored("a", "plain"), packed("b", std::string(99, 'b'))});
  const std::int64_t peak = peak_of_allocations([&] {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
      const fs::path path = folder.put("damaged", damaged);
      try {
        read_whole_zip(path);
      } catch (const DataError&) {
      }
    }
  });
  EXPECT_LT(peak, 1 << 21);
}

}  // namespace
}  // namespace plimsoll
