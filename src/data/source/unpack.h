// Compressed files, unpacked once into a folder where they can be read at any place.
#pragma once

#include <filesystem>

namespace plimsoll {

// The path of the unpacked twin of `path` (gzip or zlib) in `cache`, which is made if there is none
// of this very file (path, size and time of change) yet. Unpacks twice: first to count, so that the
// space can be checked before a byte is written; then to a file that appears whole or not at all.
// Memory: 128 KiB. DataError on damage (with the byte), and if the disk has not the room.
std::filesystem::path unpack_once(const std::filesystem::path& path,
                                  const std::filesystem::path& cache);

}  // namespace plimsoll
