// What every rank tells all others before a step: all that they must decide alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::dist {

struct Word {
  std::int64_t step = 0;                 // that comes
  bool stops = false;                    // it was asked to
  bool saves = false;                    // it is time for a checkpoint; of rank 0 alone
  bool has_failed = false;               // it cannot do the step
  bool has_news = false;                 // it has something to be told to people
  std::optional<std::uint32_t> weights;  // their checksum
  // Of the step before, seconds: all of it, and of that waiting for data and for other ranks.
  double seconds = 0;
  double waited_for_data = 0;
  double waited_for_others = 0;

  bool operator==(const Word&) const = default;
};

inline constexpr std::size_t kWordBytes = 48;
using WordBytes = std::array<std::byte, kWordBytes>;

WordBytes pack_word(const Word& word);
// DataError, naming `where`, for bytes that are no word of this version.
Word parse_word(std::span<const std::byte> bytes, const std::string& where);

// The ranks whose checksum is not that of the most; of as many on both sides, not rank 0's. Empty
// where all that told one told the same.
std::vector<int> find_odd_ranks(std::span<const Word> words);

}  // namespace plimsoll::dist
