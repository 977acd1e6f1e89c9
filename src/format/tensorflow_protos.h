// The messages of TensorFlow's checkpoints, as far as tensors need them. DataError on bytes that
// are no such message; its `where` is the byte in the message alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "format/element_type.h"
#include "format/protobuf.h"

namespace plimsoll {

// The type with this number; nothing for strings and others that are no weights.
std::optional<ElementType> find_tensorflow_type(std::uint64_t number);

// TensorShapeProto. Nothing if its size is not known, a dimension is negative or all of them
// together are 2^60 elements or more.
std::optional<std::vector<std::int64_t>> parse_tensorflow_shape(std::span<const std::byte> message);

// BundleEntryProto, a value of an .index file.
struct BundleEntry {
  std::uint64_t type = 0;
  std::optional<std::vector<std::int64_t>> shape = std::vector<std::int64_t>{};
  std::uint64_t shard = 0, offset = 0, bytes = 0;
  std::uint32_t checksum = 0;  // masked
  bool is_sliced = false;
};
BundleEntry parse_bundle_entry(std::span<const std::byte> message);

// SavedSliceMeta: a tensor of a file in the first format.
struct SliceMeta {
  std::string_view name;
  std::uint64_t type = 0;
  std::optional<std::vector<std::int64_t>> shape = std::vector<std::int64_t>{};
  int slices = 0;
};
SliceMeta parse_slice_meta(std::span<const std::byte> message);

// SavedSlice with its elements as TensorProto holds them.
struct SavedSlice {
  std::string_view name;
  std::uint64_t type = 0;
  std::span<const std::byte> elements;
  bool is_varint = false;  // a varint an element, as integers are held
};
// Nothing if the message holds none, or its elements in a way that nobody writes.
std::optional<SavedSlice> find_saved_slice(std::span<const std::byte> message);

// The first field of a message with this number that is bytes; nothing if there is none.
std::optional<std::span<const std::byte>> find_bytes(std::span<const std::byte> message,
                                                     std::uint32_t number);

}  // namespace plimsoll
