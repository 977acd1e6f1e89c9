#include "format/hdf5_message.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "format/little_endian.h"

namespace plimsoll {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kContinuation = 0x10;
constexpr std::uint64_t kShared = 2;
// More elements of an attribute than the largest message could hold.
constexpr std::uint64_t kMaxAttributeElements = 1 << 16;

std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

std::optional<ElementType> integer_of(std::uint64_t size, bool is_signed) {
  switch (size) {
    case 1: return is_signed ? ElementType::i8 : ElementType::u8;
    case 2: return is_signed ? ElementType::i16 : ElementType::u16;
    case 4: return is_signed ? ElementType::i32 : ElementType::u32;
    case 8: return is_signed ? ElementType::i64 : ElementType::u64;
    default: return std::nullopt;
  }
}

// By the place and size of exponent and mantissa.
std::optional<ElementType> float_of(std::uint64_t size, std::string_view layout) {
  if (size == 2 && layout == "\x0A\x05\x00\x0A"sv) return ElementType::f16;
  if (size == 2 && layout == "\x07\x08\x00\x07"sv) return ElementType::bf16;
  if (size == 4 && layout == "\x17\x08\x00\x17"sv) return ElementType::f32;
  if (size == 8 && layout == "\x34\x0B\x00\x34"sv) return ElementType::f64;
  return std::nullopt;
}

std::int64_t integer_at(std::string_view bytes, std::size_t at, ElementType type) {
  const auto size = static_cast<std::size_t>(size_of(type));
  const std::uint64_t value = little_endian(bytes, at, size);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
  const bool is_signed = type == ElementType::i8 || type == ElementType::i16 ||
                         type == ElementType::i32 || type == ElementType::i64;
  // Shifted up and down again, the sign fills what is above.
  return is_signed ? static_cast<std::int64_t>(value << unused) >> unused
                   : static_cast<std::int64_t>(value);
}

bool is_integer(ElementType type) {
  return type != ElementType::f16 && type != ElementType::bf16 && type != ElementType::f32 &&
         type != ElementType::f64;
}

std::string fixed_text(std::string_view bytes, bool is_padded_with_spaces) {
  bytes = bytes.substr(0, bytes.find('\0'));
  if (is_padded_with_spaces)
    while (bytes.ends_with(' ')) bytes.remove_suffix(1);
  return std::string(bytes);
}

}  // namespace

std::vector<Hdf5Message> Hdf5Decoder::messages(std::uint64_t address) {
  const std::string prefix = region_.read(address, 16, "the header of an object");
  if (prefix.starts_with("OHDR")) region_.refuse_unread(address, "an object header of version 2");
  if (prefix[0] != 1)
    region_.refuse(address, "no header of an object", "expected one of version 1");
  const std::uint64_t limit = little_endian(prefix, 2, 2);
  const std::uint64_t size = little_endian(prefix, 8, 4);
  std::vector<Hdf5Message> found;
  const std::string block = region_.read(address + 16, size, "the messages of an object");
  add_messages(block, address + 16, limit, found);
  // The list grows while it is walked: a continuation may lead to the next.
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].type != kContinuation) continue;
    if (found[i].bytes.size() < 16)
      region_.refuse(found[i].address, "a continuation of a header that is cut short",
                     "expected an address and a length");
    const std::uint64_t next = little_endian(found[i].bytes, 0, 8);
    add_messages(region_.read(next, little_endian(found[i].bytes, 8, 8), "more of a header"), next,
                 limit, found);
  }
  return found;
}

void Hdf5Decoder::add_messages(std::string_view block, std::uint64_t address, std::uint64_t limit,
                               std::vector<Hdf5Message>& found) {
  for (std::size_t at = 0; block.size() - at >= 8 && found.size() < limit;) {
    const std::uint64_t type = little_endian(block, at, 2);
    const std::uint64_t size = little_endian(block, at + 2, 2);
    const std::uint64_t flags = little_endian(block, at + 4, 1);
    if (size > block.size() - at - 8)
      region_.refuse(address + at, "a message that is longer than its header",
                     "expected at most " + std::to_string(block.size() - at - 8) + " bytes");
    if ((flags & kShared) != 0)
      region_.refuse_unread(address + at, "a shared message, as of a type with a name");
    found.push_back({type, address + at + 8, std::string(block.substr(at + 8, size))});
    at += 8 + size;
  }
}

Hdf5Type Hdf5Decoder::type(std::string_view bytes, std::uint64_t address) const {
  if (bytes.size() < 8) region_.refuse(address, "a type that is cut short", "expected 8 bytes");
  const std::uint64_t kind = little_endian(bytes, 0, 1) & 0x0F;
  const std::uint64_t flags = little_endian(bytes, 1, 3);
  const std::uint64_t size = little_endian(bytes, 4, 4);
  const std::string_view more = bytes.substr(8);
  Hdf5Type type{.size = size};
  const bool is_big_endian = (flags & 0x41) != 0;
  std::optional<ElementType> element;
  switch (kind) {
    case 0:
      if (!is_big_endian && more.size() >= 4 && little_endian(more, 0, 2) == 0 &&
          little_endian(more, 2, 2) == 8 * size)
        element = integer_of(size, (flags & 8) != 0);
      break;
    case 1:
      if (!is_big_endian && more.size() >= 12 && little_endian(more, 0, 2) == 0)
        element = float_of(size, more.substr(4, 4));
      break;
    case 3:
      type.kind = Hdf5Type::Kind::fixed_text;
      type.is_padded_with_spaces = (flags & 0x0F) == 2;
      return type;
    case 5: type.kind = Hdf5Type::Kind::opaque; return type;
    case 9:
      if ((flags & 0x0F) == 1 && size == 16) type.kind = Hdf5Type::Kind::variable_text;
      return type;
    default: return type;
  }
  if (element) {
    type.kind = Hdf5Type::Kind::number;
    type.element = *element;
  }
  return type;
}

