// Plain values as bytes, for another process of the same program: written one behind the other, and
// read with every length checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace plimsoll {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_all(std::span<const T> values) {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put_complaint(const Complaint& complaint) {
    for (const std::string* text :
         {&complaint.where, &complaint.got, &complaint.expected, &complaint.hint})
      put_text(*text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws DataError, with `where`, for bytes that are not what was packed.
class Unpacker {
 public:
  Unpacker(std::string_view bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take_text() { return take_bytes(take<std::uint64_t>()); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void take_all(std::vector<T>& into) {
    const auto count = take<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) fail("fewer bytes than it tells of");
    into.resize(count);
    const std::string_view bytes = take_bytes(count * sizeof(T));
    if (count > 0) std::memcpy(into.data(), bytes.data(), bytes.size());
  }
  Complaint take_complaint() {
    Complaint complaint;
    for (std::string* text :
         {&complaint.where, &complaint.got, &complaint.expected, &complaint.hint})
      *text = take_text();
    return complaint;
  }
  // There is no more.
  void end() const {
    if (!rest_.empty()) fail("more bytes than it tells of");
  }
  [[noreturn]] void fail(const std::string& got) const {
    throw DataError({.where = where_,
                     .got = got,
                     .expected = "expected what the same program on another rank tells"});
  }

 private:
  std::string_view take_bytes(std::uint64_t size) {
    if (size > rest_.size()) fail("fewer bytes than it tells of");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  std::string where_;
};

}  // namespace plimsoll
