// How often this program has asked for memory by `new`, in any thread.
#pragma once

#include <cstdint>

namespace plimsoll {

std::int64_t allocations_so_far();

}  // namespace plimsoll
