// How often this program has asked for memory, in any thread and by whatever way.
#pragma once

#include <cstdint>

namespace plimsoll {

// Counts calls of malloc and its kin. Always 0 under sanitizers, which own malloc themselves.
std::int64_t allocations_so_far();
bool allocations_are_counted();

}  // namespace plimsoll
