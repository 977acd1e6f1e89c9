// Placement below a ceiling, for blocks that fill nearly all there is at many steps.
#pragma once

#include <cstdint>
#include <span>

#include "plan/place.h"

namespace plimsoll {

// Tries to place all blocks below `ceiling`; what finds no room there lies higher. Long-lived
// blocks go first: those that forward leaves to backward from the floor up, those that stay to the
// end from the ceiling down; all others where they touch these and each other longest. Then,
// `rounds` times at most, what stuck out gets an earlier turn. Deterministic.
Placement place_under(std::span<const Block> blocks, std::int64_t ceiling, int rounds);

}  // namespace plimsoll