std::optional<std::vector<std::uint64_t>> Hdf5Decoder::space(std::string_view bytes,
                                                             std::uint64_t address) const {
  const auto refuse = [&] {
    region_.refuse(address, "a shape that is cut short or of no known version",
                   "expected one of version 1 or 2");
  };
  if (bytes.size() < 4) refuse();
  const std::uint64_t version = little_endian(bytes, 0, 1);
  const std::uint64_t rank = little_endian(bytes, 1, 1);
  if (version != 1 && version != 2) refuse();
  if (version == 2 && little_endian(bytes, 3, 1) == 2) return std::nullopt;
  const std::size_t start = version == 1 ? 8 : 4;
  if (bytes.size() < start + 8 * rank) refuse();
  std::vector<std::uint64_t> dims;
  for (std::size_t axis = 0; axis < rank; ++axis)
    dims.push_back(little_endian(bytes, start + 8 * axis, 8));
  return dims;
}

Hdf5Attribute Hdf5Decoder::attribute(const Hdf5Message& message) {
  const std::string_view bytes = message.bytes;
  const auto refuse = [&](const char* got) {
    region_.refuse(message.address, got, "expected an attribute of version 1 to 3");
  };
  if (bytes.size() < 9) refuse("an attribute that is cut short");
  const std::uint64_t version = little_endian(bytes, 0, 1);
  if (version < 1 || version > 3) refuse("an attribute of no known version");
  if (version > 1 && (little_endian(bytes, 1, 1) & 3) != 0)
    region_.refuse_unread(message.address, "an attribute of a type with a name");
  // Parts are padded in version 1; in version 3 the name's encoding stands before it.
  const auto room_of = [&](std::uint64_t size) { return version == 1 ? padded(size) : size; };
  const std::uint64_t name_size = little_endian(bytes, 2, 2);
  const std::uint64_t type_at = (version == 3 ? 9 : 8) + room_of(name_size);
  const std::uint64_t space_at = type_at + room_of(little_endian(bytes, 4, 2));
  const std::uint64_t data_at = space_at + room_of(little_endian(bytes, 6, 2));
  if (data_at > bytes.size()) refuse("an attribute that is cut short");
  Hdf5Attribute attribute{.name = fixed_text(bytes.substr(version == 3 ? 9 : 8, name_size), false)};
  const Hdf5Type type =
      this->type(bytes.substr(type_at, space_at - type_at), message.address + type_at);
  const auto dims = space(bytes.substr(space_at, data_at - space_at), message.address + space_at);
  if (!dims) return attribute;
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : *dims) {
    elements = dim > kMaxAttributeElements ? kMaxAttributeElements + 1 : elements * dim;
    if (elements > kMaxAttributeElements) refuse("an attribute with more values than it can hold");
  }
  if (elements > 0 && type.size > (bytes.size() - data_at) / elements)
    refuse("an attribute whose values are cut short");
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::string_view value = bytes.substr(data_at + i * type.size, type.size);
    if (type.kind == Hdf5Type::Kind::fixed_text)
      attribute.texts.push_back(fixed_text(value, type.is_padded_with_spaces));
    else if (type.kind == Hdf5Type::Kind::variable_text)
      attribute.texts.push_back(variable_text(value, message.address));
    else if (type.kind == Hdf5Type::Kind::number && is_integer(type.element))
      attribute.integers.push_back(integer_at(value, 0, type.element));
    else
      break;
  }
  return attribute;
}

std::string Hdf5Decoder::variable_text(std::string_view element, std::uint64_t address) {
  const std::uint64_t size = little_endian(element, 0, 4);
  if (size == 0) return "";
  const Heap& heap = global_heap(little_endian(element, 4, 8));
  const auto found = heap.find(little_endian(element, 12, 4));
  if (found == heap.end() || found->second.size() < size)
    region_.refuse(address, "a text that is not where it is said to be",
                   "expected " + std::to_string(size) + " bytes");
  region_.spend(size);
  return fixed_text(std::string_view(found->second).substr(0, size), false);
}

const Hdf5Decoder::Heap& Hdf5Decoder::global_heap(std::uint64_t address) {
  if (const auto known = heaps_.find(address); known != heaps_.end()) return known->second;
  const std::string head = region_.read(address, 16, "a heap of texts");
  const std::uint64_t size = little_endian(head, 8, 8);
  if (!head.starts_with("GCOL") || size < 16)
    region_.refuse(address, "no heap of texts", "expected one, since an attribute says so");
  const std::string bytes = region_.read(address, size, "a heap of texts");
  Heap& heap = heaps_[address];
  for (std::size_t at = 16; bytes.size() - at >= 16;) {
    const std::uint64_t index = little_endian(bytes, at, 2);
    const std::uint64_t length = little_endian(bytes, at + 8, 8);
    if (index == 0) break;  // what is free
    if (length > bytes.size() - at - 16)
      region_.refuse(address + at, "a text that is longer than its heap", "expected all of it");
    heap[index] = bytes.substr(at + 16, length);
    at += std::min<std::uint64_t>(16 + padded(length), bytes.size() - at);
  }
  return heap;
}

}  // namespace plimsoll
