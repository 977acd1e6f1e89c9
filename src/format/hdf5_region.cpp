#include "format/hdf5_region.h"

#include <span>
#include <utility>

#include "base/error.h"

namespace plimsoll {

Hdf5Region::Hdf5Region(const InputFile& file, std::int64_t offset, std::int64_t length)
    : file_(file),
      offset_(offset),
      length_(length),
      left_(3 * static_cast<std::uint64_t>(length)) {}

bool Hdf5Region::holds(std::uint64_t address, std::uint64_t size) const {
  const auto length = static_cast<std::uint64_t>(length_);
  return address <= length && size <= length - address;
}

std::string Hdf5Region::read(std::uint64_t address, std::uint64_t size, std::string_view what) {
  if (!holds(address, size))
    refuse(address, std::string(what) + ", of " + std::to_string(size) + " bytes",
           "expected it to end with the file, at byte " + std::to_string(length_),
           "the file is cut short or damaged");
  spend(size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file_.read_at(offset_ + static_cast<std::int64_t>(address),
                std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void Hdf5Region::spend(std::uint64_t bytes) {
  if (bytes > left_)
    throw DataError({.where = file_.path.string(),
                     .got = "more structure than an HDF5 file of " + std::to_string(length_) +
                            " bytes can have",
                     .expected = "expected every part of it once",
                     .hint = "the file is damaged, or made to fill the memory"});
  left_ -= bytes;
}

void Hdf5Region::refuse(std::uint64_t address, std::string got, std::string expected,
                        std::string hint) const {
  throw DataError({.where = file_.path.string() + ": HDF5 byte " + std::to_string(address),
                   .got = std::move(got),
                   .expected = std::move(expected),
                   .hint = std::move(hint)});
}

void Hdf5Region::refuse_unread(std::uint64_t address, std::string got) const {
  refuse(address, std::move(got), "expected what h5py writes by default, as Keras does",
         "read it there and save it again with h5py's defaults");
}

}  // namespace plimsoll
