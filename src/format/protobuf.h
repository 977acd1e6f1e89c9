// The wire format of protocol buffers, read and written field by field and without a schema.
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
  // Of the next field, counted from the origin.
  std::size_t position() const { return static_cast<std::size_t>(rest_.data() - origin_.data()); }

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

// Makes one message. Fields stand in the order they are added; those who want the bytes that other
// programs write add them by number and leave out numbers that are 0 (proto3's rule for fields
// outside a oneof), for which the `nonzero_` calls are.
class ProtoWriter {
 public:
  ProtoWriter& integer(std::uint32_t number, std::int64_t value) {
    key(number, WireType::varint);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  ProtoWriter& float32(std::uint32_t number, float value) {
    key(number, WireType::fixed32);
    fixed(value);
    return *this;
  }
  ProtoWriter& bytes(std::uint32_t number, std::string_view content) {
    key(number, WireType::bytes);
    varint(content.size());
    text_ += content;
    return *this;
  }
  // The beginning of a field of `length` bytes that are written elsewhere, behind this text.
  ProtoWriter& begin_bytes(std::uint32_t number, std::uint64_t length) {
    key(number, WireType::bytes);
    varint(length);
    return *this;
  }
  ProtoWriter& message(std::uint32_t number, const ProtoWriter& inner) {
    return bytes(number, inner.text_);
  }
  ProtoWriter& packed(std::uint32_t number, std::span<const double> values) {
    key(number, WireType::bytes);
    varint(values.size_bytes());
    for (const double value : values) fixed(value);
    return *this;
  }
  ProtoWriter& nonzero_integer(std::uint32_t number, std::int64_t value) {
    return value == 0 ? *this : integer(number, value);
  }
  ProtoWriter& nonzero_float64(std::uint32_t number, double value) {
    if (std::bit_cast<std::uint64_t>(value) == 0) return *this;
    key(number, WireType::fixed64);
    fixed(value);
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  void key(std::uint32_t number, WireType type) {
    varint(std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  template <typename T>
  void fixed(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    text_.append(raw, sizeof value);
  }

  std::string text_;
};

}  // namespace plimsoll
