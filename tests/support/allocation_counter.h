// How often this program has asked for memory, in any thread and by whatever way.
#pragma once

#include <cstdint>
#include <functional>

namespace plimsoll {

// Counts calls of malloc and its kin. Always 0 under sanitizers, which own malloc themselves.
std::int64_t allocations_so_far();
bool allocations_are_counted();

// The most bytes that were in use at one time while `action` ran, beyond those in use before it.
// Other threads must not allocate meanwhile. 0 under sanitizers.
std::int64_t peak_of_allocations(const std::function<void()>& action);

}  // namespace plimsoll
