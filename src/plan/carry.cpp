#include "plan/carry.h"

#include "base/error.h"

namespace plimsoll {

NamedFates name_fates(const Problem& problem, const Fates& fates) {
  expect(fates.size() == problem.roots().size(), "fates belong to the graph they come from");
  NamedFates named;
  for (const std::int32_t root : problem.choices()) {
    const auto at = static_cast<std::size_t>(root);
    if (fates[at] != Fate::keep) named.emplace(problem.graph().values()[at].name, fates[at]);
  }
  return named;
}

CarriedFates carry_fates(const NamedFates& fates, const Problem& to) {
  CarriedFates carried{.fates = to.all(Fate::keep), .unknown = {}, .forbidden = {}};
  for (const auto& [name, fate] : fates) {
    const ValueId id = to.graph().find(name);
    if (!id || !to.roots()[id.at()].has_choice)
      carried.unknown.push_back(name);
    else if (!to.permits(id.index, fate))
      carried.forbidden.push_back(name);
    else
      carried.fates[id.at()] = fate;
  }
  return carried;
}

}  // namespace plimsoll
