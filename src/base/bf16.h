// bfloat16: a float's sign, its exponent and the first seven bits behind the point.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace plimsoll {

// A number as it is stored; arithmetic is done in f32. Rounds to nearest, ties to even; NaN stays
// NaN, what is too large for f32's exponent becomes infinite.
struct Bf16 {
  std::uint16_t bits = 0;

  Bf16() = default;
  Bf16(float value) : bits(rounded(value)) {}  // NOLINT: stored as a float is
  explicit Bf16(double value) : Bf16(static_cast<float>(value)) {}
  explicit Bf16(std::int64_t value) : Bf16(static_cast<float>(value)) {}
  explicit Bf16(int value) : Bf16(static_cast<float>(value)) {}
  operator float() const {  // NOLINT: exact
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

 private:
  static std::uint16_t rounded(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    if (value != value) return static_cast<std::uint16_t>(whole >> 16 | 0x40);
    return static_cast<std::uint16_t>((whole + 0x7FFF + (whole >> 16 & 1)) >> 16);
  }
};
static_assert(sizeof(Bf16) == 2 && std::is_trivially_copyable_v<Bf16>);

// The type that elements of type T are computed in.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;

}  // namespace plimsoll
