// A stored picture turned upright, row by row.
#pragma once

#include "data/picture/orientation.h"

namespace plimsoll::tests {

inline Picture turned_upright(const Picture& stored, int orientation) {
  Picture turned;
  const Size size = upright(stored.size(), orientation);
  turned.reshape(size.height, size.width, stored.channels);
  for (std::int64_t y = 0; y < stored.height; ++y)
    turn_row(stored.row(y), y, stored.size(), orientation, turned);
  return turned;
}

}  // namespace plimsoll::tests
