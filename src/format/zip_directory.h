// The directory of a zip archive; for zip.cpp and zip_writer.cpp only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "format/zip.h"

namespace plimsoll {

inline constexpr std::uint32_t kZipLocalSignature = 0x04034b50;
inline constexpr std::uint32_t kZipEntrySignature = 0x02014b50;
inline constexpr std::uint32_t kZipEndSignature = 0x06054b50;
inline constexpr std::uint32_t kZip64EndSignature = 0x06064b50;
inline constexpr std::uint32_t kZip64LocatorSignature = 0x07064b50;
inline constexpr std::uint32_t kZipDescriptorSignature = 0x08074b50;
inline constexpr std::uint16_t kZip64Extra = 1;
// A field that holds this is found in 64 bits elsewhere.
inline constexpr std::uint32_t kZipElsewhere = 0xFFFFFFFF;

// The largest directory that is read: some million entries.
inline constexpr std::int64_t kMaxZipDirectory = std::int64_t{1} << 26;

// Everything that ZipReader promises but for names that come twice.
std::vector<ZipEntry> load_zip_directory(const InputFile& file);

}  // namespace plimsoll
