#pragma once

#include <cstdint>

namespace plimsoll {

// Three steps an epoch, the last of two images.
inline constexpr std::int64_t kRunImages = 10;
inline constexpr std::int64_t kRunBatch = 4;

}  // namespace plimsoll
