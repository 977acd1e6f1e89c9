#include "format/zip_directory.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "format/little_endian.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kEndBytes = 22;
constexpr std::int64_t kLocatorBytes = 20;
constexpr std::int64_t kEnd64Bytes = 56;
constexpr std::size_t kEntryBytes = 46;
constexpr std::int64_t kLocalBytes = 30;
constexpr std::int64_t kMaxComment = 0xFFFF;

constexpr unsigned kEncrypted = 1;
constexpr unsigned kStrongEncryption = 1U << 6;
constexpr unsigned kMaskedDirectory = 1U << 13;

std::string read_text(const InputFile& file, std::int64_t offset, std::int64_t size) {
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

[[noreturn]] void refuse(const InputFile& file, const std::string& got, std::string expected,
                         std::string hint = "the archive is cut short or damaged") {
  throw DataError({.where = file.path.string(),
                   .got = got,
                   .expected = std::move(expected),
                   .hint = std::move(hint)});
}

struct Extent {
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::uint64_t entries = 0;
};

// From outside: a number that may not be one of ours.
bool lies_within(std::uint64_t offset, std::uint64_t size, std::int64_t room) {
  const auto limit = static_cast<std::uint64_t>(room);
  return offset <= limit && size <= limit - offset;
}

Extent find_directory(const InputFile& file) {
  const std::int64_t size = file.size.count;
  const std::int64_t tail = std::min(size, kEndBytes + kMaxComment);
  const std::string end = read_text(file, size - tail, tail);
  // The comment behind the record reaches exactly to the end of the file.
  std::optional<std::size_t> found;
  for (std::size_t at = end.size(); at-- > 0 && !found;)
    if (end.size() - at >= kEndBytes && little_endian(end, at, 4) == kZipEndSignature &&
        little_endian(end, at + 20, 2) == end.size() - at - kEndBytes)
      found = at;
  if (!found) refuse(file, "no end of a zip archive", "expected one in the last 64 KiB");
  std::uint64_t entries = little_endian(end, *found + 10, 2);
  std::uint64_t bytes = little_endian(end, *found + 12, 4);
  std::uint64_t offset = little_endian(end, *found + 16, 4);
  std::uint64_t parts = little_endian(end, *found + 4, 2) + little_endian(end, *found + 6, 2);
  const std::int64_t end_offset = size - tail + static_cast<std::int64_t>(*found);
  std::int64_t room = end_offset;
  if (end_offset >= kLocatorBytes + kEnd64Bytes) {
    const std::string locator = read_text(file, end_offset - kLocatorBytes, kLocatorBytes);
    if (little_endian(locator, 0, 4) == kZip64LocatorSignature) {
      const std::uint64_t at = little_endian(locator, 8, 8);
      if (!lies_within(at, kEnd64Bytes, end_offset - kLocatorBytes))
        refuse(file, "a zip64 record at byte " + std::to_string(at), "expected it in the file");
      room = static_cast<std::int64_t>(at);
      const std::string end64 = read_text(file, room, kEnd64Bytes);
      if (little_endian(end64, 0, 4) != kZip64EndSignature)
        refuse(file, "no zip64 record at byte " + std::to_string(at), "expected one there");
      parts = little_endian(end64, 16, 4) + little_endian(end64, 20, 4);
      entries = little_endian(end64, 32, 8);
      bytes = little_endian(end64, 40, 8);
      offset = little_endian(end64, 48, 8);
    }
  }
  if (parts != 0)
    refuse(file, "one part of an archive that has several", "expected a whole archive",
           "put the parts together first");
  if (!lies_within(offset, bytes, room))
    refuse(file,
           "a directory of " + std::to_string(bytes) + " bytes at byte " + std::to_string(offset),
           "expected it before byte " + std::to_string(room));
  if (bytes > static_cast<std::uint64_t>(kMaxZipDirectory))
    refuse(file, "a directory of " + std::to_string(bytes) + " bytes",
           "expected at most " + std::to_string(kMaxZipDirectory), "");
  return {static_cast<std::int64_t>(offset), static_cast<std::int64_t>(bytes), entries};
}

// What is wrong with a name; empty if nothing is.
std::string_view fault_of(std::string_view name) {
  if (name.empty()) return "an empty name";
  if (name.find('\0') != std::string_view::npos) return "a zero in a name";
  if (name.find('\\') != std::string_view::npos) return "a backslash in a name";
  if (name.front() == '/' || (name.size() > 1 && name[1] == ':')) return "an absolute name";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    if (name.substr(at, slash - at) == "..") return "a name that climbs out of its folder";
    at = slash + 1;
  }
  return "";
}

