// Which of the ranks that train together this one is.
#pragma once

#include "dist/group.h"

namespace plimsoll::dist {

// Whether this rank, or whoever is alone (null), writes files and speaks.
inline bool leads(const Group* group) { return group == nullptr || group->rank() == 0; }

struct RankPlace {
  int rank = 0;
  int ranks = 1;
  // Null: alone, or only a plan. Outlives whoever is given it.
  Group* group = nullptr;

  bool leads() const { return rank == 0; }
};

inline RankPlace place_in(Group* group) {
  if (group == nullptr) return {};
  return {.rank = group->rank(), .ranks = group->ranks(), .group = group};
}

}  // namespace plimsoll::dist
