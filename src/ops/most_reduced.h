// How much a sum over ranks takes at once.
#pragma once

#include <cstddef>

namespace plimsoll::ops {

// Tensors of one node; a bucket has no more.
inline constexpr std::size_t kMostReduced = 128;

}  // namespace plimsoll::ops
