// In which order the samples of an epoch come: a function of seed and epoch, not a list. A run that
// resumes needs only its position, and shuffling costs no memory.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"

namespace plimsoll {

// Immutable; safe to share between threads.
class Order {
 public:
  // As stored: 0, 1, 2, ...
  static Order sequential(std::int64_t samples);
  // Each sample once, shuffled anew for every (seed, epoch).
  static Order shuffled(std::int64_t samples, std::uint64_t seed, std::int64_t epoch);

  std::int64_t size() const { return size_; }
  // The sample that comes k-th, k in [0, size). Constant time, no allocation.
  std::int64_t operator[](std::int64_t k) const noexcept {
    return permutation_ ? (*permutation_)(k) : k;
  }

 private:
  Order(std::int64_t size, std::optional<Permutation> permutation)
      : size_(size), permutation_(permutation) {}

  std::int64_t size_;
  std::optional<Permutation> permutation_;
};

}  // namespace plimsoll
