#include "format/safetensors.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/error.h"
#include "format/safetensors_header.h"

namespace plimsoll {
namespace {

constexpr std::size_t kProofBuffer = std::size_t{1} << 16;

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

StoredTensor checksum_tensor(std::size_t tensors) {
  return {.name = std::string(kChecksumName),
          .type = ElementType::u8,
          .shape = {static_cast<std::int64_t>(4 * (tensors + 1))}};
}

std::vector<StoredTensor> with_checksums(std::vector<StoredTensor> tensors) {
  tensors.push_back(checksum_tensor(tensors.size()));
  return tensors;
}

std::uint64_t read_little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<unsigned>(bytes[i]);
  return value;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, std::vector<StoredTensor> tensors,
                                     const Metadata& metadata, Checksums checksums)
    : file_(std::move(path)),
      count_(tensors.size()),
      has_checksums_(checksums == Checksums::written),
      tensors_(has_checksums_ ? with_checksums(std::move(tensors)) : std::move(tensors)) {
  const std::string header = make_header(tensors_, metadata);
  file_.write(header);
  checksums_.push_back(crc32_of(std::as_bytes(std::span(header))));
  checksums_.push_back(0);
  skip_finished();
}

void SafetensorsWriter::skip_finished() {
  while (current_ < count_ && written_ == tensors_[current_].bytes()) {
    ++current_;
    written_ = 0;
    checksums_.push_back(0);
  }
}

void SafetensorsWriter::append(std::string_view name, std::span<const std::byte> piece) {
  if (piece.empty()) return;
  expect(current_ < count_, "a tensor more than there are");
  const StoredTensor& tensor = tensors_[current_];
  expect(tensor.name == name, "a tensor out of its turn");
  const auto size = static_cast<std::int64_t>(piece.size());
  expect(size <= tensor.bytes() - written_, "more bytes than the tensor has");
  file_.write(piece);
  checksums_.back() = crc32_of(piece, checksums_.back());
  written_ += size;
  skip_finished();
}

void SafetensorsWriter::commit() {
  expect(current_ == count_, "a tensor is not complete");
  checksums_.pop_back();
  std::string bytes;
  for (const std::uint32_t checksum : checksums_)
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(checksum >> (8 * i) & 0xFF);
  if (has_checksums_) file_.write(bytes);
  std::vector<std::byte> buffer(kProofBuffer);
  SafetensorsReader(file_.temporary()).verify(buffer);
  file_.commit();
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : file_(open_input(path)) {
  if (file_.size < Bytes{8})
    throw DataError({.where = path.string(),
                     .got = "the file has " + std::to_string(file_.size.count) + " bytes",
                     .expected = "expected a safetensors file, which has at least 10"});
  std::array<std::byte, 8> length{};
  file_.read_at(0, length);
  const std::uint64_t announced = read_little_endian(length);
  const std::int64_t room = file_.size.count - 8;
  if (announced > static_cast<std::uint64_t>(std::min(room, kMaxHeader)))
    throw DataError({.where = path.string() + ": byte 0",
                     .got = "a header of " + std::to_string(announced) + " bytes",
                     .expected = "expected at most " + std::to_string(std::min(room, kMaxHeader)),
                     .hint = "the file is cut short, or no safetensors file"});
  std::string header(8 + announced, '\0');
  file_.read_at(0, std::as_writable_bytes(std::span(header)));
  const auto start = static_cast<std::int64_t>(header.size());

  SafetensorsHeader parsed =
      parse_header(std::string_view(header).substr(8), file_.size.count - start, path);
  metadata_ = std::move(parsed.metadata);
  for (HeaderEntry& entry : parsed.entries) {
    index_.emplace(entry.tensor.name, tensors_.size());
    tensors_.push_back(std::move(entry.tensor));
    offsets_.push_back(start + entry.begin);
  }
  if (find(kChecksumName) != nullptr) load_checksums(header);
}

void SafetensorsReader::load_checksums(std::string_view header) {
  const StoredTensor expected = checksum_tensor(tensors_.size() - 1);
  if (tensors_.back() != expected)
    throw DataError({.where = file_.path.string() + ": tensor '" + expected.name + "'",
                     .got = "it is not the last tensor, or not " +
                            std::to_string(expected.shape[0]) + " bytes of U8",
                     .expected = "expected one CRC-32 for the header and for each tensor"});
  std::vector<std::byte> bytes(static_cast<std::size_t>(expected.bytes()));
  file_.read_at(offsets_.back(), bytes);
  for (std::size_t i = 0; i < bytes.size(); i += 4)
    checksums_.push_back(
        static_cast<std::uint32_t>(read_little_endian(std::span(bytes).subspan(i, 4))));
  index_.erase(expected.name);
  tensors_.pop_back();
  offsets_.pop_back();
  if (crc32_of(std::as_bytes(std::span(header))) != checksums_[0])
    throw DataError({.where = file_.path.string() + ": byte 0",
                     .got = "the header does not match its checksum",
                     .expected = "expected an undamaged file",
                     .hint = "restore it from a copy, or resume from another checkpoint"});
}

const StoredTensor* SafetensorsReader::find(std::string_view name) const {
  const auto at = index_.find(name);
  return at == index_.end() ? nullptr : &tensors_[at->second];
}

void SafetensorsReader::read(std::string_view name, std::span<std::byte> buffer,
                             const Take& take) const {
  const auto at = index_.find(name);
  expect(at != index_.end(), "a tensor that the file does not have");
  read(at->second, buffer, take);
}

void SafetensorsReader::read(std::size_t tensor, std::span<std::byte> buffer,
                             const Take& take) const {
  expect(!buffer.empty(), "reading needs a buffer");
  const std::int64_t size = tensors_[tensor].bytes();
  std::uint32_t checksum = 0;
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t part = std::min(size - done, static_cast<std::int64_t>(buffer.size()));
    const std::span<std::byte> piece = buffer.first(static_cast<std::size_t>(part));
    file_.read_at(offsets_[tensor] + done, piece);
    if (has_checksums()) checksum = crc32_of(piece, checksum);
    take(piece);
    done += part;
  }
  if (has_checksums() && checksum != checksums_[tensor + 1])
    throw DataError({.where = file_.path.string() + ": byte " + std::to_string(offsets_[tensor]) +
                              ": tensor '" + tensors_[tensor].name + "'",
                     .got = "its bytes do not match their checksum",
                     .expected = "expected an undamaged file",
                     .hint = "restore it from a copy, or resume from another checkpoint"});
}

void SafetensorsReader::verify(std::span<std::byte> buffer) const {
  if (!has_checksums()) return;
  for (const StoredTensor& tensor : tensors_) read(tensor.name, buffer, [](auto) {});
}

}  // namespace plimsoll
