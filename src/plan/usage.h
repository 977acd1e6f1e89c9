// What the bytes of a plan are for, step by step.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/problem.h"

namespace plimsoll {

enum class Use : std::uint8_t {
  input,     // images, labels and numbers fed before the step
  kept,      // made by forward, held for backward, as it is
  half,      // the same in 16 bits
  gradient,  // of weights, until their update
  working,   // in use right now: activations, their gradients, values made again
  scratch,   // of a kernel
};
inline constexpr std::size_t kUses = 6;
inline constexpr std::string_view kUseNames[kUses] = {"input",    "kept",    "16-bit",
                                                      "gradient", "working", "scratch"};

struct LiveTensor {
  std::string name;
  std::int64_t bytes = 0;
  Use use = Use::working;
};

struct Usage {
  std::vector<std::array<std::int64_t, kUses>> steps;  // bytes by use at every step
  std::vector<std::string> step_names;                 // "conv2d_4", "conv2d_4 again"
  std::size_t peak_step = 0;
  std::vector<LiveTensor> at_peak;  // largest first
  std::size_t backward_begin = 0;   // first step of backward

  std::int64_t total(std::size_t step) const;
};

Usage usage_of(const Problem& problem, const NamedFates& fates);

// How many tensors have which fate, of those that backward needs in some form, and their bytes.
struct FateShare {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};
struct FateShares {
  FateShare kept, recomputed, half, spilled;
  double extra_flops = 0;  // of everything that runs again
};
FateShares shares_of(const Problem& problem, const NamedFates& fates);

}  // namespace plimsoll
