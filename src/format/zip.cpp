#include "format/zip.h"

#include <zlib.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "format/zip_directory.h"

namespace plimsoll {
namespace {

// Deflate makes at most 1032 bytes of one.
constexpr std::int64_t kMostOfOneByte = 1032;

std::string inflated(const std::string& packed, std::int64_t bytes, const std::string& where) {
  std::string out(static_cast<std::size_t>(bytes), '\0');
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  // zlib counts in 32 bits, so it is fed and emptied in pieces.
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  std::size_t taken = 0;
  std::size_t made = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const std::size_t in = std::min(kPiece, packed.size() - taken);
    const std::size_t room = std::min(kPiece, out.size() - made);
    // zlib does not write through next_in, whatever its type says.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    state = ::inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += room - stream.avail_out;
  }
  ::inflateEnd(&stream);
  if (state != Z_STREAM_END || made != out.size())
    throw DataError({.where = where,
                     .got = "its compressed bytes are damaged",
                     .expected = "expected " + std::to_string(bytes) + " bytes in them",
                     .hint = "the file is damaged: fetch it again"});
  return out;
}

}  // namespace

ZipReader::ZipReader(const std::filesystem::path& path)
    : file_(open_input(path)), entries_(load_zip_directory(file_)) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!index_.emplace(entries_[i].name, i).second)
      throw DataError({.where = path.string() + ": entry '" + entries_[i].name + "'",
                       .got = "a second entry of this name",
                       .expected = "expected every name once"});
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto at = index_.find(name);
  return at == index_.end() ? nullptr : &entries_[at->second];
}

std::string ZipReader::read(const ZipEntry& entry, Bytes limit) const {
  const std::string where = file_.path.string() + ": entry '" + entry.name + "'";
  if (entry.bytes > limit.count)
    throw DataError({.where = where,
                     .got = "it has " + to_string(Bytes{entry.bytes}),
                     .expected = "expected at most " + to_string(limit)});
  if (entry.bytes / kMostOfOneByte > entry.stored_bytes)
    throw DataError({.where = where,
                     .got = std::to_string(entry.bytes) + " bytes, of " +
                            std::to_string(entry.stored_bytes) + " that are stored",
                     .expected = "expected no more than deflate can make of those",
                     .hint = "the archive is damaged, or made to fill the memory"});
  std::string bytes(static_cast<std::size_t>(entry.stored_bytes), '\0');
  file_.read_at(entry.offset, std::as_writable_bytes(std::span(bytes)));
  if (!entry.is_stored) bytes = inflated(bytes, entry.bytes, where);
  if (::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != entry.crc32)
    throw DataError({.where = where,
                     .got = "its bytes do not match their checksum",
                     .expected = "expected an undamaged archive",
                     .hint = "fetch the file again"});
  return bytes;
}

}  // namespace plimsoll
