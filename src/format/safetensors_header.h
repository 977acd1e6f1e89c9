// The JSON part of a safetensors file, without the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/safetensors.h"

namespace plimsoll {

inline constexpr std::string_view kChecksumName = "plimsoll.crc32";
inline constexpr std::string_view kMetadataName = "__metadata__";

// A tensor and its range of bytes, relative to the end of the header.
struct HeaderEntry {
  StoredTensor tensor;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct SafetensorsHeader {
  Metadata metadata;
  std::vector<HeaderEntry> entries;  // by range
};

// The length and the JSON for these tensors, laid out in order without gaps; padded with blanks so
// that the tensors start at a multiple of 8. UsageError as SafetensorsWriter says.
std::string make_header(std::span<const StoredTensor> tensors, const Metadata& metadata);

// Reads and checks the JSON. `payload` is the number of bytes that follow it; `path` and the 8
// bytes before the JSON are for messages only. DataError on anything wrong.
SafetensorsHeader parse_header(std::string_view json, std::int64_t payload,
                               const std::filesystem::path& path);

}  // namespace plimsoll
