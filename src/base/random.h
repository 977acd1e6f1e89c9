// Randomness as functions of a key and a position: nothing to store, nothing to lock, and the same
// number whoever asks and in whatever order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): four
// independent 32-bit numbers for each counter, agreeing with Random123.
constexpr PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

// The same with the words in pairs, low half first.
constexpr PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low,
                             std::uint64_t counter_high = 0) {
  return philox(PhiloxKey{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)},
                PhiloxBlock{static_cast<std::uint32_t>(counter_low),
                            static_cast<std::uint32_t>(counter_low >> 32),
                            static_cast<std::uint32_t>(counter_high),
                            static_cast<std::uint32_t>(counter_high >> 32)});
}

// FNV-1a, 64 bits, over the bytes of `name`.
constexpr std::uint64_t fnv1a64(std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// The finalizer of SplitMix64: a bijection that spreads every bit over all.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  x ^= x >> 31;
  return x;
}

// The fill rule by which golden values are made in any language: element `i` of what `name_hash`
// (fnv1a64 of its name) stands for, in [-1, 1) and exact in a float.
constexpr double signed_unit(std::uint64_t name_hash, std::uint64_t i) {
  const std::uint64_t x = splitmix64(name_hash + (i + 1) * 0x9E3779B97F4A7C15ULL);
  return 2.0 * (static_cast<double>(x >> 40) * 0x1p-24) - 1.0;
}

// A pseudo-random permutation of [0, size) that is computed, not stored: any position in constant
// time and no memory. The same size and key give the same permutation. Immutable.
class Permutation {
 public:
  // Wants a size in [0, 2^62].
  Permutation(std::int64_t size, std::uint64_t key);

  std::int64_t size() const { return size_; }
  // Where `position`, in [0, size), goes. Does not throw or allocate.
  std::int64_t operator()(std::int64_t position) const noexcept;

 private:
  std::int64_t size_;
  std::uint64_t key_;
  int low_bits_;
  int high_bits_;
};

}  // namespace plimsoll
