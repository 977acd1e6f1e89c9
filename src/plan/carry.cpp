#include "plan/carry.h"

#include "base/error.h"

namespace plimsoll {

Fates carry_fates(const Fates& fates, const Graph& from, const Problem& to) {
  expect(fates.size() == from.values().size(), "fates belong to the graph they come from");
  Fates carried = to.all(Fate::keep);
  for (const std::int32_t root : to.choices()) {
    const auto at = static_cast<std::size_t>(root);
    const ValueId same = from.find(to.graph().values()[at].name);
    if (same && to.permits(root, fates[same.at()])) carried[at] = fates[same.at()];
  }
  return carried;
}

}  // namespace plimsoll
