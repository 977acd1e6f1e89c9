// A plan of one graph for another of the same network.
#pragma once

#include "plan/problem.h"

namespace plimsoll {

// `fates` of the values of `from` for those of `to` that have the same names; what `from` does not
// have, or what `to` does not permit, is kept. Graphs of one network differ in batch, parts and
// updates, so values have other numbers in each.
Fates carry_fates(const Fates& fates, const Graph& from, const Problem& to);

}  // namespace plimsoll
