// The wire format of protocol buffers, read field by field and without a schema.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plimsoll {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct ProtoField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;           // of all but bytes
  std::span<const std::byte> bytes;  // of bytes; a view into the message
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Walks the fields of one message. Every length is checked against what there is; DataError with
// the byte, counted from `origin`, on what cannot be a message. `origin` must stay alive.
class ProtoReader {
 public:
  // A message of its own.
  explicit ProtoReader(std::span<const std::byte> message) : ProtoReader(message, message) {}
  // A message inside another: messages about bytes count from the outer one's beginning.
  ProtoReader(std::span<const std::byte> message, std::span<const std::byte> origin)
      : rest_(message), origin_(origin) {}

  bool at_end() const { return rest_.empty(); }

  // The next field; nothing at the end.
  std::optional<ProtoField> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) fail("a field with an impossible number");
    ProtoField field{.number = static_cast<std::uint32_t>(key >> 3)};
    switch (key & 7) {
      case 0:
        field.type = WireType::varint;
        field.value = varint();
        break;
      case 1:
        field.type = WireType::fixed64;
        field.value = fixed<std::uint64_t>();
        break;
      case 2: {
        field.type = WireType::bytes;
        const std::uint64_t length = varint();
        if (length > rest_.size())
          fail("a field of " + std::to_string(length) + " bytes where " +
               std::to_string(rest_.size()) + " are left");
        field.bytes = rest_.first(length);
        rest_ = rest_.subspan(length);
        break;
      }
      case 5:
        field.type = WireType::fixed32;
        field.value = fixed<std::uint32_t>();
        break;
      default: fail("a field of wire type " + std::to_string(key & 7));
    }
    return field;
  }

  // One number of a packed list.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail("a number that does not end");
  }
  float float32() { return std::bit_cast<float>(fixed<std::uint32_t>()); }

  [[noreturn]] void fail(std::string got) const {
    throw DataError({.where = "byte " + std::to_string(rest_.data() - origin_.data()),
                     .got = std::move(got),
                     .expected = "expected a protocol buffer"});
  }

 private:
  template <typename T>
  T fixed() {
    if (rest_.size() < sizeof(T)) fail("the message ends within a field");
    T value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }

  std::span<const std::byte> rest_;
  std::span<const std::byte> origin_;
};

}  // namespace plimsoll
