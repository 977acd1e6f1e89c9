// What the link between the ranks of a group is worth, measured by the exchange that will use it.
#pragma once

#include "dist/forecast.h"
#include "dist/group.h"

namespace plimsoll::dist {

// Sums made-up buckets while nobody computes; by all ranks of a group without a courier. Its spread
// is left as it is. For a group of at least two.
Link measure_link(Group& group);

}  // namespace plimsoll::dist
