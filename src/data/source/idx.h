// IDX files, the format of MNIST and its successors: a magic number, sizes, unsigned bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/bytes.h"

namespace plimsoll {

struct IdxArray {
  std::vector<std::int64_t> shape;   // at least one dimension
  std::vector<std::uint8_t> values;  // row-major
};

// Reads a file of unsigned bytes, gzip-compressed or plain (told apart by its content). Sizes are
// checked against `limit` and against what a file of that length can hold before anything is
// allocated; then memory is the values and a buffer of 64 KiB. DataError with path and byte on
// anything wrong: another magic number or type, too few bytes or too many, a broken gzip stream.
IdxArray read_idx(const std::filesystem::path& path, Bytes limit = 4_GiB);

}  // namespace plimsoll
