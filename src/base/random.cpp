#include "base/random.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace plimsoll {
namespace {

// Enough rounds that the last few samples of a small set are as mixed as those of a large one.
constexpr std::uint64_t kRounds = 10;

constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t key) : size_(size), key_(key) {
  expect(size >= 0 && size <= std::int64_t{1} << 62, "size of a permutation");
  const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(size - 1, 3));
  const auto bits = static_cast<int>(std::bit_width(last));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
}

std::int64_t Permutation::operator()(std::int64_t position) const noexcept {
  expect(position >= 0 && position < size_, "position outside a permutation");
  auto x = static_cast<std::uint64_t>(position);
  // A Feistel network permutes the next power of two; following the cycle until it comes back
  // below `size` makes it a permutation of [0, size). Fewer than two turns on average.
  do {
    std::uint64_t low = x & mask(low_bits_);
    std::uint64_t high = x >> low_bits_;
    for (std::uint64_t round = 0; round < kRounds; round += 2) {
      low ^= philox(key_, high, round)[0] & mask(low_bits_);
      high ^= philox(key_, low, round + 1)[0] & mask(high_bits_);
    }
    x = high << low_bits_ | low;
  } while (x >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(x);
}

}  // namespace plimsoll
