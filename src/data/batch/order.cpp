#include "data/batch/order.h"

namespace plimsoll {

Order Order::sequential(std::int64_t samples) { return {samples, std::nullopt}; }

Order Order::shuffled(std::int64_t samples, std::uint64_t seed, std::int64_t epoch) {
  // Named, so that no other use of the same seed walks the same numbers.
  const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(epoch), fnv1a64("data order"));
  const std::uint64_t key = static_cast<std::uint64_t>(block[1]) << 32 | block[0];
  return {samples, Permutation(samples, key)};
}

}  // namespace plimsoll
