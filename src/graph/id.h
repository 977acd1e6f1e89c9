// Names of nodes and values inside one graph: plain indices that cannot be mixed up.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

template <class Tag>
struct Id {
  std::int32_t index = -1;
  auto operator<=>(const Id&) const = default;
  explicit operator bool() const { return index >= 0; }
  // Position in a vector that has an entry for each.
  std::size_t at() const { return static_cast<std::size_t>(index); }
};

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using Values = std::vector<ValueId>;

inline constexpr ValueId kNoValue{};
inline constexpr NodeId kNoNode{};

}  // namespace plimsoll
