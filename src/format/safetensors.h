// safetensors files, written and read in pieces: memory does not grow with the tensors.
//
// A file is a 64-bit little-endian N, N bytes of JSON (a name, type, shape and range of bytes for
// each tensor, and a map of strings), then the tensors without gaps. Ours end with one more
// tensor, "plimsoll.crc32" (U8): 4-byte little-endian CRC-32s of everything before the tensors (N
// and the JSON) and of each tensor in order. Other programs see a small tensor they do not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "format/tensor_file.h"

namespace plimsoll {

using Metadata = std::map<std::string, std::string>;

// `none`: for programs that want every tensor of a file to be one of theirs.
enum class Checksums : std::uint8_t { written, none };

// Writes one file. The same tensors, metadata and bytes give the same file, bit for bit. The file
// appears when commit() returns; a writer destroyed before leaves nothing. Thread-compatible.
class SafetensorsWriter {
 public:
  // Writes the header. UsageError if a name is reserved, twice there or not UTF-8; DataError if
  // the file cannot be written.
  SafetensorsWriter(std::filesystem::path path, std::vector<StoredTensor> tensors,
                    const Metadata& metadata, Checksums checksums = Checksums::written);

  // The next bytes of `name`, which must be the tensor whose turn it is: tensors come in the order
  // of the constructor, each in as many pieces as is convenient. Anything else is a bug.
  void append(std::string_view name, std::span<const std::byte> piece);

  // All tensors must be complete. The bytes are read back against their checksums before they take
  // the place of an older file.
  void commit();

 private:
  void skip_finished();

  AtomicFile file_;
  std::size_t count_;  // of tensors without the checksums
  bool has_checksums_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint32_t> checksums_;  // of the header, then of each tensor
  std::size_t current_ = 0;
  std::int64_t written_ = 0;  // bytes of the current tensor
};

// Reads one file, ours or another program's. The constructor reads and checks the header: sizes,
// types, shapes against bytes, ranges without gap or overlap up to the end of the file. Every
// failure is a DataError that names the file and the byte or tensor. Thread-compatible.
class SafetensorsReader final : public TensorFile {
 public:
  static constexpr std::int64_t kMaxHeader = 100'000'000;

  explicit SafetensorsReader(const std::filesystem::path& path);

  // In the order of their bytes; the checksums are not among them.
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  // Null if there is none; valid as long as the reader.
  const StoredTensor* find(std::string_view name) const;
  const std::filesystem::path& path() const { return file_.path; }
  bool has_checksums() const { return !checksums_.empty(); }

  // Checks what was read against the file's checksum if it has one: what was taken counts only when
  // this returns.
  void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const override;
  // The name must be one of tensors().
  void read(std::string_view name, std::span<std::byte> buffer, const Take& take) const;

  // Reads everything once against the checksums. Does nothing if the file has none.
  void verify(std::span<std::byte> buffer) const;

 private:
  void load_checksums(std::string_view header);

  InputFile file_;
  Metadata metadata_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::int64_t> offsets_;                      // in the file, one per tensor
  std::map<std::string, std::size_t, std::less<>> index_;  // name to position in tensors_
  std::vector<std::uint32_t> checksums_;                   // of the header, then of each tensor
};

}  // namespace plimsoll
