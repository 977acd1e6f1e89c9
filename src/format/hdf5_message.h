// What the header of an HDF5 object is made of; for hdf5*.cpp only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/element_type.h"
#include "format/hdf5.h"
#include "format/hdf5_region.h"

namespace plimsoll {

struct Hdf5Message {
  std::uint64_t type = 0;
  std::uint64_t address = 0;  // of its bytes
  std::string bytes;
};

struct Hdf5Type {
  enum class Kind : std::uint8_t { number, fixed_text, variable_text, opaque, other };
  Kind kind = Kind::other;
  std::uint64_t size = 0;  // of an element, in bytes
  ElementType element = ElementType::f32;
  bool is_padded_with_spaces = false;
};

// Decodes messages of one file. Throws the region's errors.
class Hdf5Decoder {
 public:
  explicit Hdf5Decoder(Hdf5Region& region) : region_(region) {}

  // All messages of the header at `address`, those behind continuations too. Shared ones are
  // refused.
  std::vector<Hdf5Message> messages(std::uint64_t address);

  // Of a type at `bytes`, which lies at `address` and may be longer than the type.
  Hdf5Type type(std::string_view bytes, std::uint64_t address) const;
  // The dimensions; none for a scalar. Nothing if there is no value at all.
  std::optional<std::vector<std::uint64_t>> space(std::string_view bytes,
                                                  std::uint64_t address) const;
  Hdf5Attribute attribute(const Hdf5Message& message);

 private:
  using Heap = std::map<std::uint64_t, std::string>;

  void add_messages(std::string_view block, std::uint64_t address, std::uint64_t limit,
                    std::vector<Hdf5Message>& found);
  std::string variable_text(std::string_view element, std::uint64_t address);
  const Heap& global_heap(std::uint64_t address);

  Hdf5Region& region_;
  std::map<std::uint64_t, Heap> heaps_;  // by address
};

}  // namespace plimsoll
