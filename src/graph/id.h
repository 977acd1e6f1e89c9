// Names of nodes and values inside one graph: plain indices that cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace plimsoll {

template <class Tag>
struct Id {
  std::int32_t index = -1;
  auto operator<=>(const Id&) const = default;
  explicit operator bool() const { return index >= 0; }
};

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using Values = std::vector<ValueId>;

inline constexpr ValueId kNoValue{};
inline constexpr NodeId kNoNode{};

}  // namespace plimsoll