// Up to a zero, where a message would end.
std::string shown(const std::string& name) { return name.substr(0, name.find('\0')); }

class Directory {
 public:
  Directory(const InputFile& file, const Extent& extent)
      : file_(file), extent_(extent), bytes_(read_text(file, extent.offset, extent.size)) {}

  std::vector<ZipEntry> entries() {
    while (at_ < bytes_.size()) {
      // Programs put a signature behind the entries.
      if (result_.size() == extent_.entries) break;
      add();
    }
    if (result_.size() != extent_.entries)
      refuse(file_, "a directory of " + std::to_string(result_.size()) + " entries",
             "expected " + std::to_string(extent_.entries));
    check_apart();
    return std::move(result_);
  }

 private:
  void add() {
    if (bytes_.size() - at_ < kEntryBytes || little_endian(bytes_, at_, 4) != kZipEntrySignature)
      refuse(file_, "no entry at byte " + std::to_string(extent_.offset + std::int64_t(at_)),
             "expected entry " + std::to_string(result_.size() + 1) + " of the directory");
    const std::size_t name_size = little_endian(bytes_, at_ + 28, 2);
    const std::size_t extra_size = little_endian(bytes_, at_ + 30, 2);
    const std::size_t comment_size = little_endian(bytes_, at_ + 32, 2);
    if (bytes_.size() - at_ - kEntryBytes < name_size + extra_size + comment_size)
      refuse(file_, "an entry that is longer than the directory", "expected all of it");
    ZipEntry entry{.name = bytes_.substr(at_ + kEntryBytes, name_size)};
    if (const std::string_view fault = fault_of(entry.name); !fault.empty())
      refuse(entry, std::string(fault), "expected names of files inside a folder");
    const auto flags = static_cast<unsigned>(little_endian(bytes_, at_ + 8, 2));
    if ((flags & (kEncrypted | kStrongEncryption | kMaskedDirectory)) != 0)
      refuse(entry, "it is encrypted", "expected a file that is not");
    const std::uint64_t method = little_endian(bytes_, at_ + 10, 2);
    if (method != 0 && method != 8)
      refuse(entry, "it is compressed by method " + std::to_string(method),
             "expected it stored, or compressed by deflate");
    entry.is_stored = method == 0;
    entry.crc32 = static_cast<std::uint32_t>(little_endian(bytes_, at_ + 16, 4));
    std::uint64_t stored = little_endian(bytes_, at_ + 20, 4);
    std::uint64_t unpacked = little_endian(bytes_, at_ + 24, 4);
    std::uint64_t header = little_endian(bytes_, at_ + 42, 4);
    widen({&unpacked, &stored, &header},
          std::string_view(bytes_).substr(at_ + kEntryBytes + name_size, extra_size), entry);
    place(entry, header, stored, unpacked);
    at_ += kEntryBytes + name_size + extra_size + comment_size;
    result_.push_back(std::move(entry));
  }

