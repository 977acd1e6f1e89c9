#include "base/bytes.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"

namespace plimsoll {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<Unit, 9> kUnits = {{{"B", 1},
                                         {"KB", 1'000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", 1'000'000'000'000},
                                         {"KiB", std::int64_t{1} << 10},
                                         {"MiB", std::int64_t{1} << 20},
                                         {"GiB", std::int64_t{1} << 30},
                                         {"TiB", std::int64_t{1} << 40}}};
constexpr std::array<Unit, 4> kBinary = {kUnits[5], kUnits[6], kUnits[7], kUnits[8]};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if(text, [](char c) { return c < '0' || c > '9'; });
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

[[noreturn]] void refuse(std::string_view text, std::string_view where, std::string why,
                         std::string hint = {}) {
  throw UsageError({.where = std::string(where),
                    .got = "'" + std::string(text) + "' " + std::move(why),
                    .expected = "expected a size such as 2GiB, 1.5GB, 800MiB or 4096",
                    .hint = std::move(hint)});
}

// whole.fraction * unit with the part of a byte dropped, exactly; false if it exceeds 2^63 - 1.
bool scale(std::string_view whole, std::string_view fraction, std::int64_t unit,
           std::int64_t& result) {
  std::int64_t count = 0;
  for (const char digit : whole) {
    if (__builtin_mul_overflow(count, 10, &count)) return false;
    if (__builtin_add_overflow(count, digit - '0', &count)) return false;
  }
  if (__builtin_mul_overflow(count, unit, &count)) return false;
  // From the last digit to the first: dropping the part of a byte at each step drops no more than
  // dropping it once at the end, and nothing grows beyond 10 units.
  std::int64_t part = 0;
  for (auto digit = fraction.rbegin(); digit != fraction.rend(); ++digit)
    part = ((*digit - '0') * unit + part) / 10;
  if (__builtin_add_overflow(count, part, &count)) return false;
  result = count;
  return true;
}

}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view where) {
  if (equal_ignoring_case(text, "unlimited")) return kUnlimited;
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) refuse(text, where, "is not a size");
  }
  if (whole.empty()) refuse(text, where, text.starts_with('-') ? "is negative" : "is not a size");
  if (rest.starts_with(' ')) rest.remove_prefix(1);

  if (rest.size() == 1 && std::string_view("kmgtKMGT").find(rest[0]) != std::string_view::npos) {
    const std::string number(text.substr(0, text.size() - 1));
    const std::string letter(1, static_cast<char>(std::toupper(rest[0])));
    refuse(text, where, "could mean powers of 1000 or of 1024",
           "write " + number + letter + "iB (1024) or " + number + letter + "B (1000)");
  }
  const auto unit = std::ranges::find_if(kUnits, [&](const Unit& u) {
    return equal_ignoring_case(u.name, rest.empty() ? "B" : rest);
  });
  if (unit == kUnits.end()) refuse(text, where, "has an unknown unit");
  if (unit->bytes == 1 && !fraction.empty()) refuse(text, where, "has a part of a byte");

  std::int64_t count = 0;
  // The largest count itself is kUnlimited, which has its own word.
  if (!scale(whole, fraction, unit->bytes, count) || count == kUnlimited.count)
    refuse(text, where, "exceeds 8 EiB");
  if (count == 0) refuse(text, where, "is less than one byte");
  return {count};
}

std::string to_string(Bytes bytes) {
  if (bytes == kUnlimited) return "unlimited";
  const bool negative = bytes.count < 0;
  const auto count = negative ? 0 - static_cast<std::uint64_t>(bytes.count)
                              : static_cast<std::uint64_t>(bytes.count);
  const std::string sign = negative ? "-" : "";
  if (count < 1024) return sign + std::to_string(count) + " B";

  for (const Unit& unit : kBinary) {
    const auto size = static_cast<std::uint64_t>(unit.bytes);
    const std::uint64_t hundredths = count / size * 100 + (count % size * 100 + size / 2) / size;
    // Decided after rounding, so that 1023.999 KiB is printed as 1.00 MiB and not as 1024.00 KiB.
    if (hundredths >= 102'400 && &unit != &kBinary.back()) continue;
    std::string number = std::to_string(hundredths / 100);
    if (count % size != 0) {
      const std::uint64_t decimals = hundredths % 100;
      number += (decimals < 10 ? ".0" : ".") + std::to_string(decimals);
    }
    return sign + number + " " + std::string(unit.name);
  }
  bug("no unit for a size");
}

}  // namespace plimsoll
