// The bytes of an HDF5 file, and how much of them may still be read; for hdf5*.cpp only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"

namespace plimsoll {

// An address that is none: what it points at was never written.
inline constexpr std::uint64_t kHdf5Nowhere = ~std::uint64_t{0};

// Part of a file. Structure that lies over itself could be read for ever, and make much of few
// bytes; so all that is read is counted, and may be three times what the region has: a text is read
// with its heap and copied from there.
class Hdf5Region {
 public:
  Hdf5Region(const InputFile& file, std::int64_t offset, std::int64_t length);

  std::int64_t offset() const { return offset_; }
  std::int64_t length() const { return length_; }

  bool holds(std::uint64_t address, std::uint64_t size) const;
  // `what` is for people: "the header of 'a/b'".
  std::string read(std::uint64_t address, std::uint64_t size, std::string_view what);
  // Counts bytes that are kept without being read again.
  void spend(std::uint64_t bytes);

  // A DataError at a byte of the region.
  [[noreturn]] void refuse(std::uint64_t address, std::string got, std::string expected,
                           std::string hint = "the file is damaged: fetch it again") const;
  // One for what is well formed and not read here.
  [[noreturn]] void refuse_unread(std::uint64_t address, std::string got) const;

 private:
  const InputFile& file_;
  std::int64_t offset_;
  std::int64_t length_;
  std::uint64_t left_;
};

}  // namespace plimsoll
