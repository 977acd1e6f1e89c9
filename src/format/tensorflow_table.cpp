#include "format/tensorflow_table.h"

#include <snappy.h>

#include <array>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "format/little_endian.h"
#include "format/protobuf.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kFooterBytes = 48;
constexpr std::uint64_t kTableMagic = 0xdb4775248b80fb57;
constexpr std::size_t kTrailerBytes = 5;  // type, checksum
// Snappy's densest code makes 64 bytes of 3.
constexpr std::size_t kSnappyDensity = 22;

std::string_view text_of(std::span<const std::byte> bytes) { return as_text(bytes); }

std::string read_footer(const InputFile& file) {
  if (file.size.count < kFooterBytes) return "";
  std::string footer(kFooterBytes, '\0');
  file.read_at(file.size.count - kFooterBytes, std::as_writable_bytes(std::span(footer)));
  return little_endian(footer, kFooterBytes - 8, 8) == kTableMagic ? footer : "";
}

// Two numbers; whether they lie in a file is for load() to say.
TensorflowTable::Handle read_handle(ProtoReader& reader) {
  const std::uint64_t offset = reader.varint();
  const std::uint64_t bytes = reader.varint();
  return {static_cast<std::int64_t>(offset), static_cast<std::int64_t>(bytes)};
}

}  // namespace

bool TensorflowTable::is_table(const InputFile& file) { return !read_footer(file).empty(); }

TensorflowTable::TensorflowTable(const std::filesystem::path& path) : file_(open_input(path)) {
  const std::string footer = read_footer(file_);
  if (footer.empty()) fail(0, "no table's footer");
  ProtoReader reader(std::as_bytes(std::span(footer)));
  try {
    read_handle(reader);  // of blocks with statistics, which nobody writes
    index_ = read_handle(reader);
  } catch (const DataError&) {
    fail(file_.size.count - kFooterBytes, "a footer without the index's place");
  }
}

void TensorflowTable::load(const Handle& handle, TableBlock& block) const {
  const std::int64_t room = file_.size.count - kFooterBytes - std::int64_t{kTrailerBytes};
  if (handle.offset < 0 || handle.bytes < 0 || handle.offset > room ||
      handle.bytes > room - handle.offset)
    fail(handle.offset, "a block of " + std::to_string(handle.bytes) + " bytes in a file of " +
                            std::to_string(file_.size.count));
  const auto size = static_cast<std::size_t>(handle.bytes);
  block.mapped_.emplace(file_, handle.offset, handle.bytes + std::int64_t{kTrailerBytes});
  const std::span<const std::byte> stored = block.mapped_->bytes();
  if (mask_crc32c(crc32c(stored.first(size + 1))) !=
      little_endian(text_of(stored), size + 1, sizeof(std::uint32_t)))
    fail(handle.offset, "a block that does not match its checksum");
  block.size_ = size;
  const auto type = std::to_integer<int>(stored[size]);
  if (type == 0) return;
  std::size_t unpacked = 0;
  const auto* packed = reinterpret_cast<const char*>(stored.data());
  if (type != 1 || !snappy::GetUncompressedLength(packed, size, &unpacked) ||
      unpacked > kSnappyDensity * size + 64)
    fail(handle.offset, "a block packed in a way that is not known");
  block.unpacked_.resize(unpacked);
  if (!snappy::RawUncompress(packed, size, block.unpacked_.data()))
    fail(handle.offset, "a block that cannot be unpacked");
  block.mapped_.reset();
}

void TensorflowTable::visit_block(const Handle& handle,
                                  const std::function<void(const Entry& entry)>& take) const {
  TableBlock block;
  load(handle, block);
  const std::span<const std::byte> bytes = block.bytes();
  // Entries, then the places of those whose keys are whole, and how many these are.
  const std::uint64_t restarts =
      bytes.size() < 4 ? bytes.size() : little_endian(text_of(bytes), bytes.size() - 4, 4);
  if (bytes.size() < 4 || restarts > (bytes.size() - 4) / 4)
    fail(handle.offset, "a block without its end");
  const std::span<const std::byte> entries = bytes.first(bytes.size() - 4 - 4 * restarts);
  std::string key;
  for (std::size_t at = 0; at < entries.size();) {
    ProtoReader reader(entries.subspan(at), entries);
    const std::uint64_t shared = reader.varint();
    const std::uint64_t added = reader.varint();
    const std::uint64_t value = reader.varint();
    const std::size_t head = reader.position();
    const std::size_t rest = entries.size() - head;
    if (shared > key.size() || added > rest || value > rest - added || shared + added > kMaxKey)
      fail(handle.offset, "an entry that does not fit its block");
    key.resize(shared);
    key += text_of(entries.subspan(head, added));
    take({.key = key,
          .value = entries.subspan(head + added, value),
          .block = handle,
          .at = static_cast<std::int64_t>(head + added)});
    at = head + added + value;
  }
}

void TensorflowTable::visit(const std::function<void(const Entry& entry)>& take) const {
  std::string last;
  bool is_first = true;
  std::int64_t end = 0;
  const auto take_rising = [&](const Entry& entry) {
    if (!is_first && entry.key <= last) fail(entry.block.offset, "keys that do not rise");
    is_first = false;
    last = entry.key;
    take(entry);
  };
  try {
    visit_block(index_, [&](const Entry& entry) {
      ProtoReader reader(entry.value);
      const Handle handle = read_handle(reader);
      // Also keeps one block from being read any number of times.
      if (handle.offset < end) fail(index_.offset, "blocks that overlap");
      visit_block(handle, take_rising);
      end = handle.offset + handle.bytes;
    });
  } catch (const DataError& error) {
    if (error.complaint().where.starts_with(file_.path.string())) throw;
    fail(end, error.complaint().got);  // of a number in a block
  }
}

void TensorflowTable::fail(std::int64_t byte, std::string got) const {
  throw DataError({.where = file_.path.string() + ": byte " + std::to_string(byte),
                   .got = std::move(got),
                   .expected = "expected a table as TensorFlow's checkpoints are",
                   .hint = "the file is cut short, or damaged"});
}

}  // namespace plimsoll
