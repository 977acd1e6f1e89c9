// A count of bytes as a type of its own, so that it is never taken for elements or megabytes.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace plimsoll {

// Signed, because differences are wanted too. Arithmetic does not check for overflow: sizes that
// come from outside are checked where they come in.
struct Bytes {
  std::int64_t count = 0;

  auto operator<=>(const Bytes&) const = default;

  constexpr Bytes& operator+=(Bytes other) { return count += other.count, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count -= other.count, *this; }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator-(Bytes a) { return {-a.count}; }
  template <std::integral N>
  friend constexpr Bytes operator*(Bytes a, N n) {
    return {a.count * static_cast<std::int64_t>(n)};
  }
  template <std::integral N>
  friend constexpr Bytes operator*(N n, Bytes a) {
    return a * n;
  }
  // Rounds towards zero.
  template <std::integral N>
  friend constexpr Bytes operator/(Bytes a, N n) {
    return {a.count / static_cast<std::int64_t>(n)};
  }
  // How often b goes into a, as a ratio.
  friend constexpr double operator/(Bytes a, Bytes b) {
    return static_cast<double>(a.count) / static_cast<double>(b.count);
  }
};

// The budget of those who set none. Compares greater than any size that exists.
inline constexpr Bytes kUnlimited{std::numeric_limits<std::int64_t>::max()};

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n << 10)};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n << 20)};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n << 30)};
}
}  // namespace literals

// Reads "2GiB" (2^30), "1.5GB" (10^9), "800MiB", "4096" or "unlimited"; letters in any case, and a
// space may stand before the unit. A part of a byte is dropped. Throws UsageError, with `where` as
// its place, on zero, on a sign, on what is not a size and on what exceeds 2^63 - 1.
Bytes parse_bytes(std::string_view text, std::string_view where = "size");

// For people: "1.92 GiB", rounded to two decimals; "2 GiB" and "17 B" where that is exact.
std::string to_string(Bytes bytes);

}  // namespace plimsoll
