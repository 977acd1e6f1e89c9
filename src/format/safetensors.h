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
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "format/element_type.h"

namespace plimsoll {

struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  // empty: a scalar

  std::int64_t bytes() const;
  bool operator==(const StoredTensor&) const = default;
};

// "F32 [64, 3, 7, 7]".
std::string to_string(const StoredTensor& tensor);

using Metadata = std::map<std::string, std::string>;

// Writes one file. The same tensors, metadata and bytes give the same file, bit for bit. The file
// appears when commit() returns; a writer destroyed before leaves nothing. Thread-compatible.
class SafetensorsWriter {
 public:
  // Writes the header. UsageError if a name is reserved, twice there or not UTF-8; DataError if
  // the file cannot be written.
  SafetensorsWriter(std::filesystem::path path, std::vector<StoredTensor> tensors,
                    const Metadata& metadata);

  // The next bytes of `name`, which must be the tensor whose turn it is: tensors come in the order
  // of the constructor, each in as many pieces as is convenient. Anything else is a bug.
  void append(std::string_view name, std::span<const std::byte> piece);

  // All tensors must be complete. The bytes are read back against their checksums before they take
  // the place of an older file.
  void commit();

 private:
  void skip_finished();

  AtomicFile file_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint32_t> checksums_;  // of the header, then of each tensor
  std::size_t current_ = 0;
  std::int64_t written_ = 0;  // bytes of the current tensor
};

// Reads one file, ours or another program's. The constructor reads and checks the header: sizes,
// types, shapes against bytes, ranges without gap or overlap up to the end of the file. Every
// failure is a DataError that names the file and the byte or tensor. Thread-compatible.
class SafetensorsReader {
 public:
  static constexpr std::int64_t kMaxHeader = 100'000'000;

  explicit SafetensorsReader(const std::filesystem::path& path);

  // In the order of their bytes; the checksums are not among them.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  // Null if there is none; valid as long as the reader.
  const StoredTensor* find(std::string_view name) const;
  const std::filesystem::path& path() const { return file_.path; }
  bool has_checksums() const { return !checksums_.empty(); }

  // Hands the tensor's bytes to `take` in order, in pieces that fill `buffer` (the last may be
  // shorter), then checks them against the file's checksum if it has one: what was taken counts
  // only when this returns. The name must be one of tensors(); the buffer must not be empty.
  using Take = std::function<void(std::span<const std::byte> piece)>;
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
