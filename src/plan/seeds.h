// Plans to start a search from: what frameworks call segments.
#pragma once

#include <vector>

#include "plan/problem.h"

namespace plimsoll {

// For several numbers of segments: keep only what crosses the narrowest places between them, make
// the rest again, segment by segment. What one cheap pass makes is made for every use.
std::vector<Fates> segment_seeds(const Problem& problem);

}  // namespace plimsoll
