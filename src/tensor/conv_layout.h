// How a convolution's weights lie in memory, given what it reads.
#pragma once

#include "tensor/spec.h"

namespace plimsoll {

// Most channels of a plain image that a convolution reads as it is, without blocking it first.
inline constexpr std::int64_t kMostPlainChannels = 4;

// Weights [filters, C/groups, kh, kw] of a convolution over `x`, of the type beside x's:
//   x plain                          stem_kernel
//   x blocked, whole blocks          kernel; with groups these are the groups' kernels in a row
//   x blocked, groups split a block  plain (no fast kernel serves it)
// `groups` divides x's channels and `filters`; a plain x has one group, and what is made of it
// has `plain_lanes`.
Spec conv_kernel_spec(const Spec& x, std::int64_t filters, std::int64_t kh, std::int64_t kw,
                      std::int64_t groups, std::int64_t plain_lanes = kNarrowLanes);

}  // namespace plimsoll