  // Fields that had no room are in the extra field of zip64, in this order, those alone.
  void widen(const std::array<std::uint64_t*, 3>& fields, std::string_view extra,
             const ZipEntry& entry) const {
    std::string_view wide;
    while (extra.size() >= 4) {
      const std::size_t size = little_endian(extra, 2, 2);
      if (size > extra.size() - 4) break;
      if (little_endian(extra, 0, 2) == kZip64Extra) wide = extra.substr(4, size);
      extra.remove_prefix(4 + size);
    }
    for (std::uint64_t* field : fields) {
      if (*field != kZipElsewhere) continue;
      if (wide.size() < 8) refuse(entry, "no sizes of zip64", "expected them in its extra field");
      *field = little_endian(wide, 0, 8);
      wide.remove_prefix(8);
    }
  }

  // The entry's own header says where its bytes begin, and must agree on what they are.
  void place(ZipEntry& entry, std::uint64_t header, std::uint64_t stored, std::uint64_t unpacked) {
    const std::int64_t room = extent_.offset;
    if (!lies_within(header, kLocalBytes, room))
      refuse(entry, "a header at byte " + std::to_string(header),
             "expected it before the directory, at byte " + std::to_string(room));
    const auto start = static_cast<std::int64_t>(header);
    const std::string local = read_text(file_, start, kLocalBytes);
    const auto name_size = static_cast<std::int64_t>(little_endian(local, 26, 2));
    const auto extra_size = static_cast<std::int64_t>(little_endian(local, 28, 2));
    if (little_endian(local, 0, 4) != kZipLocalSignature ||
        name_size != static_cast<std::int64_t>(entry.name.size()) ||
        room - start - kLocalBytes < name_size + extra_size ||
        read_text(file_, start + kLocalBytes, name_size) != entry.name)
      refuse(entry, "no header of this entry at byte " + std::to_string(header),
             "expected one that agrees with the directory");
    entry.offset = start + kLocalBytes + name_size + extra_size;
    if (!lies_within(static_cast<std::uint64_t>(entry.offset), stored, room) ||
        unpacked > static_cast<std::uint64_t>(INT64_MAX))
      refuse(entry, std::to_string(stored) + " bytes at byte " + std::to_string(entry.offset),
             "expected them before the directory, at byte " + std::to_string(room));
    entry.stored_bytes = static_cast<std::int64_t>(stored);
    entry.bytes = static_cast<std::int64_t>(unpacked);
    if (entry.is_stored && entry.stored_bytes != entry.bytes)
      refuse(entry, "two sizes, " + std::to_string(stored) + " and " + std::to_string(unpacked),
             "expected one, since it is stored as it is");
    starts_.push_back(start);
  }

  // Entries that share bytes are how a small file unpacks to a huge one.
  void check_apart() const {
    std::vector<std::size_t> order(result_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return starts_[a] < starts_[b]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const ZipEntry& before = result_[order[i - 1]];
      if (before.offset + before.stored_bytes > starts_[order[i]])
        refuse(result_[order[i]], "it overlaps with entry '" + before.name + "'",
               "expected entries that share no bytes");
    }
  }

  [[noreturn]] void refuse(const ZipEntry& entry, std::string got, std::string expected) const {
    throw DataError({.where = file_.path.string() + ": entry '" + shown(entry.name) + "'",
                     .got = std::move(got),
                     .expected = std::move(expected)});
  }
  [[noreturn]] static void refuse(const InputFile& file, const std::string& got,
                                  const std::string& expected) {
    plimsoll::refuse(file, got, expected);
  }

  const InputFile& file_;
  Extent extent_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::vector<ZipEntry> result_;
  std::vector<std::int64_t> starts_;  // of each entry's header
};

}  // namespace

std::vector<ZipEntry> load_zip_directory(const InputFile& file) {
  if (file.size.count < kEndBytes)
    refuse(file, "the file has " + std::to_string(file.size.count) + " bytes",
           "expected a zip archive, which has at least 22");
  return Directory(file, find_directory(file)).entries();
}

}  // namespace plimsoll
