// How much ranks make whole at once.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/op.h"

namespace plimsoll::ops {

// Tensors of one node; a bucket has no more.
inline constexpr std::size_t kMostReduced = 128;

// Each is written where it lies.
inline std::vector<InPlace> all_in_place() {
  std::vector<InPlace> rules;
  for (int i = 0; i < static_cast<int>(kMostReduced); ++i)
    rules.push_back({.out = i, .over = i, .required = true});
  return rules;
}

}  // namespace plimsoll::ops
