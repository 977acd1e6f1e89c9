// Which of the processes that train together this is.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "dist/agreement.h"
#include "dist/group.h"

namespace plimsoll::job {

struct RankPlace {
  int rank = 0;
  int ranks = 1;
  // Null: alone, or only a plan. Outlives whoever is given it.
  dist::Group* group = nullptr;

  // Whether this one writes files and speaks.
  bool leads() const { return rank == 0; }
};

// What `work` makes, once all ranks have made theirs: an Error of one is thrown by all.
template <class Work>
auto make_together(dist::Group* group, const Work& work) -> decltype(work()) {
  if (group == nullptr) return work();
  std::optional<decltype(work())> made;
  dist::do_on_all(*group, [&] { made.emplace(work()); });
  return std::move(*made);
}

}  // namespace plimsoll::job
