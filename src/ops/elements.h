// Visiting elements by their logical index, for reference kernels.
#pragma once

#include <cstdint>

#include "tensor/spec.h"

namespace plimsoll::ops {

// Calls body(a, b, c, d) for every logical element, row-major; axes beyond the rank are 0.
template <class Body>
void for_each_element(const Spec& spec, Body body) {
  const auto dim = [&](int axis) { return axis < spec.shape.rank() ? spec.shape[axis] : 1; };
  for (std::int64_t a = 0; a < dim(0); ++a)
    for (std::int64_t b = 0; b < dim(1); ++b)
      for (std::int64_t c = 0; c < dim(2); ++c)
        for (std::int64_t d = 0; d < dim(3); ++d) body(a, b, c, d);
}

}  // namespace plimsoll::ops
