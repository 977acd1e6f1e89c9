#include "format/tensorflow_protos.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll {
namespace {

// DataType of types.proto.
constexpr std::array<std::pair<std::uint64_t, ElementType>, 13> kTensorflowTypes = {{
    {1, ElementType::f32},
    {2, ElementType::f64},
    {3, ElementType::i32},
    {4, ElementType::u8},
    {5, ElementType::i16},
    {6, ElementType::i8},
    {9, ElementType::i64},
    {10, ElementType::boolean},
    {14, ElementType::bf16},
    {17, ElementType::u16},
    {19, ElementType::f16},
    {22, ElementType::u32},
    {23, ElementType::u64},
}};
constexpr std::int64_t kMaxTensorElements = std::int64_t{1} << 60;

bool is_bytes(const ProtoField& field, std::uint32_t number) {
  return field.number == number && field.type == WireType::bytes;
}

}  // namespace

std::optional<ElementType> find_tensorflow_type(std::uint64_t number) {
  for (const auto& [known, type] : kTensorflowTypes)
    if (known == number) return type;
  return std::nullopt;
}

std::optional<std::span<const std::byte>> find_bytes(std::span<const std::byte> message,
                                                     std::uint32_t number) {
  ProtoReader reader(message);
  while (const auto field = reader.next())
    if (is_bytes(*field, number)) return field->bytes;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> parse_tensorflow_shape(
    std::span<const std::byte> message) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  ProtoReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 3 && field->value != 0) return std::nullopt;  // unknown_rank
    if (!is_bytes(*field, 2)) continue;
    std::int64_t size = 0;
    ProtoReader dim(field->bytes);
    while (const auto part = dim.next())
      if (part->number == 1) size = static_cast<std::int64_t>(part->value);
    // Zeros count as ones, so that no product of some of the sizes overflows.
    if (size < 0 || std::max<std::int64_t>(size, 1) > kMaxTensorElements / elements)
      return std::nullopt;
    elements *= std::max<std::int64_t>(size, 1);
    shape.push_back(size);
  }
  return shape;
}

BundleEntry parse_bundle_entry(std::span<const std::byte> message) {
  BundleEntry entry;
  ProtoReader reader(message);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: entry.type = field->value; break;
      case 2: entry.shape = parse_tensorflow_shape(field->bytes); break;
      case 3: entry.shard = field->value; break;
      case 4: entry.offset = field->value; break;
      case 5: entry.bytes = field->value; break;
      case 6: entry.checksum = static_cast<std::uint32_t>(field->value); break;
      case 7: entry.is_sliced = true; break;
      default: break;
    }
  }
  return entry;
}

SliceMeta parse_slice_meta(std::span<const std::byte> message) {
  SliceMeta meta;
  ProtoReader reader(message);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: meta.name = as_text(field->bytes); break;
      case 2: meta.shape = parse_tensorflow_shape(field->bytes); break;
      case 3: meta.type = field->value; break;
      case 4: ++meta.slices; break;
      default: break;
    }
  }
  return meta;
}

std::optional<SavedSlice> find_saved_slice(std::span<const std::byte> message) {
  const auto slice = find_bytes(message, 2);
  if (!slice) return std::nullopt;
  SavedSlice saved;
  int lists = 0;
  ProtoReader outer(*slice);
  while (const auto field = outer.next()) {
    if (is_bytes(*field, 1)) saved.name = as_text(field->bytes);
    if (!is_bytes(*field, 3)) continue;
    ProtoReader tensor(field->bytes);
    while (const auto part = tensor.next()) {
      if (part->number == 1) saved.type = part->value;
      // tensor_content, float_val, double_val, and the lists of varints: int, int64, bool, half,
      // uint32, uint64.
      const bool is_raw = part->number == 4 || part->number == 5 || part->number == 6;
      const bool is_varint = part->number == 7 || part->number == 10 || part->number == 11 ||
                             part->number == 13 || part->number == 16 || part->number == 17;
      if (!is_raw && !is_varint) continue;
      if (part->type != WireType::bytes) return std::nullopt;
      saved.elements = part->bytes;
      saved.is_varint = is_varint;
      ++lists;
    }
  }
  return lists <= 1 ? std::optional(saved) : std::nullopt;
}

}  // namespace plimsoll
